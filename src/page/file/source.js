// Requests to the program in this file, which runs beside the page.
// Input: a path, and the data to send. Output: the answer, or an error with a message for people: as in `petteia serve`.

/** Kept choices of this page are about the agents of this file. */
export const token = 'file'

const carried = id => document.getElementById(id).textContent.trim()
// what is large is in a template, which Chromium reads in a tenth of the time that a script of text takes
const bytesOf = id => Uint8Array.from(atob(document.getElementById(id).content.textContent), letter => letter.charCodeAt(0))

/** What the template with this id carries, packed by gzip, as bytes. */
async function unpacked(id) {
  const stream = new Blob([bytesOf(id)]).stream().pipeThrough(new DecompressionStream('gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

/** The notices of what this page is made of. */
export const licenses = async () => new TextDecoder().decode(await unpacked('licenses'))

// a page that was opened from a disk may not load a worker from there
const worker = new Worker(URL.createObjectURL(new Blob([carried('worker')], { type: 'text/javascript' })))
const waiting = new Map()
let last = 0

worker.onmessage = ({ data: { id, answer, error } }) => {
  const { resolve, reject } = waiting.get(id)
  waiting.delete(id)
  if (error == null) resolve(answer)
  else reject(new Error(error))
}

function send(path, data) {
  return new Promise((resolve, reject) => {
    const id = ++last
    waiting.set(id, { resolve, reject })
    worker.postMessage({ id, path, data })
  })
}

async function begun() {
  if (typeof WebAssembly !== 'object' || typeof DecompressionStream !== 'function') {
    throw new Error('This browser is too old for this page: it lacks WebAssembly or DecompressionStream.')
  }
  const [program, agent] = await Promise.all(['program-code', 'agent'].map(unpacked))
  await send('open', { program, contents: carried('contents'), agent })
}

const ready = begun()

export async function ask(path, data = null) {
  await ready
  return send(path, data)
}
