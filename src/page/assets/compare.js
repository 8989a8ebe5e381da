// The view "Compare": the user watches two agents play, or steps through the games of a file.
// Input: games and agents of /api/home, games from files. Output: `playOn` with a game, `fail` with errors.
// Searches are requested one after another; when the match is paused or a new one starts, the pending answer is ignored.

import { pause, search, SIDES, stopSearch } from './api.js'
import { button, checkbox, chip, field, fill, h, sentence } from './dom.js'
import { Games, gamesOfFile } from './games.js'
import { gameChoices, Picker, usual } from './picker.js'
import { View } from './view.js'

const PAUSES = [[0, 'none'], [300, '0.3 s'], [1000, '1 s'], [2500, '2.5 s']]

export class Compare {
  constructor({ go, playOn, fail }) {
    Object.assign(this, { fail, turn: 0, running: false, record: null, number: 0, tally: [0, 0], scores: [] })
    this.view = new View({ onPly: () => this.draw() })
    this.games = new Games({ playOn, fail })
    this.game = h('select', { onchange: () => go('compare', this.game.value) })
    this.pickers = ['First agent', 'Second agent'].map(label => new Picker(label, () => this.reset()))
    this.speed = h('select')
    fill(this.speed, PAUSES, 300)
    this.on = true
    this.start = button('Start', () => (this.running ? this.stop() : this.run()), { class: 'primary' })
    this.status = h('p.status', { role: 'status', 'aria-live': 'polite' })
    this.score = h('p.tally')
    this.live = h('div.columns', { 'data-state': 'idle' },
      h('div.main', null, this.view.stage, h('div.below', null, this.status, this.score)),
      h('aside.side', null,
        h('section.setup', { 'aria-label': 'Agents' }, h('div.wide-field', null, field('Game', this.game)), this.pickers.map(picker => picker.element),
          field('Pause between actions', this.speed),
          checkbox('Play game after game, changing sides', true, on => (this.on = on)),
          h('div.buttons', null, this.start, button('New match', () => this.reset()))),
        this.view.track,
        h('div.buttons', null,
          button('Play on from here', () => playOn({ ...this.record, actions: this.record.actions.slice(0, this.view.ply) })),
          this.view.flipping,
          button('Open a match file …', () => this.load()))))
    this.file = h('div', { hidden: true },
      h('div.buttons.back', null, button('Back to the agents', () => this.showFile(null)), button('Open another file …', () => this.load())),
      this.games.element)
    this.element = h('section.compare', { 'aria-label': 'Compare' }, this.live, this.file)
  }

  offerHome(home) {
    const text = JSON.stringify([home.games, home.agents])
    if (text === this.homeText) return
    Object.assign(this, { home, homeText: text })
    const able = home.games.filter(game => (home.agents[game.id] ?? []).length)
    fill(this.game, gameChoices(able.length ? able : home.games), this.game.value)
    if (this.record) this.pickers.forEach(picker => {
      const { state, agent, select: { value } } = picker
      // as a run proceeds, the program lists other generations; a generation that was chosen stays listed
      const isGone = agent?.run != null && !this.agents.some(({ key }) => key === value)
      picker.offer(isGone ? [agent, ...this.agents] : this.agents)
      picker.take(state, value)
    })
  }

  get agents() {
    return this.home.agents[this.game.value] ?? []
  }

  /** Shows the game with this id. */
  open(id) {
    if (id === 'games' && this.games.games.length) return
    this.showFile(null)
    if (id && [...this.game.options].some(option => option.value === id) && id !== this.record?.game) this.game.value = id
    if (this.record?.game !== this.game.value) this.offerAgents()
  }

  offerAgents() {
    const { agents } = this
    const best = Picker.usual(agents)
    const other = agents.find(agent => agent !== best && agent.simulations != null) ?? best
    this.pickers[0].offer(agents, best?.key)
    this.pickers[1].offer(agents, other?.key)
    this.reset()
  }

  /** Starts a new match. */
  reset() {
    this.halt()
    Object.assign(this, { tally: [0, 0], number: 0 })
    return this.nextGame()
  }

  nextGame() {
    const game = this.home.games.find(({ id }) => id === this.game.value)
    this.record = { game: game.id, options: { ...usual(game), ...this.pickers[0].agent?.options }, start: null, actions: [] }
    this.scores = []
    this.view.set(this.record, { scores: [] })
    this.over = false
    return this.draw()
  }

