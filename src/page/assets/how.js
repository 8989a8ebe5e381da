// How the game is played, shown next to its board: the rules in brief, and how to act on the board now. Input: the lines of /api/home, and what
// a board offers. If the user folds this section, it stays folded.

import { h } from './dom.js'
import { settings } from './store.js'

export class How {
  constructor() {
    this.lines = h('ul')
    this.now = h('p.now')
    this.element = h('details.how', { ontoggle: () => settings.write({ ...settings.read(), rulesFolded: !this.element.open }) },
      h('summary', null, 'How to play'), this.lines, this.now)
    this.element.open = !settings.read().rulesFolded
  }

  /** Shows the rules of a game. */
  show({ brief }) {
    this.lines.replaceChildren(...brief.map(line => h('li', null, line)))
  }

  /** Says how to act on this board; without a board, says nothing. */
  follow(board) {
    this.now.textContent = board ? howToAct(board) : ''
  }
}

/** Returns how to act on a board: with its squares, the things that a click puts down, and the buttons below it. */
export function howToAct({ legal, columns, brushes }) {
  const counts = legal.map(({ places }) => places.length)
  const [buttons, squares, pieces] = [counts.includes(0), counts.includes(1), counts.some(count => count > 1)]
  const words = []
  if (columns) words.push('Choose a column.')
  else if (brushes.length) words.push('Choose a marked square and what to put there.')
  else if (pieces) words.push('Choose a marked piece, then one of the squares that light up; or drag it there.')
  else if (squares) words.push('Choose one of the marked squares.')
  if (pieces && squares) words.push('A marked square without a piece can be chosen by itself.')
  if (buttons) words.push(words.length ? 'Or use a button below the board.' : 'Use a button below the board.')
  return words.join(' ')
}
