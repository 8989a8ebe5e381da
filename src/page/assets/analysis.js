// Everything known about the positions of a game, and which parts of it are shown.
// Input: answers of searches, and the agents that search or play perfectly. Output: scores for the graph, marks for the board, and
// words.
// Each answer is stored under the actions that lead to its position, so that undoing an action loses nothing. What is shown is chosen
// separately for games in progress, where it would be a hint at every turn, and for games that are over.

import { forAgent, search, SIDES, upTo } from './api.js'
import { checkbox, field, fill, h, percent } from './dom.js'
import { Picker } from './picker.js'
import { settings } from './store.js'

/** The maximum number of answers that are kept. */
const MOST = 5000
const NAMED = 5
const LINE = 6
/** The smallest share that is drawn. */
const LEAST = 0.01
const CLOSED = 'Values are shown when the game is over, or when you ask for them.'
const LAYERS = { evaluation: 'Evaluate', visits: 'Visits', priors: 'Priors', line: 'Expected line' }
const NONE = { evaluation: false, visits: false, priors: false, line: false }

const nameOf = ({ game, options, start, actions }) => JSON.stringify([game, options, start, actions])

export class Analysis {
  constructor(change) {
    this.change = change
    this.known = new Map()
    /** For the position after each action: the mistake, or null if the action lost little, and the agent that found it. */
    this.lost = new Map()
    this.agents = []
    this.networks = new Map()
    const { playing, over } = settings.read()
    this.chosen = { playing: { ...NONE, ...playing }, over: { ...NONE, evaluation: true, ...over } }
    this.situation = 'playing'
    this.checks = Object.fromEntries(Object.entries(LAYERS).map(([name, text]) => [name, checkbox(text, false, on => this.choose(name, on))]))
    this.analyst = h('select', { onchange: () => { this.forget(); change() } })
    this.words = h('p.thoughts')
    this.shares = h('table.shares', { 'aria-label': 'Visits and priors' })
    this.title = h('summary')
    this.element = h('div.analysis', null,
      h('div.checks', null, Object.values(this.checks)), this.shares, field('Analysis by', this.analyst))
    this.follow(false)
  }

  /** What is shown of the current game. */
  get shows() {
    return this.chosen[this.situation]
  }

  choose(name, on) {
    this.shows[name] = on
    settings.write({ ...settings.read(), ...this.chosen })
    this.drawChecks()
    this.change()
  }

  /** Switches to the choices for games in progress, or to those for games that are over. */
  follow(over) {
    this.situation = over ? 'over' : 'playing'
    this.drawChecks()
  }

  drawChecks() {
    const on = Object.keys(LAYERS).filter(name => this.shows[name])
    for (const [name, label] of Object.entries(this.checks)) label.firstChild.checked = this.shows[name]
    this.title.textContent = `Analysis: ${on.map(name => LAYERS[name]).join(', ').toLowerCase() || 'off'}`
  }

  offer(agents) {
    this.agents = agents.filter(agent => agent.simulations != null || agent.kind === 'perfect')
    const choices = this.agents.map(agent => [agent.key, agent.name])
    fill(this.analyst, choices.length ? [['', 'the opponent if it can'], ...choices] : [['', 'nobody']], this.analyst.value)
  }

  forget() {
    this.known.clear()
    this.lost.clear()
  }

  /**
   * Returns the agent that evaluates: the chosen agent, or else an opponent that can evaluate, or else perfect play or the best agent that
   * searches.
   */
  judge(opponent) {
    const chosen = this.agents.find(agent => agent.key === this.analyst.value)
    const usual = () => this.agents.find(agent => agent.kind === 'perfect') ?? Picker.usual(this.agents)
    return chosen ?? this.agents.find(agent => agent === opponent) ?? usual()
  }

  at(game) {
    return this.known.get(nameOf(game))
  }

  learn(game, answer, agent) {
    // if the agent has been trained again in the meantime, the earlier answers no longer hold
    const before = this.networks.get(agent.key)
    if (answer.network && before && before !== answer.network) this.forget()
    if (answer.network) this.networks.set(agent.key, answer.network)
    if (this.known.size > MOST) this.forget()
    if (answer.score != null) this.known.set(nameOf(game), answer)
  }

