// The form for a new game: which game, which opponent, and which side.
// Input: games and agents of /api/home, and earlier choices. Output: `onGame` with an id, `onOpponent`, `onSide`,
// `onNew`.

import { button, field, fill, h } from './dom.js'
import { alike, inWords, Options } from './options.js'
import { gameChoices, Picker, usual } from './picker.js'
import { token } from './source.js'
import { current } from './store.js'

const NOBODY = ['nobody', 'nobody: play both sides']

export class Setup {
  constructor({ onGame, onOpponent, onSide, onNew }) {
    this.select = h('select', { onchange: () => onGame(this.select.value) })
    this.picker = new Picker('Opponent', () => {
      this.remember()
      onOpponent()
    })
    this.you = h('select', { onchange: onSide })
    this.form = new Options(() => this.describeOptions())
    this.optionsTitle = h('summary')
    this.optionsWords = h('p.words', { role: 'status' })
    this.options = h('details', null, this.optionsTitle, this.form.element, this.optionsWords,
      button('New game with these options', onNew))
    this.element = h('section.setup', { 'aria-label': 'Game and opponent' },
      h('div.wide-field', null, field('Game', this.select)), this.picker.element, field('You play', this.you),
      button('New game', onNew, { class: 'primary' }), this.options)
  }

  /** Takes the games and agents that the program offers. */
  offer(home) {
    this.home = home
    fill(this.select, gameChoices(home.games), this.game)
    if (this.game) this.offerAgents(this.picker.state, this.picker.select.value)
  }

  /** Offers the game's agents and chooses the agent with this key or with the name in this state; returns whether that agent is available. */
  offerAgents(state, key) {
    const listed = this.home.agents[this.game] ?? []
    const others = challenged().filter(other => other.game === this.game && !listed.some(agent => agent.key === other.key))
    const remark = agent => (this.fits(agent) ? '' : `, trained with other options (${inWords(this.known, agent.options)})`)
    this.agents = [...others, ...listed].map(agent => ({ ...agent, remark: remark(agent) }))
    this.picker.offer(this.agents, Picker.usual(this.agents, true)?.key ?? NOBODY[0], [NOBODY])
    const isThere = this.picker.take(state, key)
    this.remember()
    return isThere
  }

  /** Remembers a generation that was chosen, because the program lists other generations as the run proceeds. */
  remember() {
    if (this.agent?.run != null) addChallenged(this.game, this.agent)
  }

  /** Switches to a game, with the choices that were kept for it; returns whether their opponent is available. */
  open({ id, players, options }, kept) {
    this.game = id
    this.known = options
    this.usual = usual({ options })
    this.present = kept?.record?.options ?? {}
    this.select.value = id
    const sides = [['first', players[0]], ['second', players[1]], ['both', 'both sides']]
    fill(this.you, sides, kept?.side ?? 'first')
    return this.offerAgents(kept?.opponent)
  }

  /** Returns whether this agent can play with these options. A network knows only the options that it was trained with. */
  fits(agent, options = this.present) {
    return agent.kind !== 'trained' || alike(this.known, agent.options ?? {}, options)
  }

  /** Returns the agents that may evaluate the game. Perfect play is only known to be possible with the usual options. */
  get judges() {
    const isUsual = alike(this.known, {}, this.present)
    return this.agents.filter(agent => this.fits(agent) && (isUsual || agent.kind !== 'perfect'))
  }

  /** Takes over the options of the game on the board. */
  follow(options) {
    this.present = options
    this.offerAgents(this.picker.state, this.picker.select.value)
    this.options.hidden = !this.form.show(this.known, options)
    this.describeOptions()
  }

  /** Returns the options for a new game. If the opponent cannot play with them, chooses another one and says why. */
  agree() {
    const { chosen } = this.form
    const { agent } = this
    const why = agent && !this.fits(agent, chosen) ? this.replace(agent, chosen) : ''
    // a network needs its options exactly as they are written in its files
    return { options: { ...this.usual, ...(this.agent?.kind === 'trained' ? this.agent.options : chosen) }, why }
  }

  /** Chooses an opponent that can play with these options, and says why. */
  replace(agent, options = this.present) {
    const other = Picker.usual(this.agents.filter(other => this.fits(other, options)), true)
    this.picker.choose(other?.key ?? NOBODY[0])
    return `${this.refusal(agent)} Your opponent: ${other?.name ?? 'nobody'}.`
  }

  refusal({ name, options }) {
    return `${name} was trained with other options (${inWords(this.known, options)}), so it cannot play.`
  }

  describeOptions() {
    const { chosen } = this.form
    const present = inWords(this.known, this.present)
    this.optionsTitle.textContent = `Options of the game${alike(this.known, this.present, {}) ? '' : `: ${present}`}`
    const { agent } = this
    this.optionsWords.textContent = alike(this.known, chosen, this.present) ? '' :
      ['The options take effect with the next game.', agent && !this.fits(agent, chosen) && this.refusal(agent)].filter(Boolean).join(' ')
  }

  /** The opponent; null if there is none. */
  get agent() {
    return this.picker.agent
  }

  get limits() {
    return this.picker.limits
  }

  /** Returns whether the user plays both sides. */
  get alone() {
    return this.you.value === 'both' || !this.agent
  }

  isMine(player) {
    return this.alone || player === this.you.value
  }

  /** Returns the choices to keep. */
  get choices() {
    return { side: this.you.value, opponent: this.picker.state }
  }
}

/**
 * Returns agents that were challenged or chosen, even if the program does not list them. Their keys are valid until the program restarts.
 */
function challenged() {
  const kept = current.read('challenged')
  return kept?.token === token ? kept.agents : []
}

/** Adds an agent to those that can be chosen for a game. */
export function addChallenged(game, agent) {
  const others = challenged().filter(other => other.key !== agent.key)
  current.write('challenged', { token, agents: [{ ...agent, game }, ...others] })
}
