// A form for choosing a game, an agent, and how strong it plays.
// Input: games and agents of /api/home. Output: the agent and its strength, in the form that /api/search takes.
// A level is a level of the shipped agent, from 1 to 9, and means the same on every computer.

import { field, fill, h } from './dom.js'

/** Returns the name of a game's variant; empty if it has none. */
export function variantOf({ id, name }) {
  const variant = id.slice(name.length + 1)
  return /^\d+$/.test(variant) ? `${variant} × ${variant}` : variant
}

/** Returns the name of a game with its variant. */
export function titleOf(games, id) {
  const game = games.find(game => game.id === id)
  if (!game) return id
  const variant = variantOf(game)
  return variant ? `${game.title}, ${variant}` : game.title
}

/** The groups of games whose rules are a text, by the origin of the text. */
const WRITTEN = [['text', 'Described by a text'], ['own', 'Your own'], ['run', 'Of runs']]

/** Returns the games as choices for a select: variants grouped together, then games that are described by a text. */
export function gameChoices(games) {
  const programs = games.filter(({ origin }) => origin === 'program')
  const choice = game => [game.id, titleOf(games, game.id)]
  const families = [...new Set(programs.map(game => game.title))].map(label => {
    const choices = programs.filter(game => game.title === label).map(choice)
    return choices.length > 1 ? { label, choices } : choices[0]
  })
  const written = WRITTEN.map(([wanted, label]) => ({ label, choices: games.filter(({ origin }) => origin === wanted).map(choice) }))
  return [...families, ...written.filter(({ choices }) => choices.length)]
}

/** Returns the options that a game has from the start: its text, unless the program carries that text. */
export const usual = ({ options }) => Object.fromEntries(options.filter(({ name }) => name === 'text').map(({ name, default: text }) => [name, text]))

/** Returns a remembered opponent in words. */
export const opponentOf = ({ name, strength }) => (strength?.startsWith('level-') ? `${name}, ${strength.replace('-', ' ')}` : name)

const LEVELS = [1, 2, 3, 4, 5, 6, 7, 8, 9]
const MIDDLE = 5
const OWN = {
  simulations: { label: 'Simulations', value: 300, min: 1, max: 1000000, step: 1 },
  seconds: { label: 'Seconds', value: 2, min: 0.1, max: 60, step: 0.1 },
}

export class Picker {
  constructor(label, change) {
    this.change = change
    this.agents = []
    this.select = h('select', { onchange: () => this.changed() })
    this.strength = h('select', { 'aria-label': 'Strength', onchange: () => this.changed() })
    this.number = h('input', { type: 'number', onchange: () => this.numberChanged(), hidden: true })
    this.strengthField = field('Strength', h('span.strength', null, this.strength, this.number))
    this.element = h('div.picker', null, field(label, this.select), this.strengthField)
  }

  /** Sets the agents that can be chosen; `others` are choices that are not agents. */
  offer(agents, chosen = this.select.value, others = []) {
    this.agents = agents
    const elo = agent => (agent.elo == null ? '' : ` (Elo ${Math.round(agent.elo)})`)
    const trained = agents.filter(agent => agent.kind === 'trained')
    const simple = agents.filter(agent => agent.kind !== 'trained')
    const best = agent => (agent.kind === 'perfect' && agent.levels ? ': perfect at level 9' : '')
    const choice = agent => [agent.key, agent.name + best(agent) + elo(agent) + (agent.remark ?? '')]
    const groups = [
      { label: 'Trained', choices: trained.map(choice) },
      { label: 'Without training', choices: simple.map(choice) },
      { label: 'Others', choices: others },
    ]
    fill(this.select, groups.filter(group => group.choices.length), chosen)
    this.describe()
  }

  get agent() {
    return this.agents.find(agent => agent.key === this.select.value) ?? null
  }

  /** Returns the best choice as long as the user has not chosen: an agent with levels or, for judging, the newest agent. */
  static usual(agents, levels = false) {
    const shipped = levels && agents.find(agent => agent.levels)
    if (shipped) return shipped
    const trained = agents.filter(agent => agent.kind === 'trained')
    const newest = trained.reduce((best, agent) => (best && (best.generation ?? 0) >= (agent.generation ?? 0) ? best : agent), null)
    return newest ?? agents.find(agent => agent.simulations != null) ?? agents[0] ?? null
  }

  changed() {
    this.describe()
    this.change()
  }

  /** Chooses an agent by its key, with this strength if the agent has it, or else with the agent's usual strength. */
  choose(key, strength = '') {
    this.select.value = key
    // what can be chosen depends on the agent
    this.describe()
    this.strength.value = strength
    this.describe()
  }

  describe() {
    const { agent } = this
    const { simulations, levels } = agent ?? {}
    const choices = [
      ...(levels ? LEVELS.map(level => [`level-${level}`, `Level ${level}`]) : []),
      ...(simulations == null ? [] : [
        ['usual', `Usual (${simulations} simulations)`],
        ['simulations', 'Simulations …'],
        ['seconds', 'Seconds …'],
      ]),
    ]
    const chosen = choices.find(([value]) => value === this.strength.value)?.[0]
    this.strengthField.hidden = !choices.length
    fill(this.strength, choices, chosen ?? (levels ? `level-${MIDDLE}` : 'usual'))
    const own = OWN[this.strength.value]
    this.number.hidden = !own
    if (own && this.number.dataset.kind !== this.strength.value) {
      const { label, value, ...limits } = own
      for (const [name, limit] of Object.entries(limits)) this.number.setAttribute(name, limit)
      this.number.setAttribute('aria-label', label)
      this.number.dataset.kind = this.strength.value
      this.number.value = value
    }
  }

  /** Shows the number that is used, which is the nearest permitted number. */
  numberChanged() {
    this.number.value = Object.values(this.limits)[0]
    this.changed()
  }

  /** The limits of the search in the form that /api/search takes. */
  get limits() {
    const kind = this.strength.value
    if (this.strengthField.hidden) return {}
    if (kind.startsWith('level-')) return { level: Number(kind.slice(6)) }
    if (kind === 'usual') return { simulations: this.agent.simulations }
    const { min, max } = OWN[kind]
    const number = Math.min(max, Math.max(min, Number(this.number.value) || OWN[kind].value))
    return kind === 'simulations' ? { simulations: Math.round(number) } : { seconds: number }
  }

  /** The state to remember, for `take`. */
  get state() {
    return { name: this.agent?.name ?? this.select.value, strength: this.strength.value, number: this.number.value }
  }

  /**
   * Restores a remembered state; returns whether its agent is available. A key is valid only while the program runs; after a restart, the agent
   * is found by its name.
   */
  take(state, key) {
    const agent = this.agents.find(agent => agent.key === key) ?? this.agents.find(agent => agent.name === state?.name)
    const value = agent?.key ?? state?.name
    const isThere = Boolean(state) && [...this.select.options].some(option => option.value === value)
    this.choose(isThere ? value : this.select.value, isThere ? state.strength : '')
    if (isThere && !this.number.hidden && state.number) this.number.value = state.number
    return isThere
  }
}
