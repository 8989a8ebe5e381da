// The requests to the program.
// In: a path below /api, and what to send. Out: the answer, or an `ApiError` with words for people.
// A busy program (503) is asked again a few times.

/** Of this start of the program. */
export const token = document.querySelector('meta[name=token]').content
const TRIES = 6

/** Searches of the same view of the same page stop each other. */
const pageId = Array.from(crypto.getRandomValues(new Uint8Array(12)), byte => byte.toString(16).padStart(2, '0')).join('')

export class ApiError extends Error {
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

/** A game with its options as the agent learned them: their defaults may be written, or not. */
export const forAgent = (game, { kind, options }) => (kind === 'trained' ? { ...game, options: options ?? {} } : game)

/** A search; the next one of the same view ends it early. */
export const search = (view, game, agent, strength, seed) =>
  post('search', { ...only(game), agent, simulations: null, seconds: null, ...strength, page: `${pageId}-${view}`, seed })

/** Ends the search of a view, which then answers with what it has. */
export const stopSearch = (view, game, agent) => search(view, game, agent, { simulations: 1 }, 1).catch(() => {})

/** How the program names the players, in their order. */
export const SIDES = ['first', 'second']

/** What a request needs of a game. */
export const only = ({ game, options, start, actions, resigned }) =>
  ({ game, options: options ?? {}, start: start ?? null, actions, resigned: resigned ?? null })

/** A game's beginning; nobody has resigned before its end. */
export const upTo = (game, ply) =>
  ({ ...game, actions: game.actions.slice(0, ply), resigned: ply < game.actions.length ? null : game.resigned ?? null })

export const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))
