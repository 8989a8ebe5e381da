// The first view: all games as small boards, and the games that the user left unfinished.
// Input: the games of /api/home, their drawings (/api/starts). Output: links to games; `resume` with an unfinished game.

import { get } from './api.js'
import { button, h, setHtml } from './dom.js'
import { titleOf, usual, variantOf } from './picker.js'
import { own } from './store.js'

/** The groups of games whose rules are a text. */
const WRITTEN = [
  ['own', 'Your own games', 'This browser keeps the texts of your games.'],
  ['text', 'Games described by a text', 'The rules of each game are a text of a few lines that you can turn into your own game. These games have no trained opponents yet.'],
  ['run', 'Games of runs', 'Runs train agents for these games, whose rules are texts.'],
]
/** The largest number of unfinished games that are offered. */
const MOST = 3

export class First {
  constructor({ resume, edit, forget, fail }) {
    Object.assign(this, { resume, edit, forget, fail, starts: {} })
    this.list = h('ul.finished')
    this.left = h('section.left', { 'aria-label': 'Games that you left' }, h('h2', null, 'Continue a game'), this.list)
    this.cards = h('ul.cards')
    this.written = h('div')
    this.element = h('section.first', { 'aria-label': 'Games' },
      h('h1', null, 'Choose a game'),
      h('p', null, 'The game begins at once. You can choose another opponent or side next to the board. Or ',
        h('a', { href: '#write' }, 'write your own game'), '.'),
      this.cards, this.left, this.written)
  }

  offerHome({ games }) {
    const text = JSON.stringify(games)
    if (text === this.text) return
    Object.assign(this, { games, text })
    this.draw()
  }

  async open() {
    this.showLeft()
    if (Object.keys(this.starts).length) return
    try {
      this.starts = await get('starts')
      this.draw()
    } catch (error) {
      this.fail(error)
    }
  }

  /** Draws a card for each family of games. */
  draw() {
    const families = new Map()
    for (const game of this.games.filter(({ origin }) => origin === 'program')) families.set(game.name, [...(families.get(game.name) ?? []), game])
    this.cards.replaceChildren(...[...families.values()].map(family => this.card(family)))
    const group = ([wanted, title, text]) => {
      const games = this.games.filter(({ origin }) => origin === wanted)
      return games.length ? [h('h2', null, title), h('p', null, text), h('ul.cards.small', null, games.map(game => this.card([game])))] : []
    }
    this.written.replaceChildren(...WRITTEN.flatMap(group))
  }

  card([game, ...variants]) {
    const picture = h('span.picture', { 'aria-hidden': 'true' })
    const start = this.starts[game.id] ?? game.svg
    if (start) setHtml(picture, start)
    const text = usual(game).text
    const variant = other => h('a', { href: `#play/${other.id}`, 'aria-label': titleOf(this.games, other.id) }, variantOf(other))
    return h('li.card', { 'data-game': game.id },
      h('a.begin', { href: `#play/${game.id}` },
        picture, h('b', null, titleOf(this.games, game.id)), ' ', h('span.about', null, game.brief[0])),
      variants.length > 0 && h('p.variants', null, 'Also ', variants.map(variant)),
      text && h('p.variants', null,
        button('Edit', () => this.edit(text), { 'aria-label': `Edit ${game.title}` }),
        game.origin === 'own' && button('Remove', () => this.forget(game), { 'aria-label': `Remove ${game.title}` })))
  }

  /** Shows the games that the user left unfinished. */
  showLeft() {
    // another program at this address may have had other games
    const known = ({ game }) => this.games.some(({ id }) => id === game)
    const games = own.list().filter(game => game.outcome == null && game.choices && known(game)).slice(0, MOST)
    this.left.hidden = !games.length
    this.list.replaceChildren(...games.map(game => this.entry(game)))
  }

  entry(game) {
    const title = titleOf(this.games, game.game)
    const more = `${game.actions.length} actions${game.opponent ? `, against ${game.opponent}` : ''}`
    return h('li', null, h('span', null, title, h('small', null, ` ${more}`)),
      button('Play on', () => this.resume(game), { 'aria-label': `Play on: ${title}, ${more}` }))
  }
}
