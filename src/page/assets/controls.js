// The controls below the board: the status line, the way back from a variation, the buttons of a game, and the question
// before a resignation.
// Input: what the game currently allows. Output: calls of the functions in `does`, which are named after the buttons.

import { button, chip, h } from './dom.js'

export class Controls {
  constructor(does, choices) {
    this.status = h('p.status', { role: 'status', 'aria-live': 'polite' })
    this.buttons = {
      look: button('Look at the game', does.look, { class: 'primary', title: 'Which actions lost a lot, and what would have been better' }),
      repeat: button('Play again', does.repeat),
      undo: button('Undo', does.undo, { title: 'Take back your last action (u)', 'aria-keyshortcuts': 'u' }),
      hint: button('Hint', does.hint, { title: 'What the analysis would play (h)', 'aria-keyshortcuts': 'h' }),
      flip: button('Flip board', does.flip, { title: 'See the board from the other side (f)', 'aria-keyshortcuts': 'f' }),
      resign: button('Resign', () => this.askResign(true), { title: 'Give up this game' }),
      now: button('Move now', does.now, { title: 'The opponent plays what it thinks best so far' }),
      here: button('Play on from here', does.here),
      again: button('Try again', does.again),
    }
    this.variationText = h('span')
    this.variation = h('div.variation', { role: 'group', 'aria-label': 'Variation', hidden: true },
      this.variationText, button('Back to the game', does.back))
    this.row = h('div.buttons', null, this.variation, Object.values(this.buttons))
    this.keepPlaying = button('Keep playing', () => this.askResign(false))
    this.asking = h('div.buttons', { role: 'group', 'aria-label': 'Resign this game?', hidden: true },
      // on a separate line, instead of the buttons, so that a double click does not resign
      h('p.question', null, 'Resign this game?'), this.keepPlaying, button('Yes, resign', does.resign, { class: 'danger' }))
    this.element = h('div.below', null, this.status, choices.actions, choices.brushes, this.row, this.asking)
  }

  /** Asks before the user resigns. */
  askResign(ask) {
    this.row.hidden = ask
    this.asking.hidden = !ask
    if (ask) this.keepPlaying.focus({ preventScroll: true })
    else this.buttons.resign.focus({ preventScroll: true })
  }

  /** Shows and enables the buttons that the game allows. */
  allow({ past, over, mine, begun, resigned, thinking, judge, upright, flipped }) {
    const { buttons } = this
    buttons.look.hidden = !over || !begun || !judge
    buttons.repeat.hidden = !over
    buttons.here.hidden = !past && !resigned
    buttons.flip.hidden = upright
    buttons.flip.setAttribute('aria-pressed', String(flipped))
    buttons.resign.hidden = past || over
    buttons.resign.disabled = !begun
    if (buttons.resign.hidden || buttons.resign.disabled) {
      this.row.hidden = false
      this.asking.hidden = true
    }
    buttons.now.hidden = !thinking
    buttons.now.disabled = false
    buttons.again.hidden = true
    buttons.undo.disabled = past || !begun
    buttons.hint.hidden = over
    buttons.hint.disabled = past || !mine || !judge
  }

  /** Shows where a variation begins; without a number, there is no variation. */
  showVariation(from) {
    this.variation.hidden = from == null
    this.variationText.textContent = from == null ? '' : `Variation from action ${from + 1} on`
  }

  /** Shows a message in the status line, with a disc in a color of board.css. */
  say(text, color = null, error = false) {
    this.status.classList.toggle('error', error)
    // setting the same words again would make screen readers read them again
    if (this.message === `${color} ${text}`) return
    this.message = `${color} ${text}`
    this.status.replaceChildren(...(color ? [chip(color)] : []), h('span', null, text))
  }
}