  /** Records what the action at a ply lost (null if it lost little) and which agent found that. */
  note(game, ply, mistake, by) {
    this.lost.set(nameOf(upTo(game, ply + 1)), { mistake, by })
  }

  /** Returns what the actions of a game lost; null for actions that lost little or have not been reviewed. */
  mistakes(game) {
    return game.actions.map((_, ply) => this.lost.get(nameOf(upTo(game, ply + 1)))?.mistake ?? null)
  }

  /** Returns, for each action of a game that has been reviewed, the agent that judged it. */
  reviewers(game) {
    return game.actions.map((_, ply) => this.lost.get(nameOf(upTo(game, ply + 1)))?.by).filter(Boolean)
  }

  /** Returns whether the known answer is as good as one that the judge would give. */
  enough(game, judge) {
    const known = this.at(game)
    return Boolean(known && (known.proven || known.simulations >= judge.simulations))
  }

  /** Returns the judge's answer, which is requested unless it is known. */
  async ask(game, judge) {
    if (this.enough(game, judge)) return this.at(game)
    const answer = await search('play', forAgent(game, judge), judge.key, { simulations: judge.simulations }, game.actions.length + 1)
    this.learn(game, answer, judge)
    return answer
  }

  get wanted() {
    return Object.values(this.shows).some(Boolean)
  }

  scores(game) {
    return Array.from({ length: game.actions.length + 1 }, (_, ply) => this.at(upTo(game, ply))?.score ?? null)
  }

  /** Returns the marks on the board: visits, priors, or both next to each other, and the expected line. */
  marks(game) {
    const known = this.at(game)
    if (!known) return null
    const shares = sharesOf(known)
    const layer = (shown, part) => (shown ? shares.map(share => [share.action, share[part]]).filter(([, share]) => share >= LEAST) : [])
    const [weights, priors] = [layer(this.shows.visits, 'share'), layer(this.shows.priors, 'prior')]
    const line = this.shows.line ? (known.line ?? []).slice(0, LINE) : []
    return weights.length || priors.length || line.length ? { weights, priors, numbered: true, line } : null
  }

  /** Describes what is known about a position, if the user has asked for it. */
  describe(game, players, possible, { reveals, over }) {
    const known = this.at(game)
    const { visits, line } = this.shows
    this.describeShares(known)
    if (!known) {
      this.words.textContent = possible ? reveals ? '' : CLOSED : 'No agent for this game can evaluate positions.'
      return
    }
    const { proven } = known
    const value = [
      `${players[0]} ${percent(known.score)}`,
      proven && (proven === 'draw' ? 'a draw with perfect play' : `${players[SIDES.indexOf(proven)]} wins with perfect play`),
    ]
    this.words.textContent = [
      ...(reveals ? value : []),
      known.simulations == null ? visits && 'perfect play needs no search' : (reveals || visits) && `${known.simulations} simulations`,
      (line || over) && known.line?.length > 0 && `line: ${known.line.slice(0, LINE + 2).join(' ')}`,
    ].filter(Boolean).join(' · ') || CLOSED
  }

  /** Shows the numbers of the actions with the most visits or the highest priors. */
  describeShares(known) {
    const { visits, priors } = this.shows
    const shares = known && (visits || priors) ? sharesOf(known) : []
    if (!visits) shares.sort((a, b) => b.prior - a.prior)
    const rows = shares.slice(0, NAMED).map(({ action, visits: count, share, prior }) => h('tr', null,
      h('th', { scope: 'row' }, action),
      visits && h('td', null, count), visits && h('td', null, percent(share)), priors && h('td', null, percent(prior))))
    const heads = ['action', visits && 'visits', visits && 'share', priors && 'prior'].filter(Boolean)
    this.shares.hidden = !rows.length
    this.shares.replaceChildren(
      h('thead', null, h('tr', null, heads.map(name => h(`th.${name}`, { scope: 'col' }, name)))), h('tbody', null, rows))
  }
}

/** Returns the actions of an answer, with their shares of the visits and their priors. */
function sharesOf({ visits = [] }) {
  const all = visits.reduce((sum, entry) => sum + entry.visits, 0) || 1
  return visits.map(({ action, visits, prior }) => ({ action, visits, share: visits / all, prior: prior ?? 0 }))
}
