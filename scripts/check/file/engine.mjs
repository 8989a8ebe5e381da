// Runs the program of an exported file in Node: executes the file's own script and sends it the requests that the page would send.

import fs from 'node:fs'
import vm from 'node:vm'
import zlib from 'node:zlib'
import { MessageChannel } from 'node:worker_threads'

/** Returns the text of one of the file's scripts, or of its embedded data. */
export const carried = (html, id) => html.match(new RegExp(`<script[^>]* id="${id}">([^]*?)</script>|<data id="${id}" value="([^"]*)">`)).slice(1).find(text => text != null)

/** Opens a file; resolves to a function that queries its program: (path, data) -> answer. */
export async function engineOf(file) {
  const html = fs.readFileSync(file, 'utf8')
  const waiting = new Map()
  let last = 0
  const hear = ({ id, answer, error }) => {
    const { resolve, reject } = waiting.get(id)
    waiting.delete(id)
    if (error == null) resolve(answer)
    else reject(new Error(error))
  }
  const world = { WebAssembly, TextEncoder, TextDecoder, performance, MessageChannel }
  vm.runInNewContext(carried(html, 'answering'), world)
  const deliver = world.answering(hear)
  const ask = (path, data = null) => new Promise((resolve, reject) => {
    const id = ++last
    waiting.set(id, { resolve, reject })
    deliver({ id, path, data })
  })
  const bytes = id => Buffer.from(carried(html, id), 'base64')
  const [program, agent] = ['program-code', 'agent'].map(id => zlib.gunzipSync(bytes(id)))
  await ask('open', { program, contents: carried(html, 'contents'), agent })
  return ask
}
