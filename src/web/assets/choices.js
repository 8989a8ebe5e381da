// Choices that squares cannot tell, as buttons: actions at the same squares, actions without any, what a click puts.
// In: a board's selection. Out: `onAction` with the text of an action; the board's brush is set.

import { button, h } from './dom.js'
import { brush } from './pick.js'

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
    const choose = text => {
      board.element.focus({ preventScroll: true })
      this.onAction(text)
    }
    this.actions.replaceChildren(
      ...offered.map(({ text }) => button(short ? brush(text) : text, () => choose(text), { title: text })),
      ...(choices.length ? [button('Cancel', () => board.clear(), { class: 'quiet' })] : []))
    if (choices.length) this.actions.firstChild.focus({ preventScroll: true })
    this.showBrushes(brushes, board)
  }

  showBrushes(brushes, board) {
    const set = name => {
      board.brush = name
      this.showBrushes(brushes, board)
    }
    const entry = name => button(name || 'ask', () => set(name), { 'aria-pressed': String(name === board.brush) })
    this.brushes.replaceChildren(...(brushes.length ? [h('span', null, 'A click puts'), ...['', ...brushes].map(entry)] : []))
  }
}
