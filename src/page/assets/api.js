// Requests to the program.
// Input: a path below /api, and the data to send. Output: the answer, or an `ApiError` with a message for people.
// If the program is busy (503), the request is repeated a few times.

/** A token that is new each time the program starts. */
export const token = document.querySelector('meta[name=token]').content
const TRIES = 6

/** Identifies this page: a new search of the same view of the same page stops the earlier one. */
const pageId = Array.from(crypto.getRandomValues(new Uint8Array(12)), byte => byte.toString(16).padStart(2, '0')).join('')

class ApiError extends Error {
  constructor(message, status) {
    super(message)
    this.status = status
  }
}

async function request(path, options) {
  for (let attempt = 1; ; attempt++) {
    let response
    try {
      response = await fetch(`/api/${path}`, options)
    } catch {
      throw new ApiError('The program does not answer. Is petteia serve still running?', 0)
    }
    if (response.ok) return response.json()
    if (response.status === 503 && attempt < TRIES) {
      await pause(150 * 2 ** attempt)
      continue
    }
    const answer = await response.json().catch(() => ({}))
    const restarted = response.status === 401 || response.status === 403
    const words = restarted ? 'The program was started anew: reload this page.' : answer.error
    throw new ApiError(words ?? `The program answered with an error (${response.status}).`, response.status)
  }
}

const headers = { 'x-petteia-token': token }

export const get = path => request(path, { headers })

export const post = (path, body) =>
  request(path, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** A game with the options that the agent learned, written as they are in its files, with or without defaults. */
export const forAgent = (game, { kind, options }) => (kind === 'trained' ? { ...game, options: options ?? {} } : game)

/** Starts a search; the next one of the same view ends it early. */
export const search = (view, game, agent, strength, seed) =>
  post('search', { ...only(game), agent, simulations: null, level: null, seconds: null, ...strength, page: `${pageId}-${view}`, seed })

/** Reviews a game from a ply on, for as long as the program takes at once. */
export const review = (game, { key, simulations }, from) =>
  post('review', { ...only(game), agent: key, simulations, page: `${pageId}-review`, from })

/** Ends the search of a view, which then answers with what it has found. */
export const stopSearch = (view, game, agent) => search(view, game, agent, { simulations: 1 }, 1).catch(() => {})

/** The program's names of the players, in their order. */
export const SIDES = ['first', 'second']

/** The parts of a game that a request needs. */
export const only = ({ game, options, start, actions, resigned }) =>
  ({ game, options: options ?? {}, start: start ?? null, actions, resigned: resigned ?? null })

/** The game up to a ply; a resignation counts only at its end. */
export const upTo = (game, ply) =>
  ({ ...game, actions: game.actions.slice(0, ply), resigned: ply < game.actions.length ? null : game.resigned ?? null })

export const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))