  /** Returns the picker of the agent that plays this side in the current game. */
  playing(side) {
    return this.pickers[(SIDES.indexOf(side) + this.number) % 2]
  }

  async run() {
    if (this.over) {
      this.number++
      await this.nextGame()
    }
    const turn = ++this.turn
    this.setRunning(true)
    try {
      await this.stopping
      while (turn === this.turn) {
        if (!this.element.isConnected) return this.stop()
        const last = await this.view.position(this.record.actions.length)
        if (turn !== this.turn) return
        if (last.over) {
          this.count(last.over.outcome)
          await this.draw()
          if (!this.on) return this.setRunning(false)
          await pause(Math.max(1500, Number(this.speed.value)))
          if (turn !== this.turn) return
          this.number++
          await this.nextGame()
          continue
        }
        await this.step(last.to_move, turn)
      }
    } catch (error) {
      if (turn !== this.turn) return
      this.setRunning(false)
      this.status.textContent = error.message
    }
  }

  async step(side, turn) {
    const { agent, limits } = this.playing(side)
    if (!agent) throw new Error('There is no agent for this game. Give petteia serve a run, or choose another game.')
    const ply = this.record.actions.length
    this.searching = { game: { ...this.record }, agent: agent.key }
    const [answer] = await Promise.all([
      search('compare', this.record, agent.key, limits, 1000 * (this.number + 1) + ply), pause(ply ? Number(this.speed.value) : 0),
    ])
    if (turn !== this.turn) return
    this.searching = null
    const follow = this.view.ply === ply
    this.scores[ply] = answer.score
    this.record.actions = [...this.record.actions, answer.action]
    this.view.set(this.record, { ply: follow ? ply + 1 : this.view.ply, scores: this.scores })
    await this.draw()
  }

  count(outcome) {
    this.over = true
    const points = { first: [1, 0], second: [0, 1], draw: [0.5, 0.5] }[outcome]
    this.tally = this.tally.map((sum, index) => sum + points[(index + this.number) % 2])
  }

  /** Ignores the pending answer. */
  halt() {
    this.turn++
    this.setRunning(false)
    if (this.searching) this.stopping = stopSearch('compare', this.searching.game, this.searching.agent)
    this.searching = null
  }

  stop() {
    this.halt()
    this.draw()
  }

  setRunning(running) {
    this.running = running
    this.start.textContent = running ? 'Pause' : 'Start'
    this.live.dataset.state = running ? 'running' : 'idle'
  }

  async draw() {
    try {
      const position = await this.view.render()
      if (!position) return
      const { players, colors } = position
      const mover = SIDES.indexOf(position.to_move)
      const name = side => this.playing(SIDES[side]).agent?.name ?? 'nobody'
      const past = this.view.ply < this.view.length
      const text = position.over ? `${sentence(position.over.text)}.` :
        past ? `${players[mover]} plays ${this.record.actions[this.view.ply]}.` : `${this.last(players)}${players[mover]} ${this.running ? 'thinks …' : 'to move.'}`
      const shown = position.over ? SIDES.indexOf(position.over.outcome) : mover
      this.status.replaceChildren(...(shown < 0 ? [] : [chip(colors[shown])]), h('span', null, text))
      const points = index => String(this.tally[index]).replace('.5', '½').replace(/^0½/, '½')
      this.score.replaceChildren(`Game ${this.number + 1}: `, chip(colors[0]), ` ${name(0)} against `, chip(colors[1]), ` ${name(1)}. `,
        ...(this.tally[0] + this.tally[1] > 0 ? [`First agent ${points(0)}, second agent ${points(1)}.`] : []))
    } catch (error) {
      this.status.textContent = error.message
    }
  }

  /** Returns the last action in words, for people who listen to the game. */
  last(players) {
    const at = this.view.length - 1
    return at < 0 ? '' : `${players[SIDES.indexOf(this.view.movers[at])]} played ${this.view.described(at)}. `
  }

  async load() {
    try {
      this.showFile(await gamesOfFile())
    } catch (error) {
      this.fail(error)
    }
  }

  /** Shows games instead of the agents; null shows the agents again. */
  showFile(games) {
    this.file.hidden = !games
    this.live.hidden = Boolean(games)
    if (!games) return
    this.stop()
    this.games.set(games)
  }
}
