// What is known of the positions of a game, and what of it is shown.
// In: searches' answers, and the agents that can search. Out: scores for the graph, marks for the board, words.
// Answers are kept by the game before them, so that an undo forgets nothing.

import { forAgent, search, SIDES, upTo } from './api.js'
import { checkbox, field, fill, h, percent } from './dom.js'
import { Picker } from './picker.js'
import { settings } from './store.js'

/** Answers that are kept. */
const MOST = 5000
const NAMED = 5
const LINE = 6

const nameOf = ({ game, options, start, actions }) => JSON.stringify([game, options, start, actions])

export class Analysis {
  constructor(change) {
    this.change = change
    this.known = new Map()
    this.agents = []
    this.shows = { evaluation: true, visits: false, priors: false, line: false, ...settings.read() }
    const check = (name, text) => checkbox(text, this.shows[name], on => {
      this.shows[name] = on
      settings.write(this.shows)
      change()
    })
    this.analyst = h('select', { onchange: () => { this.forget(); change() } })
    this.words = h('p.thoughts')
    this.element = h('div.analysis', null,
      h('div.checks', null, check('evaluation', 'Evaluate'), check('visits', 'Visits'), check('priors', 'Priors'), check('line', 'Expected line')),
      field('Analysis by', this.analyst))
  }

  offer(agents) {
    this.agents = agents.filter(agent => agent.simulations != null)
    const choices = this.agents.map(agent => [agent.key, agent.name])
    fill(this.analyst, choices.length ? [['', 'the opponent if it can'], ...choices] : [['', 'nobody']], this.analyst.value)
  }

  forget() {
    this.known.clear()
  }

  /** Who evaluates: as chosen, or else the opponent if it searches, or else the best that does. */
  judge(opponent) {
    const chosen = this.agents.find(agent => agent.key === this.analyst.value)
    return chosen ?? this.agents.find(agent => agent === opponent) ?? Picker.usual(this.agents)
  }

  at(game) {
    return this.known.get(nameOf(game))
  }

  learn(game, answer) {
    if (this.known.size > MOST) this.forget()
    if (answer.score != null) this.known.set(nameOf(game), answer)
  }

  /** Is what is known as good as what the judge would say? */
  enough(game, judge) {
    const known = this.at(game)
    return Boolean(known && (known.proven || known.simulations >= judge.simulations))
  }

  /** The judge's opinion; asked for if it is not known. */
  async ask(game, judge) {
    if (this.enough(game, judge)) return this.at(game)
    const answer = await search('play', forAgent(game, judge), judge.key, { simulations: judge.simulations }, game.actions.length + 1)
    this.learn(game, answer)
    return answer
  }

  get wanted() {
    return Object.values(this.shows).some(Boolean)
  }

  scores(game) {
    return Array.from({ length: game.actions.length + 1 }, (_, ply) => this.at(upTo(game, ply))?.score ?? null)
  }

  /** What is drawn over the board: visits or priors as heat, and the expected line. */
  marks(game) {
    const known = this.at(game)
    if (!known) return null
    const visits = known.visits ?? []
    const all = visits.reduce((sum, entry) => sum + entry.visits, 0) || 1
    const shares = visits.map(entry => [entry.action, this.shows.visits ? entry.visits / all : entry.prior])
    const weights = this.shows.visits || this.shows.priors ? shares.filter(([, share]) => share >= 0.01) : []
    const line = this.shows.line ? (known.line ?? []).slice(0, LINE) : []
    return weights.length || line.length ? { weights, line } : null
  }

  describe(game, players, possible) {
    const known = this.at(game)
    if (!known) {
      this.words.textContent = possible ? '' : 'No agent for this game can evaluate positions.'
      return
    }
    const { proven } = known
    const visits = (known.visits ?? []).slice(0, NAMED).map(entry => `${entry.action} ${entry.visits}`)
    this.words.textContent = [
      `${players[0]} ${percent(known.score)}`,
      proven && (proven === 'draw' ? 'a draw with perfect play' : `${players[SIDES.indexOf(proven)]} wins with perfect play`),
      known.simulations != null && `${known.simulations} simulations`,
      visits.length > 0 && `visits: ${visits.join(', ')}`,
      known.line?.length > 0 && `line: ${known.line.slice(0, LINE + 2).join(' ')}`,
    ].filter(Boolean).join(' · ')
  }
}
