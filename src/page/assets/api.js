// What a page asks the program.
// Input: paths and data of `ask`, which knows where the program is. Output: its answers.

import { ask } from './source.js'

/** Identifies this page: a new search of the same view of the same page stops the earlier one. */
const pageId = Array.from(crypto.getRandomValues(new Uint8Array(12)), byte => byte.toString(16).padStart(2, '0')).join('')

export const get = path => ask(path)

export const post = (path, data) => ask(path, data)

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
