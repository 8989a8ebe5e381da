// The requests of a page to the program. Input: paths and data for `ask`, which delivers them to the program. Output: the program's answers.

import { ask } from './source.js'

/** Identifies this page: a new search of the same view of the same page stops the earlier one. */
const pageId = Array.from(crypto.getRandomValues(new Uint8Array(12)), byte => byte.toString(16).padStart(2, '0')).join('')

export const get = path => ask(path)

export const post = (path, data) => ask(path, data)

/** Returns a game with the options that the agent was trained with, written as they are in its files, with or without defaults. */
export const forAgent = (game, { kind, options }) => (kind === 'trained' ? { ...game, options: options ?? {} } : game)

/** Starts a search; the next search of the same view ends this one early. */
export const search = (view, game, agent, strength, seed) =>
  post('search', { ...only(game), agent, simulations: null, level: null, seconds: null, ...strength, page: `${pageId}-${view}`, seed })

/** Reviews a game from a ply on, as far as the program gets in one request. */
export const review = (game, { key, simulations }, from) =>
  post('review', { ...only(game), agent: key, simulations, page: `${pageId}-review`, from })

/** Ends the search of a view, which then answers with what it has found so far. */
export const stopSearch = (view, game, agent) => search(view, game, agent, { simulations: 1 }, 1).catch(() => {})

/** The program's names for the players, in order. */
export const SIDES = ['first', 'second']

/** Returns the parts of a game that a request needs. */
export const only = ({ game, options, start, actions, resigned }) =>
  ({ game, options: options ?? {}, start: start ?? null, actions, resigned: resigned ?? null })

/** Returns the game up to a ply; a resignation counts only at the end of the game. */
export const upTo = (game, ply) =>
  ({ ...game, actions: game.actions.slice(0, ply), resigned: ply < game.actions.length ? null : game.resigned ?? null })

export const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))
