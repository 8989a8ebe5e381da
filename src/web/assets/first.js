// The first view: all games as small boards, and those that the user left.
// Input: the games of /api/home, their drawings (/api/starts). Output: links to games; `resume` with a game that was left.

import { get } from './api.js'
import { button, h, setHtml } from './dom.js'
import { titleOf, variantOf } from './picker.js'
import { own } from './store.js'

/** The largest number of games to go on with that are offered. */
const MOST = 3

export class First {
  constructor({ resume, fail }) {
    Object.assign(this, { resume, fail, starts: {} })
    this.list = h('ul.finished')
    this.left = h('section.left', { 'aria-label': 'Games that you left' }, h('h2', null, 'Go on with a game'), this.list)
    this.cards = h('ul.cards')
    this.element = h('section.first', { 'aria-label': 'Games' },
      h('h1', null, 'Choose a game'),
      h('p', null, 'It begins at once. You can choose another opponent or side beside the board.'),
      this.cards, this.left)
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
    for (const game of this.games) families.set(game.name, [...(families.get(game.name) ?? []), game])
    this.cards.replaceChildren(...[...families.values()].map(family => this.card(family)))
  }

  card([game, ...variants]) {
    const picture = h('span.picture', { 'aria-hidden': 'true' })
    if (this.starts[game.id]) setHtml(picture, this.starts[game.id])
    const variant = other => h('a', { href: `#play/${other.id}`, 'aria-label': titleOf(this.games, other.id) }, variantOf(other))
    return h('li.card', { 'data-game': game.id },
      h('a.begin', { href: `#play/${game.id}` },
        picture, h('b', null, titleOf(this.games, game.id)), ' ', h('span.about', null, game.brief[0])),
      variants.length > 0 && h('p.variants', null, 'Also ', variants.map(variant)))
  }

  /** Shows the games that the user left. */
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
