// Starts `petteia serve` for a script and queries it.

import path from 'node:path'
import { spawn } from 'node:child_process'

/** Starts the server in a folder with extra arguments; resolves to a function that queries it and a function that stops it. */
export async function serverOf(program, folder, words = [], env = {}) {
  const args = ['serve', '--folder', 'none', '--port', '0', '--threads', '1', ...words]
  const child = spawn(path.resolve(program), args, { cwd: folder, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  for await (const part of child.stdout) {
    said += part
    const url = said.match(/http:\/\/127\.0\.0\.1:\d+/)?.[0]
    if (!url) continue
    const token = (await (await fetch(url)).text()).match(/name="token" content="([^"]+)"/)[1]
    const headers = { 'x-petteia-token': token, 'content-type': 'application/json' }
    const ask = async (place, data) => {
      const request = data ? { method: 'POST', headers, body: JSON.stringify(data) } : { headers }
      const answer = await (await fetch(`${url}/api/${place}`, request)).json()
      if (answer.error != null) throw new Error(answer.error)
      return answer
    }
    return { ask, end: () => child.kill('SIGTERM') }
  }
  throw new Error('petteia serve has ended')
}
