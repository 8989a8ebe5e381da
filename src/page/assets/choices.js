// Buttons for what cannot be chosen by clicking squares: one of several actions on the same squares, an action without squares, and
// what a click puts down. A button shows its action in words if the game has words for it, or else the action's text.
// Input: a board's selection. Output: `onAction` with the text of an action; the board's brush is set.

import { button, h } from './dom.js'
import { brush } from './pick.js'

/** The height of a row of buttons, in rem. */
const ROW = 2.6

/** Returns the thing that is put down, from words such as "a white man on b2". */
const thing = words => words?.replace(/ on \S+$/, '')

export class Choices {
  constructor(onAction) {
    this.onAction = onAction
    this.actions = h('div.choices', { role: 'group', 'aria-label': 'Choose an action' })
    this.brushes = h('div.choices', { role: 'group', 'aria-label': 'What a click puts on a square' })
  }

  show({ choices, clicked, brushes }, board) {
    const passes = clicked.length ? [] : board.legal.filter(action => !action.places.length)
    const offered = [...choices, ...passes]
    const short = choices.length > 0 && new Set(offered.map(({ text }) => brush(text))).size === offered.length
    const label = ({ text, words }) => (short ? thing(words) ?? brush(text) : words ?? text)
    const choose = text => {
      board.element.focus({ preventScroll: true })
      this.onAction(text)
    }
    this.actions.replaceChildren(
      ...offered.map(action => button(label(action), () => choose(action.text), { title: action.text })),
      ...(choices.length ? [button('Cancel', () => board.clear(), { class: 'quiet' })] : []))
    if (choices.length) this.actions.firstChild.focus({ preventScroll: true })
    this.showBrushes(brushes, board)
    // the board leaves room for the rows of buttons below it
    const rows = brushes.length ? 2 : board.legal.some(action => !action.places.length) ? 1 : 0
    board.element.parentElement.style.setProperty('--choices', `${rows * ROW}rem`)
  }

  showBrushes(brushes, board) {
    const set = name => {
      board.brush = name
      this.showBrushes(brushes, board)
    }
    const words = name => thing(board.legal.find(({ text, places }) => places.length === 1 && brush(text) === name)?.words) ?? name
    const entry = name => button(name ? words(name) : 'ask each time', () => set(name), {
      'aria-pressed': String(name === board.brush), title: name || 'Choose at each click',
    })
    this.brushes.replaceChildren(...(brushes.length ? [h('span', null, 'A click puts'), ...['', ...brushes].map(entry)] : []))
  }
}
