// What the status line says about a game.
// Input: the view of the game, and who plays it. Output: sentences.

import { SIDES } from './api.js'
import { sentence } from './dom.js'
import { lossOf } from './review.js'

/** Resolves to what the opponent has done since the user's last action, with the pieces that acted; empty at earlier positions. */
export async function newsOf({ view, setup, names, atEnd }) {
  const { movers } = view
  const since = setup.alone ? movers.length : movers.findLastIndex(mover => setup.isMine(mover)) + 1
  if (since >= movers.length || !atEnd) return ''
  const actions = await Promise.all(movers.slice(since).map((_, index) => view.announced(since + index)))
  return `${names[SIDES.indexOf(movers[since])]} played ${actions.join(', ')}.`
}

/** Says which earlier position is shown, and what was played there if that lost a lot. */
export function pastOf({ view, record, mistakes }, name) {
  const { ply } = view
  const after = `After ${ply} of ${record.actions.length} actions: ${name}`
  return mistakes[ply] ? `${after} played ${record.actions[ply]} and went ${lossOf(mistakes[ply])}.` : `${after} to move.`
}

/** Says how a game ended. */
export const endOf = ({ record }, { text }, news) => joined(!record.resigned && news, `${sentence(text)}.`)

/** Says that it is the user's turn. */
export const turnOf = ({ note, hint, setup }, name, news) =>
  joined(note, hint ? `Hint: ${hint}.` : news, setup.alone ? `${name} to move.` : `Your turn: ${name}.`)

/** Says why the board cannot be used; empty if it can. */
export function idleOf({ atEnd, over, thinking }) {
  if (!atEnd) return 'This is an earlier position. “Play on from here” begins a variation.'
  if (over) return 'The game is over. “Play again” begins another one.'
  return thinking ? 'The opponent is thinking. “Move now” makes it play.' : ''
}

const joined = (...parts) => parts.filter(Boolean).join(' ')
