// A game on the screen: board, evaluation bar, value graph, list of actions, and buttons for stepping through the game. Input: a game ({game,
// options, start, actions}), scores, what its actions lost, which ply to show, marks for that ply, whether the board can be used, and whether
// there is a button to flip it (`flipping`, which the user of this class places). Output: `onAction` (a text), `onPly` (the user went to another
// ply), `onSelection` (actions that must be chosen by text), `onMiss` (a click that is not an action), `onIdle` (a click on a board that cannot
// be used).

import { only, post, upTo } from './api.js'
import { Board } from './board.js'
import { button, chip, fill, h, percent, s } from './dom.js'
import { Graph } from './graph.js'

/** The first player's score for each outcome. */
const SCORES = { first: 1, second: 0, draw: 0.5 }
/** The space above and below the current action in the list, in pixels. */
const GAP = 5
const SPEEDS = [[2000, 'slow'], [1000, 'medium'], [400, 'fast'], [120, 'very fast']]

export class View {
  constructor({ onAction, onSelection, onMiss, onIdle, onPly = () => {}, playback = false, flips = true } = {}) {
    Object.assign(this, { onPly, game: null, ply: 0, scores: [], mistakes: [], cache: new Map(), turn: 0, movers: [], listed: [], timer: null, seat: {} })
    this.flipping = flips && button('Flip board', () => this.flip(), { title: 'See the board from the other side (f)', 'aria-keyshortcuts': 'f' })
    if (flips) document.addEventListener('keydown', event => this.keydown(event))
    this.board = new Board({ onAction, onSelection, onMiss, onIdle })
    this.graph = new Graph(ply => this.go(ply))
    this.barPart = s('rect', { x: 0, width: 10 })
    this.barRest = s('rect', { x: 0, y: 0, width: 10, height: 100 })
    this.barText = h('span.bar-text')
    this.bar = h('div.bar', { role: 'meter', 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-label': 'Expected score of the first player' },
      s('svg.board', { viewBox: '0 0 10 100', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, this.barRest, this.barPart,
        s('path.bar-middle', { d: 'M0 50H10' })),
      this.barText)
    this.note = h('p.note')
    this.stage = h('div.stage', null, h('div.board-row', null, this.bar, this.board.element), this.note)
    this.buildTrack(playback)
  }

  buildTrack(playback) {
    const step = (text, label, to) => button(text, () => this.go(to()), { 'aria-label': label, title: label })
    this.where = h('span.where')
    this.playing = playback && button('Play', () => this.toggle())
    this.speed = playback && h('select', { 'aria-label': 'Speed' })
    if (playback) fill(this.speed, SPEEDS, 1000)
    this.steps = [
      step('«', 'To the start', () => 0),
      step('‹', 'Back', () => this.ply - 1),
      step('›', 'Forward', () => this.ply + 1),
      step('»', 'To the end', () => this.length),
    ]
    this.moves = h('ol.moves', { 'aria-label': 'Actions of the game' })
    this.track = h('section.track', { 'aria-label': 'The game so far' },
      this.graph.element,
      h('div.steps', null, this.steps, this.where, this.playing, this.speed),
      this.moves)
  }

  get length() {
    return this.game?.actions.length ?? 0
  }

  /** Sets the game; keeps what is known about positions that are still part of it. */
  set(game, { ply = game.actions.length, scores = [] } = {}) {
    const before = this.game
    const alike = before && ['game', 'start', 'options'].every(key => JSON.stringify(before[key] ?? null) === JSON.stringify(game[key] ?? null))
    let common = 0
    while (alike && common < before.actions.length && before.actions[common] === game.actions[common]) common++
    for (const known of this.cache.keys()) if (!alike || known > common) this.cache.delete(known)
    // a resignation changes the position, so its cached answer is dropped
    if (before?.resigned || game.resigned) this.cache.delete(Math.min(before?.actions.length ?? 0, game.actions.length))
    Object.assign(this, { game: { ...game, actions: [...game.actions] }, scores, ply: Math.min(ply, game.actions.length) })
  }

  /** Shows the board from the side of `viewer`, or from the other side if `flipped`. */
  sit(viewer, flipped) {
    if (this.seat.viewer === viewer && this.seat.flipped === flipped) return
    this.seat = { viewer, flipped }
    this.cache.clear()
  }

  /** Shows the board from the other side. */
  flip() {
    this.sit('first', !this.seat.flipped)
    this.onPly(this.ply)
  }

  keydown(event) {
    if (event.key !== 'f' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, select, textarea')) return
    // a hidden view has no board on the screen
    if (!this.game || this.flipping.hidden || !this.stage.getClientRects().length) return
    event.preventDefault()
    this.flip()
  }

  /** Requests a position, seen from the user's side. */
  ask(game, extra) {
    return post('position', { ...only(game), ...this.seat, ...extra })
  }

  /** Resolves to the position after `ply` actions; a position with marks is always requested again. */
  position(ply, marks) {
    const ask = () => this.ask(upTo(this.game, ply), marks)
    if (marks) return ask()
    if (!this.cache.has(ply)) {
      const answer = ask()
      const { cache } = this
      answer.catch(() => cache.get(ply) === answer && cache.delete(ply))
      cache.set(ply, answer)
    }
    return this.cache.get(ply)
  }

  /** Goes to a ply at the user's request. */
  go(ply) {
    const to = Math.min(this.length, Math.max(0, ply))
    if (to === this.ply) return
    this.ply = to
    this.onPly(to)
  }

  /** Draws the current position; resolves to it, or to null if something newer has replaced it. */
  async render({ usable = () => false, marks = null } = {}) {
    const turn = ++this.turn
    const { ply } = this
    const [position, whole] = await Promise.all([this.position(ply, marks), this.position(this.length)])
    if (turn !== this.turn) return null
    this.movers = whole.movers
    this.words = whole.words
    this.ending = whole.over && SCORES[whole.over.outcome]
    this.board.show(position, usable(whole))
    this.note.textContent = position.note
    this.shown = position
    this.drawMoves(position)
    this.drawValues()
    const held = this.steps.indexOf(document.activeElement)
    this.steps.forEach((step, index) => (step.disabled = index < 2 ? ply === 0 : ply === this.length))
    // at either end of the game, the focus goes to the button that leads back
    if (this.steps[held]?.disabled) this.steps[held < 2 ? 2 : 1].focus()
    this.where.textContent = `${ply} of ${this.length}`
    if (this.flipping) {
      this.flipping.hidden = position.upright
      this.flipping.setAttribute('aria-pressed', String(Boolean(this.seat.flipped)))
    }
    return position
  }

  /** Redraws what is known about the game. */
  refresh() {
    if (!this.shown) return
    this.drawMoves(this.shown)
    this.drawValues()
  }

  drawValues() {
    if (!this.shown) return
    const { players, colors, over, turned } = this.shown
    // until a position is evaluated, the previous position's score is the best guess
    const score = over ? SCORES[over.outcome] : this.scores[this.ply] ?? this.scores[this.ply - 1]
    const part = 100 * (score ?? 0.5)
    this.barRest.setAttribute('class', score == null ? 'bar-unknown' : colors[1])
    this.barPart.setAttribute('class', score == null ? 'bar-unknown' : colors[0])
    this.barPart.setAttribute('y', turned ? 0 : 100 - part)
    this.barPart.setAttribute('height', part)
    this.barText.textContent = score == null ? '' : Math.round(part)
    const label = score == null ? 'not evaluated' : `${players[0]} ${percent(score)}`
    this.bar.title = `Expected score: ${label}`
    this.bar.setAttribute('aria-valuenow', Math.round(part))
    this.bar.setAttribute('aria-valuetext', label)
    const scores = this.ending == null ? this.scores : Object.assign([...this.scores], { [this.length]: this.ending })
    this.graph.show(scores, this.length, this.ply, players[0], this.mistakes)
  }

  /** Returns an action of the game as text, with words if the game has them. */
  described(index) {
    const text = this.game.actions[index]
    const words = this.words?.[index]
    return words ? `${text} (${words})` : text
  }

  /** Resolves to an action of the game as it is announced: with its words or with the name of the piece that acted. */
  async announced(index) {
    const text = this.game.actions[index]
    if (this.words?.[index]) return this.described(index)
    const { legal, names } = await this.position(index)
    const [from] = legal.find(action => action.text === text)?.places ?? []
    const piece = from && names[from[0]][from[1]]
    return piece && piece !== 'empty' ? `${text} (${piece})` : text
  }

  drawMoves({ players, colors }) {
    const entry = (text, index) => {
      const mover = this.movers[index] === 'second' ? 1 : 0
      const lost = this.mistakes[index] && Math.round(100 * (this.mistakes[index].could - this.mistakes[index].got))
      const title = `${index + 1}. ${players[mover]}: ${this.described(index)}${lost ? `, lost ${lost} points` : ''}`
      return h('li', null, h('button.move', { type: 'button', title, onclick: () => this.go(index + 1) },
        chip(colors[mover]), h('span', null, text), lost && h('span.lost', null, ` −${lost}`)))
    }
    // list entries that are still correct are kept
    const { actions } = this.game
    const names = actions.map((text, index) => `${this.movers[index]} ${text} ${players} ${JSON.stringify(this.mistakes[index] ?? null)}`)
    const differs = names.findIndex((name, index) => name !== this.listed[index])
    const same = differs < 0 ? names.length : differs
    while (this.moves.children.length > same) this.moves.lastChild.remove()
    this.moves.append(...actions.slice(same).map((text, index) => entry(text, same + index)))
    this.listed = names
    this.moves.querySelector('[aria-current]')?.removeAttribute('aria-current')
    const current = this.moves.children[this.ply - 1]?.firstChild
    current?.setAttribute('aria-current', 'step')
    this.follow(current)
  }

  /** Scrolls only the list, just enough to show the current action. */
  follow(current) {
    const { moves } = this
    if (!current) return void (moves.scrollTop = 0)
    const [list, box] = [moves, current].map(element => element.getBoundingClientRect())
    const [above, below] = [list.top + GAP - box.top, box.bottom - list.bottom + GAP]
    if (above > 0) moves.scrollTop -= above
    else if (below > 0) moves.scrollTop += below
  }

  /** Starts or stops stepping through the game. */
  toggle(on = !this.timer) {
    clearTimeout(this.timer)
    this.timer = null
    if (on && this.length) {
      if (this.ply === this.length) this.go(0)
      this.tick()
    }
    this.playing.textContent = this.timer ? 'Pause' : 'Play'
  }

  tick() {
    this.timer = setTimeout(() => {
      this.go(this.ply + 1)
      if (this.ply < this.length && this.stage.isConnected) this.tick()
      else this.toggle(false)
    }, Number(this.speed.value))
  }
}
