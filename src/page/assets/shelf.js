// Files, the text of the position, the rules, and the user's own games that have ended or were left unfinished.
// Input: the game on the board (`record`). Output: `start` with the text of a position, `load` with games, `resume` with one of the
// user's own games, `say` and `fail` with messages.

import { post } from './api.js'
import { button, field, h, setHtml, toClipboard } from './dom.js'
import { gamesOfFile, saveToFile } from './games.js'
import { placeOf } from './links.js'
import { own } from './store.js'

/** Whether this page has an address that other people can open; a frame made from a text has no such address. */
const hasAddress = !/^(about|blob|data):$/.test(location.protocol)
/** Whether the browser may silently refuse to save files, as in a sandboxed frame. */
const isClosed = window.origin === 'null' && location.protocol !== 'file:'

export class Shelf {
  constructor({ record, seen, knows, titleOf, start, load, resume, say, fail }) {
    Object.assign(this, { record, seen, knows, titleOf, load, resume, say, fail })
    this.position = h('input', { type: 'text', readonly: true })
    this.startText = h('input', { type: 'text', spellcheck: 'false', autocomplete: 'off', placeholder: 'text of a position' })
    this.rulesText = h('div.rules-text')
    this.rules = h('details.rules', { ontoggle: () => this.showRules() }, h('summary', null, 'Rules'), this.rulesText)
    this.given = h('textarea', { readonly: true, rows: 4, 'aria-label': 'Text', onfocus: () => this.given.select() })
    this.giving = h('p.row', { hidden: true }, this.given)
    this.files = h('details.files', null, h('summary', null, 'Position and files'),
      h('div.row', null, field('Position', this.position), button('Copy', () => this.copy())),
      h('form.row', { onsubmit: event => { event.preventDefault(); start(this.startText.value.trim() || null) } },
        field('Start from', this.startText), h('button', { type: 'submit' }, 'Start')),
      h('div.buttons', null, button('Save game', () => this.save(this.record())), button('Copy link', () => this.copyLink(), { title: 'An address of this page that opens this game' }), button('Load games …', () => this.open())),
      this.giving)
    this.list = h('ul.finished')
    this.title = h('summary')
    this.games = h('details.own', null, this.title, this.list)
  }

  async showRules() {
    if (!this.rules.open) return
    const { game, options } = this.record()
    const wanted = JSON.stringify([game, options])
    if (this.rulesText.dataset.of === wanted) return
    this.rulesText.replaceChildren('…')
    try {
      const { html } = await post('rules', { game, options: options ?? {} })
      this.rulesText.dataset.of = wanted
      setHtml(this.rulesText, html)
    } catch (error) {
      this.rulesText.replaceChildren(error.message)
    }
  }

  copy() {
    return this.hand(this.position.value, 'Position copied.')
  }

  /** Copies an address that opens the game up to the position on display. */
  async copyLink() {
    if (hasAddress) return this.hand(`${location.href.split('#')[0]}#${placeOf(this.seen())}`, 'Link to this position copied.')
    return this.hand(this.position.value, 'This page has no address here, so the text of the position was copied instead.')
  }

  /** Copies a text and says so, or shows the text if the browser does not allow copying. */
  async hand(text, words) {
    const isCopied = await toClipboard(text)
    this.give(isCopied ? null : text)
    this.say(isCopied ? words : 'The browser does not allow copying here: the text is in the field under “Position and files”.')
  }

  /** Shows a text for the user to copy by hand; without a text, hides the field. */
  give(text) {
    this.giving.hidden = text == null
    if (text == null) return
    this.given.value = text
    this.files.open = true
    this.given.focus()
  }

  async save(game) {
    try {
      const { name, text } = await saveToFile(game)
      this.give(isClosed ? text : null)
      this.say(isClosed ? `If your browser did not save ${name}, its text is in the field under “Position and files”.` : `Game saved as ${name}.`)
    } catch (error) {
      this.fail(error)
    }
  }

  async open() {
    try {
      this.load(await gamesOfFile())
    } catch (error) {
      this.fail(error)
    }
  }

  /** Adds a game that has ended or was left unfinished; a game that is viewed again keeps its date. */
  put(game) {
    own.add({ ...game, date: game.date ?? new Date().toISOString() })
    this.show()
  }

  show() {
    // another program at this address may have had other games
    const games = own.beside(this.record()).filter(({ game }) => this.knows(game))
    this.title.textContent = games.length ? `Your games (${games.length})` : 'Your games'
    this.list.replaceChildren(...(games.length
      ? games.map(game => this.entry(game))
      : [h('li', null, 'None yet. Games that have ended or that you left unfinished are listed here.')]))
  }

  entry(game) {
    const day = game.date.slice(0, 10)
    const title = `${this.titleOf(game.game)}: ${game.text}`
    return h('li', null,
      h('div', null, title, h('small', null, ` ${day}, ${game.actions.length} actions${game.opponent ? `, against ${game.opponent}` : ''}`)),
      h('div.buttons', null,
        game.outcome == null && button('Play on', () => this.resume(game)),
        button('Look', () => (game.outcome != null && game.choices ? this.resume(game) : this.load([{ ...game, name: title }], true))),
        button('Save', () => this.save(game)),
        button('Remove', () => { own.remove(game); this.show() })))
  }
}
