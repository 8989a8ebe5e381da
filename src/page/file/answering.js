// The program of this file, which answers requests: in a worker, or in the page itself if there is no worker.
// Input: requests {id, path, data}. Output: for each, {id, answer} or {id, error} by `post`.
// A search runs a few simulations at a time, so that other questions are answered in between and a later search of the same
// view can end it early; searches wait for one another.
'use strict'

/** Returns a function that takes requests, and answers them with `post`. */
function answering(post) {
  /** The longest time of one step of a search, and of a whole search, in milliseconds. */
  const SLICE = 25
  const LONGEST = 60000

  const encoder = new TextEncoder()
  const decoder = new TextDecoder()
  let program
  /** The queue of searches and reviews; the first one is running. */
  const searches = []

  /** Calls a function of the program with a two-part request. */
  function call(name, first, second) {
    const [one, other] = [first, second].map(part => (typeof part === 'string' ? encoder.encode(part) : part))
    const place = program.petteia_take(one.length + other.length)
    const memory = new Uint8Array(program.memory.buffer)
    memory.set(one, place)
    memory.set(other, place + one.length)
    const length = program[name](one.length)
    return JSON.parse(decoder.decode(new Uint8Array(program.memory.buffer, program.petteia_answer(), length)))
  }

  /** Returns the program's reply to a request: {ok} or {later}. */
  function reply(path, data) {
    let result
    try {
      result = call('petteia_ask', path, JSON.stringify(data))
    } catch {
      throw new Error('The program in this page failed. Reload the page; your game is kept.')
    }
    if (result.error != null) throw new Error(result.error)
    return result
  }

  /** Returns the bytes of floats that are stored as planes: all first bytes, then all second bytes, and so on. */
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

  /** Resolves to the program's functions and memory. */
  async function instance(bytes) {
    try {
      return (await WebAssembly.instantiate(bytes, {})).instance.exports
    } catch {
      // if the program is valid but does not start, the page is not allowed to run it
      throw new Error(WebAssembly.validate(bytes)
        ? 'The place where you opened this page does not allow it to run its program. Download the file and open it from disk.'
        : 'This browser is too old for this page: it does not support SIMD in WebAssembly.')
    }
  }

  /** Handles what has arrived in the meantime: messages and, in a page, also clicks and drawing. */
  const { port1, port2 } = new MessageChannel()
  const pause = () => new Promise(resolve => {
    port1.onmessage = resolve
    port2.postMessage(null)
  })

  async function search(request) {
    const begun = performance.now()
    const limit = Math.min(LONGEST, request.data.seconds ? 1000 * request.data.seconds : LONGEST)
    let result = reply(request.path, request.data)
    let rounds = 4
    while (result.later) {
      await pause()
      const before = performance.now()
      const ends = request.stopped || before - begun > limit
      result = reply('go_on', { rounds: ends ? 0 : rounds })
      const took = performance.now() - before
      rounds = Math.max(1, Math.min(4096, Math.round(rounds * Math.min(4, SLICE / Math.max(took, 1)))))
    }
    return result.ok
  }

  async function work() {
    while (searches.length) {
      const [request] = searches
      await answer(request.id, () => search(request))
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

  return request => {
    const { id, path, data } = request
    if (path === 'open') return answer(id, () => open(data))
    if (path !== 'search' && path !== 'review') return answer(id, () => reply(path, data).ok)
    for (const other of searches) if (other.data.page === data.page) other.stopped = true
    searches.push(request)
    if (searches.length === 1) work()
  }
}
