// The program of this file, which answers requests: in a worker, or in the page itself where there is no worker.
// Input: requests {id, path, data}. Output: for each, {id, answer} or {id, error} by `post`.
// A search is made a few simulations at a time, so that other questions are answered in between and a later one of the same
// view can end it early; searches wait for each other.
'use strict'

/** What takes requests, and answers them by `post`. */
function answering(post) {
  /** How long a search goes on at a time, and at most, in milliseconds. */
  const SLICE = 25
  const LONGEST = 60000

  const encoder = new TextEncoder()
  const decoder = new TextDecoder()
  let program
  /** Searches and reviews that wait; the first is at work. */
  const searches = []

  /** Calls a function of the program with a request in two parts. */
  function call(name, first, second) {
    const [one, other] = [first, second].map(part => (typeof part === 'string' ? encoder.encode(part) : part))
    const place = program.petteia_take(one.length + other.length)
    const memory = new Uint8Array(program.memory.buffer)
    memory.set(one, place)
    memory.set(other, place + one.length)
    const length = program[name](one.length)
    return JSON.parse(decoder.decode(new Uint8Array(program.memory.buffer, program.petteia_answer(), length)))
  }

  /** The program's reply to a request: {ok} or {later}. */
  function reply(path, data) {
    let found
    try {
      found = call('petteia_ask', path, JSON.stringify(data))
    } catch {
      throw new Error('The program in this page failed. Reload the page; your game is kept.')
    }
    if (found.error != null) throw new Error(found.error)
    return found
  }

  /** The floats of which first the first bytes came, then the second ones, and so on. */
  function floats(planes) {
    const bytes = new Uint8Array(planes.length)
    let at = 0
    for (let first = 0; first < 4; first++) for (let place = first; place < bytes.length; place += 4) bytes[place] = planes[at++]
    return bytes
  }

  async function open({ program: bytes, contents, agent }) {
    program = await instance(bytes)
    const { error } = call('petteia_open', contents, floats(agent))
    if (error != null) throw new Error(error)
    return null
  }

  /** The program's functions and memory. */
  async function instance(bytes) {
    try {
      return (await WebAssembly.instantiate(bytes, {})).instance.exports
    } catch {
      // what is valid and does not begin is forbidden
      throw new Error(WebAssembly.validate(bytes)
        ? 'The place where you opened this page does not let it run its program. Download the file and open it from the disk.'
        : 'This browser is too old for this page: it lacks SIMD in WebAssembly.')
    }
  }

  /** Lets in what has arrived meanwhile: messages, or in a page also clicks and drawing. */
  const { port1, port2 } = new MessageChannel()
  const pause = () => new Promise(resolve => {
    port1.onmessage = resolve
    port2.postMessage(null)
  })

  async function search(asked) {
    const begun = performance.now()
    const limit = Math.min(LONGEST, asked.data.seconds ? 1000 * asked.data.seconds : LONGEST)
    let found = reply(asked.path, asked.data)
    let rounds = 4
    while (found.later) {
      await pause()
      const before = performance.now()
      const ends = asked.stopped || before - begun > limit
      found = reply('go_on', { rounds: ends ? 0 : rounds })
      const took = performance.now() - before
      rounds = Math.max(1, Math.min(4096, Math.round(rounds * Math.min(4, SLICE / Math.max(took, 1)))))
    }
    return found.ok
  }

  async function work() {
    while (searches.length) {
      const [asked] = searches
      await answer(asked.id, () => search(asked))
      searches.shift()
    }
  }

  async function answer(id, find) {
    try {
      post({ id, answer: await find() })
    } catch (error) {
      post({ id, error: error.message })
    }
  }

  return asked => {
    const { id, path, data } = asked
    if (path === 'open') return answer(id, () => open(data))
    if (path !== 'search' && path !== 'review') return answer(id, () => reply(path, data).ok)
    for (const other of searches) if (other.data.page === data.page) other.stopped = true
    searches.push(asked)
    if (searches.length === 1) work()
  }
}
