// What is played, against whom, on which side.
// In: games and agents of /api/home, and what was chosen before. Out: `onGame` with an id, `onOpponent`, `onSide`, `onNew`.

import { token } from './api.js'
import { button, field, fill, h } from './dom.js'
import { gameChoices, Picker } from './picker.js'
import { current } from './store.js'

const NOBODY = ['nobody', 'nobody: play both sides']

export class Setup {
  constructor({ onGame, onOpponent, onSide, onNew }) {
    this.select = h('select', { onchange: () => onGame(this.select.value) })
    this.picker = new Picker('Opponent', onOpponent)
    this.you = h('select', { onchange: onSide })
    this.element = h('section.setup', { 'aria-label': 'Game and opponent' },
      h('div.wide-field', null, field('Game', this.select)), this.picker.element, field('You play', this.you),
      button('New game', onNew, { class: 'primary' }))
  }

  /** Takes up what the program offers. */
  offer(home) {
    this.home = home
    fill(this.select, gameChoices(home.games), this.game)
    if (this.game) this.offerAgents(this.picker.state, this.picker.select.value)
  }

  /** Offers the game's agents, and chooses the one of this key, or of this name. */
  offerAgents(state, key) {
    const listed = this.home.agents[this.game] ?? []
    const others = challenged().filter(other => other.game === this.game && !listed.some(agent => agent.key === other.key))
    this.agents = [...others, ...listed]
    this.picker.offer(this.agents, Picker.usual(this.agents)?.key ?? NOBODY[0], [NOBODY])
    this.picker.take(state, key)
  }

  /** Goes to a game, with the choices kept for it. */
  open({ id, players }, kept) {
    this.game = id
    this.select.value = id
    const sides = [['first', players[0]], ['second', players[1]], ['both', 'both sides']]
    fill(this.you, sides, kept?.side ?? 'first')
    this.offerAgents(kept?.opponent)
  }

  /** The opponent; null if there is none. */
  get agent() {
    return this.picker.agent
  }

  get limits() {
    return this.picker.limits
  }

  /** Does the user play both sides? */
  get alone() {
    return this.you.value === 'both' || !this.agent
  }

  isMine(player) {
    return this.alone || player === this.you.value
  }

  /** What to keep. */
  get choices() {
    return { side: this.you.value, opponent: this.picker.state }
  }
}

/** Agents that were challenged and that the program may not list; their keys hold until it is started anew. */
function challenged() {
  const kept = current.read('challenged')
  return kept?.token === token ? kept.agents : []
}

/** Makes an agent one of those that can be chosen for a game. */
export function addChallenged(game, agent) {
  const others = challenged().filter(other => other.key !== agent.key)
  current.write('challenged', { token, agents: [{ ...agent, game }, ...others] })
}
