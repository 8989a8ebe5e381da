// The review of a game: what its actions lost according to an agent's searches, and what was better, as a list in words.
// Input: a game, and the agent that judges. Output: the results of the searches, to `analysis`; `onPly` with a ply that the user
// wants to see.

import { forAgent, review, SIDES, upTo } from './api.js'
import { h, percent } from './dom.js'

/** The number of actions of an expected line that are shown. */
const LINE = 6

/** Returns an expected score as points out of 100. */
export const points = score => Math.round(100 * score)

const counted = (count, name) => `${count} ${name}${count === 1 ? '' : 's'}`

/** Says how an agent judges. */
const waysOf = ({ kind, name, simulations }) => (kind === 'perfect' ? 'perfect play' : `the searches of ${name === 'shipped agent' ? 'the ' : ''}${name} (${simulations} simulations)`)

/** Says what an action lost; a number and its sign stay on one line. */
export const lossOf = ({ could, got, better }) => `from ${percent(could)} to ${percent(got)}; ${better} was better`.replaceAll(' %', '\u00a0%')

export class Review {
  constructor({ analysis, onPly }) {
    Object.assign(this, { analysis, onPly, running: null })
    this.words = h('p.words', { role: 'status' })
    this.list = h('ol.mistakes', { 'aria-label': 'Actions that lost a lot' })
    this.hues = h('p.hues', null, 'On the board: ', h('b.better', null, 'what was better'), ' and ', h('b.played', null, 'what was played'), '.')
    this.element = h('section.review', { 'aria-label': 'Review', hidden: true }, h('h2', null, 'Review'), this.words, this.list, this.hues)
  }

  /** Searches every position of a game as long as `goesOn` returns true; calls `changed` when there is something new. */
  async run(game, judge, goesOn, changed) {
    const run = { progress: 0 }
    this.running = run
    try {
      changed()
      for (let from = 0; from != null && goesOn();) from = await this.runPart(game, judge, from, goesOn, changed)
    } finally {
      // another review may have begun
      if (this.running === run) this.running = null
    }
    if (goesOn()) changed()
  }

  /** Searches some of the positions; resolves to the ply to continue from. */
  async runPart(game, judge, from, goesOn, changed) {
    const { plies, next, noticed } = await review(forAgent(game, judge), judge, from)
    if (!goesOn()) return null
    for (const { ply, search, mistake } of plies) {
      this.analysis.learn(upTo(game, ply), search, judge)
      // the position after the last action has a search, but no action
      if (ply < game.actions.length) this.analysis.note(game, ply, mistake, waysOf(judge))
    }
    this.noticed = noticed
    this.running.progress = (next ?? 0) / game.actions.length
    if (next != null) changed()
    return next
  }

  /** Shows what is known about the game that a view shows. */
  show(game, { movers, shown, ply }, shows) {
    const by = this.analysis.reviewers(game)
    this.element.hidden = !shows || !(by.length || this.running)
    if (this.element.hidden || !shown) return
    const found = this.analysis.mistakes(game).map((mistake, ply) => mistake && { ...mistake, ply, mover: movers[ply] }).filter(Boolean)
    const text = JSON.stringify([found, by, this.running, game.actions])
    if (text !== this.text) {
      this.text = text
      this.words.textContent = this.summary(found, shown.players, by, game.actions.length)
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

  summary(found, players, by, all) {
    if (this.running) return `Reviewing the game: ${percent(this.running.progress)} …`
    if (by.length < all) return `${by.length} of ${counted(all, 'action')} have been reviewed.`
    const end = ` A win is worth 100, a draw 50. Judged by ${[...new Set(by)].join(' and ')}.`
    if (!found.length) return `No action lost ${points(this.noticed)} points or more.${end}`
    const sides = SIDES.map((side, index) => {
      const lost = found.filter(({ mover }) => mover === side)
      const sum = lost.reduce((sum, { could, got }) => sum + points(could - got), 0)
      return sum && `${players[index]} lost ${sum} points in ${counted(lost.length, 'action')}`
    })
    return `${sides.filter(Boolean).join('; ')}.${end}`
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
