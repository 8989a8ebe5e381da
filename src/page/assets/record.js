// A game as the page holds it, and variations of it.

import { upTo } from './api.js'
import { newId } from './store.js'

/** Returns a game before its first action. */
export const fresh = (game, options, start = null) => ({ game, options, start, actions: [], id: newId() })

/** Returns a variation from a ply on, which keeps the game that it belongs to. */
export const variationOf = (record, ply) =>
  ({ ...upTo(record, ply), resigned: null, over: false, own: false, id: newId(), main: record.main ?? record })

/** Returns the number of actions that a variation has in common with its game. */
export function common({ actions, main }) {
  const at = actions.findIndex((action, index) => action !== main.actions[index])
  return at < 0 ? Math.min(actions.length, main.actions.length) : at
}
