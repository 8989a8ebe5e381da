// The review of a game: what its actions lost by the searches of an agent, and what was better, as a list in words.
// Input: a game, and the agent that judges. Output: `analysis` learns what the searches found; `onPly` with a ply that the user
// wants to see.

import { forAgent, review, SIDES, upTo } from './api.js'
import { h, percent } from './dom.js'

/** The actions of an expected line that are told. */
const LINE = 6

/** Expected score as points of 100. */
export const points = score => Math.round(100 * score)

const counted = (count, name) => `${count} ${name}${count === 1 ? '' : 's'}`

/** What an action lost, in words; a number and its sign stay on one line. */
export const lossOf = ({ could, got, better }) => `from ${percent(could)} to ${percent(got)}; better was ${better}`.replaceAll(' %', '\u00a0%')

export class Review {
  constructor({ analysis, onPly }) {
    Object.assign(this, { analysis, onPly, running: false })
    this.words = h('p.words', { role: 'status' })
    this.list = h('ol.mistakes', { 'aria-label': 'Actions that lost much' })
    this.hues = h('p.hues', null, 'On the board: ', h('b.better', null, 'what was better'), ' and ', h('b.played', null, 'what was played'), '.')
    this.element = h('section.review', { 'aria-label': 'Review', hidden: true }, h('h2', null, 'Review'), this.words, this.list, this.hues)
  }

  /** Searches every position of a game, as long as `goesOn`; tells `changed` of what is new. */
  async run(game, judge, goesOn, changed) {
    Object.assign(this, { running: true, judge, progress: 0 })
    try {
      changed()
      for (let from = 0; from != null && goesOn();) from = await this.runPart(game, judge, from, goesOn, changed)
    } finally {
      this.running = false
    }
    if (goesOn()) changed()
  }

  /** Searches some of the positions; resolves to the ply to go on from. */
  async runPart(game, judge, from, goesOn, changed) {
    const { plies, next, noticed } = await review(forAgent(game, judge), judge, from)
    if (!goesOn()) return null
    for (const { ply, search, mistake } of plies) {
      this.analysis.learn(upTo(game, ply), search, judge)
      this.analysis.note(game, ply, mistake)
    }
    Object.assign(this, { noticed, progress: (next ?? 0) / game.actions.length })
    if (next != null) changed()
    return next
  }

  /** Shows what is known of a game; `view` shows the game. */
  show(game, { movers, shown, ply }, shows) {
    const reviewed = this.analysis.reviewed(game)
    this.element.hidden = !shows || !(reviewed || this.running)
    if (this.element.hidden || !shown) return
    const found = this.analysis.mistakes(game).map((mistake, ply) => mistake && { ...mistake, ply, mover: movers[ply] }).filter(Boolean)
    const text = JSON.stringify([found, reviewed, this.running, this.progress, game.actions])
    if (text !== this.text) {
      this.text = text
      this.words.textContent = this.summary(found, shown.players, reviewed, game.actions.length)
      this.list.replaceChildren(...found.map(mistake => this.entry(mistake, game, shown.players)))
      this.hues.hidden = !found.length
    }
    this.mark(found.findIndex(mistake => mistake.ply === ply))
  }

  /** Marks the entry that the board shows. */
  mark(shown) {
    for (const [index, entry] of [...this.list.children].entries()) {
      if (index === shown) entry.firstChild.setAttribute('aria-current', 'step')
      else entry.firstChild.removeAttribute('aria-current')
    }
  }

  summary(found, players, reviewed, all) {
    if (this.running) return `Looking at the game: ${percent(this.progress)} …`
    if (reviewed < all) return `${reviewed} of ${counted(all, 'action')} were looked at.`
    const { name, simulations } = this.judge
    const by = ` A win is worth 100, a draw 50. By the searches of ${name} (${simulations} simulations).`
    if (!found.length) return `No action lost ${points(this.noticed)} points or more.${by}`
    const sides = SIDES.map((side, index) => {
      const lost = found.filter(({ mover }) => mover === side)
      const sum = lost.reduce((sum, { could, got }) => sum + points(could - got), 0)
      return sum && `${players[index]} lost ${sum} points in ${counted(lost.length, 'action')}`
    })
    return `${sides.filter(Boolean).join('; ')}.${by}`
  }

  entry(mistake, game, players) {
    const { ply, mover, could, got, line } = mistake
    return h('li', null,
      h('button', { type: 'button', onclick: () => this.onPly(ply) },
        h('b', null, `${ply + 1}. ${players[SIDES.indexOf(mover)]} played ${game.actions[ply]}`),
        ` and lost ${points(could - got)} points: ${lossOf(mistake)}.`),
      line.length > 1 && h('small', null, `Expected: ${line.slice(0, LINE).join(' ')}`))
  }
}
