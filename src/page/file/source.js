// Requests to the program in this file, which runs in a worker, or in the page itself if the browser permits no worker.
// Input: a path, and the data to send. Output: the answer, or an error with a message for people: as in `petteia serve`.

/** The token of this page's stored choices, which are about the agents of this file. */
export const token = 'file'

const FAILED = 'The program in this page failed. Reload the page; your game is kept.'

/** Resolves once the whole file is loaded, because its parts come after its scripts. */
const whole = new Promise(resolve => {
  if (document.readyState !== 'loading') resolve()
  else document.addEventListener('DOMContentLoaded', resolve)
})

const textOf = id => document.getElementById(id).textContent

/** Resolves to the bytes of what the file carries under this id, packed by gzip. */
async function unpacked(id) {
  await whole
  // the bytes are in an attribute: browsers keep it when they save a page, and read it faster than a script
  const packed = document.getElementById(id)?.value
  if (!packed) throw new Error('This copy of the page lacks its program: download the file itself.')
  const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

/** Resolves to the license notices of everything in this page. */
export const licenses = async () => new TextDecoder().decode(await unpacked('licenses'))

const waiting = new Map()
let last = 0
/** Delivers a request to the program. */
let deliver

function hear({ id, answer, error }) {
  const { resolve, reject } = waiting.get(id)
  waiting.delete(id)
  if (error == null) resolve(answer)
  else reject(new Error(error))
}

function send(path, data) {
  return new Promise((resolve, reject) => {
    const id = ++last
    waiting.set(id, { resolve, reject })
    deliver({ id, path, data })
  })
}

/** Starts a worker with the script of the program; calls `fails` if the worker cannot start, or if it ends. */
function workerOf(script, fails) {
  // a page that was opened from disk may not load a worker from there
  const worker = new Worker(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })))
  worker.onmessage = ({ data }) => hear(data)
  worker.onerror = fails
  return request => worker.postMessage(request)
}

/** Opens the program in a worker; resolves to whether there is one. */
async function openBeside(parts) {
  const script = `${textOf('answering')}\nconst take = answering(answer => postMessage(answer))\nonmessage = ({ data }) => take(data)\n`
  let opened = false
  const lost = new Promise(resolve => {
    try {
      deliver = workerOf(script, event => {
        event.preventDefault()
        resolve(false)
        if (!opened) return waiting.clear()
        deliver = ({ id }) => hear({ id, error: FAILED })
        for (const id of [...waiting.keys()]) hear({ id, error: FAILED })
      })
    } catch {
      resolve(false)
    }
  })
  if (!deliver) return false
  opened = await Promise.race([send('open', parts).then(() => true), lost])
  return opened
}

async function begun() {
  if (typeof WebAssembly !== 'object' || typeof DecompressionStream !== 'function') {
    throw new Error('This browser is too old for this page: it does not support WebAssembly or DecompressionStream.')
  }
  const [program, agent] = await Promise.all(['program-code', 'agent'].map(unpacked))
  const parts = { program, contents: textOf('contents'), agent }
  if (await openBeside(parts)) return
  // `answering` is a script of this file
  deliver = answering(hear)
  await send('open', parts)
}

const ready = begun()

export async function ask(path, data = null) {
  await ready
  return send(path, data)
}
