// Files, the text of the position, rules, and the user's own games that ended or were left.
// Input: the game on the board (`record`). Output: `start` with a position's text, `load` with games, `resume` with one of the
// user's own games, `say` and `fail` with words.

import { post } from './api.js'
import { button, field, h, setHtml } from './dom.js'
import { gamesOfFile, saveToFile } from './games.js'
import { placeOf } from './links.js'
import { own } from './store.js'

/** Copies a text, also where a page may not use the clipboard. */
async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    const area = h('textarea', { readonly: true })
    area.value = text
    document.body.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
}

export class Shelf {
  constructor({ record, seen, knows, titleOf, start, load, resume, say, fail }) {
    Object.assign(this, { record, seen, knows, titleOf, load, resume, say, fail })
    this.position = h('input', { type: 'text', readonly: true })
    this.startText = h('input', { type: 'text', spellcheck: 'false', autocomplete: 'off', placeholder: 'text of a position' })
    this.rulesText = h('div.rules-text')
    this.rules = h('details.rules', { ontoggle: () => this.showRules() }, h('summary', null, 'Rules'), this.rulesText)
    this.files = h('details.files', null, h('summary', null, 'Position and files'),
      h('div.row', null, field('Position', this.position), button('Copy', () => this.copy())),
      h('form.row', { onsubmit: event => { event.preventDefault(); start(this.startText.value.trim() || null) } },
        field('Start from', this.startText), h('button', { type: 'submit' }, 'Start')),
      h('div.buttons', null, button('Save game', () => this.save(this.record())), button('Copy link', () => this.copyLink(), { title: 'An address of this page that opens this game' }), button('Load games …', () => this.open())))
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

  async copy() {
    await toClipboard(this.position.value)
    this.say('The position is copied.')
  }

  /** Copies an address that opens the game as far as it is shown. */
  async copyLink() {
    await toClipboard(`${location.href.split('#')[0]}#${placeOf(this.seen())}`)
    this.say('The link to this position is copied.')
  }

  async save(game) {
    try {
      await saveToFile(game)
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

  /** Adds a game that ended or was left; one that is looked at again keeps its date. */
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
      : [h('li', null, 'None yet. Games that have ended, and those that you left, are listed here.')]))
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
