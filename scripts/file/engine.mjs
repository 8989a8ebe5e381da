// The program in an exported file, run by Node: its worker, as the file has it, with the messages that the page would send.

import fs from 'node:fs'
import vm from 'node:vm'
import zlib from 'node:zlib'
import { MessageChannel } from 'node:worker_threads'

/** The text of a script or a template of the file. */
export const carried = (html, id) => html.match(new RegExp(`<(script|template)[^>]* id="${id}">([^]*?)</\\1>`))[2].trim()

/** Opens a file; resolves to a function that asks its program: (path, data) -> answer. */
export async function engineOf(file) {
  const html = fs.readFileSync(file, 'utf8')
  const waiting = new Map()
  let last = 0
  const world = {
    WebAssembly, TextEncoder, TextDecoder, performance, MessageChannel, onmessage: null,
    postMessage({ id, answer, error }) {
      const { resolve, reject } = waiting.get(id)
      waiting.delete(id)
      if (error == null) resolve(answer)
      else reject(new Error(error))
    },
  }
  vm.runInNewContext(carried(html, 'worker'), world)
  const ask = (path, data = null) => new Promise((resolve, reject) => {
    const id = ++last
    waiting.set(id, { resolve, reject })
    world.onmessage({ data: { id, path, data } })
  })
  const bytes = id => Buffer.from(carried(html, id), 'base64')
  const [program, agent] = ['program-code', 'agent'].map(id => zlib.gunzipSync(bytes(id)))
  await ask('open', { program, contents: carried(html, 'contents'), agent })
  return ask
}
