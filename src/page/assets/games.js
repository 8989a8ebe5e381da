// Games to step through: a list, and the chosen game with its value graph.
// Input: games as /api/load returns them. Output: `playOn` with a game up to the position shown, `fail` with errors.

import { only, post, upTo } from './api.js'
import { button, download, h, sentence, upload } from './dom.js'
import { View } from './view.js'

/** Resolves to the games of a file that the user selects. */
export async function gamesOfFile() {
  return (await post('load', { text: await upload() })).games
}

/** Saves a game as a file on the user's computer; resolves to the file's name and text. */
export async function saveToFile(game) {
  const { text } = await post('save', only(game))
  const now = new Date().toISOString().slice(0, 19).replaceAll(':', '-')
  const name = `${game.game}-${now}.json`
  download(name, text)
  return { name, text }
}

/** Returns the name of a game of a match with its result first, because a narrow list shows only the beginning. */
const resultFirst = name => name.replace(/^(.+): ([01½] to [01½].*)$/, '$2: $1')

export class Games {
  constructor({ playOn, fail }) {
    Object.assign(this, { playOn, fail, games: [] })
    this.view = new View({ playback: true, onPly: () => this.draw() })
    this.list = h('select.games', { size: 8, 'aria-label': 'Games', onchange: () => this.show(this.list.selectedIndex) })
    this.status = h('p.status', { role: 'status' })
    this.element = h('div.columns.viewer', null,
      h('div.main', null, this.view.stage, h('div.below', null, this.status)),
      h('aside.side', null, this.list, this.view.track,
        h('div.buttons', null,
          button('Play on from here', () => this.playOn(this.seen)),
          this.view.flipping,
          button('Save this game', () => this.save()))))
  }

  get seen() {
    const game = this.games[this.list.selectedIndex]
    return { ...upTo(game, this.view.ply), resigned: null }
  }

  /** Takes new games; the game being viewed stays selected if it is among them. */
  set(games) {
    const before = this.games[this.list.selectedIndex]
    this.games = games
    this.list.replaceChildren(...games.map(game => h('option', { title: game.name }, resultFirst(game.name))))
    this.list.hidden = games.length < 2
    this.list.size = Math.min(8, Math.max(2, games.length))
    const same = before ? games.findIndex(game => JSON.stringify(game) === JSON.stringify(before)) : -1
    this.list.selectedIndex = Math.max(0, same)
    if (same < 0 && games.length) return this.show(0)
  }

  show(index) {
    const game = this.games[index]
    this.view.toggle(false)
    this.view.set(game, { ply: 0, scores: game.scores ?? [] })
    return this.draw()
  }

  async draw() {
    try {
      const position = await this.view.render()
      if (!position) return
      const mover = position.players[position.to_move === 'first' ? 0 : 1]
      const game = this.games[this.list.selectedIndex]
      const next = game.actions[this.view.ply]
      const result = { first: `${position.players[0]} wins.`, second: `${position.players[1]} wins.`, draw: 'A draw.' }[game.outcome]
      if (position.over) this.status.textContent = `${sentence(position.over.text)}.`
      else if (next) this.status.textContent = `${mover} plays ${next}.`
      else this.status.textContent = result ?? `${mover} to move.`
    } catch (error) {
      this.status.textContent = error.message
    }
  }

  async save() {
    try {
      await saveToFile(this.games[this.list.selectedIndex])
    } catch (error) {
      this.fail(error)
    }
  }
}
