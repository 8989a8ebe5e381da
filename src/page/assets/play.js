// The view "Play": a person against an agent, or two people.
// Input: games and agents of /api/home, and a game to continue. Output: `go` to another place, `openGames` to view
// games.
// The page holds the game. If the game changes before an answer arrives, the answer is dropped (`turn`).

import { forAgent, only, post, search, SIDES, stopSearch, upTo } from './api.js'
import { Analysis } from './analysis.js'
import { Choices } from './choices.js'
import { Controls } from './controls.js'
import { button, field, h, sentence } from './dom.js'
import { How, howToAct } from './how.js'
import { opponentOf, titleOf, usual } from './picker.js'
import { common, fresh, variationOf } from './record.js'
import { Review } from './review.js'
import { addChallenged, Setup } from './setup.js'
import { Shelf } from './shelf.js'
import { begins, current, newId, own } from './store.js'
import { endOf, idleOf, newsOf, pastOf, turnOf } from './told.js'
import { View } from './view.js'

export class Play {
  constructor({ go, openGames, learn, fail }) {
    Object.assign(this, { go, openGames, learn, fail, turn: 0, looks: 0, thinking: null, reviewing: false })
    Object.assign(this, { hint: null, names: SIDES, flipped: false, note: '', over: false, asked: false })
    this.analysis = new Analysis(() => {
      this.hint = null
      this.look()
    })
    this.shelf = new Shelf({
      record: () => this.record,
      seen: () => this.seen,
      knows: id => this.home.games.some(game => game.id === id),
      titleOf: id => titleOf(this.home.games, id),
      start: text => this.newGame(text),
      load: (games, look) => (games.length === 1 && !look ? this.take(games[0]) : openGames(games)),
      resume: game => this.take(game, game.choices),
      say: text => this.say(text),
      fail,
    })
    this.setup = new Setup({
      onGame: id => go('play', id),
      onOpponent: () => this.opponentChanged(),
      onSide: () => this.sideChanged(),
      onNew: () => this.newGame(),
    })
    this.how = new How()
    this.review = new Review({ analysis: this.analysis, onPly: ply => this.view.go(ply) })
    this.choices = new Choices(text => this.act(text))
    this.controls = new Controls({
      look: () => this.lookAtGame(),
      repeat: () => this.newGame(),
      undo: () => this.undo(),
      hint: () => this.showHint(),
      flip: () => this.flip(),
      now: () => this.moveNow(),
      here: () => this.playFromHere(),
      again: () => this.update(),
      resign: () => this.resign(),
      back: () => this.leaveVariation(),
    }, this.choices)
    this.view = new View({
      flips: false,
      onAction: text => this.act(text),
      onSelection: selection => this.choices.show(selection, this.view.board),
      onMiss: text => this.explain(text),
      onIdle: () => this.explainIdle(),
      onPly: () => this.look(),
    })
    this.element = h('section.play.columns', { 'aria-label': 'Play', 'data-state': 'busy' },
      h('div.main', null, this.view.stage, this.controls.element), this.buildSide())
    document.addEventListener('keydown', event => this.keydown(event))
    // save the game now: the tab may never be opened again
    window.addEventListener('pagehide', () => this.shelve())
  }

  buildSide() {
    this.typed = h('input', { type: 'text', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' })
    const typing = h('form.row', { onsubmit: event => { event.preventDefault(); this.act(this.typed.value.trim(), true) } },
      field('Type an action', this.typed), h('button', { type: 'submit' }, 'Play it'))
    this.whole = button('Review the game so far', () => this.lookAtGame())
    this.folded = h('details.fold', null, this.analysis.title, this.analysis.words, this.analysis.element,
      h('div.buttons', null, this.whole))
    return h('aside.side', null, this.view.track, this.review.element, this.how.element, this.shelf.rules, this.folded,
      this.setup.element, typing, this.shelf.files, this.shelf.games)
  }

  // --- choices ---

  /** Takes the games and agents that the program offers. */
  offerHome(home) {
    const text = JSON.stringify([home.games, home.agents])
    if (text === this.homeText) return
    Object.assign(this, { home, homeText: text })
    this.setup.offer(home)
    if (this.record) this.offerAnalysts()
  }

  /** Offers analysts: only agents that know the game with these options can evaluate it. */
  offerAnalysts() {
    this.analysis.offer(this.setup.judges)
  }

  get judge() {
    return this.analysis.judge(this.setup.agent)
  }

  /** Shows the game with this id: the one in progress or a new one. */
  open(id) {
    const known = this.home.games.find(game => game.id === id)
    if (!known) return this.record ? this.go('play', this.record.game) : this.go('games')
    if (this.record?.game === id) return this.look()
    this.shelve()
    const kept = current.read(`play.${id}`)
    this.record = kept?.record ?? fresh(id, usual(known))
    this.element.dataset.game = id
    this.names = known.players
    this.flipped = Boolean(kept?.flipped)
    this.note = ''
    this.how.show(known)
    const isThere = this.setup.open(known, kept)
    const { agent } = this.setup
    if (kept?.opponent && !isThere) this.note = `${kept.opponent.name} is no longer available. Your opponent: ${agent?.name ?? 'nobody'}.`
    if (!kept) Object.assign(this.record.options, agent?.options)
    else if (agent && !this.setup.fits(agent)) this.note = this.setup.replace(agent)
    this.shelf.rules.open = false
    return this.begin()
  }

  begin() {
    // the opponent's varied replies in the first plies follow from the seed: they are the same after an undo and
    // different in the next game
    this.seed = Math.floor(Math.random() * 2 ** 32)
    this.setup.follow(this.record.options ?? {})
    this.offerAnalysts()
    this.shelf.show()
    return this.changed()
  }

  /** Starts a new game with the chosen options. If the program rejects the position, the current game stays. */
  async newGame(start = null) {
    const { options, why } = this.setup.agree()
    const record = fresh(this.record.game, options, start)
    const { turn } = this
    try {
      if (start !== null) await post('position', only(record))
    } catch (error) {
      return this.fail(error)
    }
    if (turn !== this.turn || this.record.game !== record.game) return
    this.startOver(record, why)
    return this.begin()
  }

  /** Puts another game on the board and says where to find the previous one. */
  startOver(record, why) {
    const isKept = this.shelve()
    this.record = record
    this.note = [why, isKept && 'The previous game is under “Your games”.'].filter(Boolean).join(' ')
  }

  /**
   * Keeps the game in progress among the user's own games before another game replaces it. Does nothing if the user has not
   * played in it, or if it has ended and so is already there. Returns whether the game was kept.
   */
  shelve(game = this.record?.game) {
    const { record, ...choices } = (game && current.read(`play.${game}`)) || {}
    if (!record?.own || record.over || !record.actions.length) return false
    this.put(record, choices, { outcome: null, text: 'not finished' })
    return true
  }

  /** Puts a game among the user's own games, with what is known about it. */
  put(record, choices, { outcome, text }) {
    const alone = choices.side === 'both' || choices.opponent.name === 'nobody'
    this.shelf.put({
      ...only(record), id: record.id, date: outcome == null ? null : record.date, outcome, text, choices, main: record.main,
      opponent: alone ? null : opponentOf(choices.opponent), scores: this.analysis.scores(record),
    })
  }

  /** Continues a game from elsewhere where it was left; without earlier choices, the user takes the side to move. */
  async take({ game, options, start, actions, resigned, id, outcome, date, main }, choices = null) {
    const record = { ...fresh(game, options ?? {}, start ?? null), actions, resigned: resigned ?? null, main }
    const over = outcome != null
    if (choices && id) Object.assign(record, { id, own: true, over, date: over ? date : null })
    try {
      if (!this.home.games.some(({ id }) => id === game)) await this.learn(record)
      const { to_move: side } = await post('position', only(record))
      this.replace(record, choices ?? { ...current.read(`play.${game}`), side })
    } catch (error) {
      this.fail(error)
    }
  }

  /** Puts a game on the board, or a later state of the same game if this tab has one. */
  replace(record, choices) {
    const held = current.read(`play.${record.game}`)
    const goesOn = held?.record?.id === record.id && begins(held.record, record) && held.record.actions.length > record.actions.length
    for (const game of new Set([this.record?.game, record.game])) if (game) this.shelve(game)
    current.write(`play.${record.game}`, goesOn ? held : { ...choices, record })
    // pending answers belong to another game
    this.nextTurn()
    this.looks++
    this.record = null
    this.go('play', record.game)
  }

  /** Starts a new game against an agent that was chosen elsewhere. */
  challenge(game, agent) {
    addChallenged(game, agent)
    const kept = current.read(`play.${game}`)
    const known = this.home.games.find(({ id }) => id === game)
    const record = fresh(game, { ...(known && usual(known)), ...agent.options })
    this.replace(record, { side: kept?.side ?? 'first', opponent: { name: agent.name, strength: 'usual' } })
  }

  opponentChanged() {
    const { agent } = this.setup
    if (!agent || this.setup.fits(agent)) return this.changed()
    const hadActions = this.record.actions.length > 0
    const why = hadActions && 'This opponent was trained with other options, so a new game begins.'
    this.startOver(fresh(this.record.game, { ...this.setup.usual, ...agent.options }), why)
    return this.begin()
  }

  sideChanged() {
    this.flipped = false
    return this.changed()
  }

  /** Sets the side from which the board is seen, if the game's board has sides. */
  sit() {
    this.view.sit(this.setup.alone ? 'first' : this.setup.you.value, this.flipped)
  }

  flip() {
    if (this.controls.buttons.flip.hidden) return
    this.flipped = !this.flipped
    this.keep()
    this.sit()
    return this.look()
  }

  // --- the course of the game ---

  /** Begins a turn of the game; from then on, answers to earlier requests are dropped. */
  nextTurn() {
    this.reviewing = false
    return ++this.turn
  }

  /** Saves the changed game and continues with it. */
  changed() {
    this.hint = null
    this.asked = this.over = false
    this.keep()
    return this.update()
  }

  keep() {
    current.write(`play.${this.record.game}`, { record: this.record, ...this.setup.choices, flipped: this.flipped })
  }

  get atEnd() {
    return this.view.ply === this.record.actions.length
  }

  /** Returns the game up to the position on display. */
  get seen() {
    return upTo(this.record, this.view.ply)
  }

  /** Does what comes next in the game; if `ply` is given, the display stays at that ply. */
  async update(ply = this.record.actions.length) {
    const turn = this.nextTurn()
    this.setState('busy')
    await this.stopThinking()
    if (turn !== this.turn) return
    this.sit()
    this.view.set(this.record, { ply })
    try {
      const last = await this.view.position(this.record.actions.length)
      if (turn !== this.turn) return
      this.over = Boolean(last.over)
      this.analysis.follow(this.over)
      if (!last.over && !this.setup.isMine(last.to_move)) return await this.think(turn)
      if (last.over) this.finish(last.over)
      await this.look()
    } catch (error) {
      if (turn === this.turn) this.failed(error)
    }
  }

  /** Returns whether values are shown: when the user has asked for them or the game is over. */
  get reveals() {
    return this.over || this.asked || this.analysis.shows.evaluation
  }

  get scores() {
    return this.reveals ? this.analysis.scores(this.record) : []
  }

  /** Returns what the actions of the game lost, if values are shown. */
  get mistakes() {
    return this.reveals ? this.analysis.mistakes(this.record) : []
  }

  /** Passes the values that are shown to the view. */
  showValues() {
    Object.assign(this.view, { scores: this.scores, mistakes: this.mistakes })
  }

  /** Draws the position on display, and evaluates it if that is wanted and no other search is running. */
  async look() {
    const look = ++this.looks
    try {
      const drawn = await this.draw()
      if (!drawn || this.thinking || this.reviewing || !(this.reveals || this.analysis.wanted) || !this.judge) return
      const { seen, turn } = this
      if (this.view.shown.over || this.analysis.enough(seen, this.judge)) return
      await this.analysis.ask(seen, this.judge)
      if (turn !== this.turn || look !== this.looks) return
      // redraw only if nothing is selected, to keep a selection on the board
      if (this.marks() && !this.view.board.clicked.length) await this.draw()
      else this.drawValues()
    } catch (error) {
      if (look === this.looks) this.say(sentence(error.message), -1, true)
    }
  }

  async draw() {
    const usable = last => this.atEnd && !this.thinking && !last.over && this.setup.isMine(last.to_move)
    const { turn } = this
    this.showValues()
    const position = await this.view.render({ usable, marks: this.marks() })
    if (!position) return null
    const drawn = this.view.turn
    const news = await newsOf(this)
    // by now, the game may have moved on, or another position may be shown
    if (turn !== this.turn || drawn !== this.view.turn) return null
    this.names = position.players
    this.shelf.position.value = position.position
    this.describe(position, news)
    return position
  }

  /** Draws what is known about the game and leaves the board as it is. */
  drawValues() {
    this.showValues()
    this.view.refresh()
    this.describeAnalysis()
  }

  /** Searches every position of the game, marks the actions that lost a lot, and goes to the first of them. */
  async lookAtGame() {
    if (this.reviewing || !this.judge) return
    const { turn, record } = this
    const goesOn = () => turn === this.turn
    this.asked = true
    try {
      if (this.analysis.reviewers(record).length < record.actions.length) {
        this.reviewing = true
        await this.review.run(record, this.judge, goesOn, () => this.drawValues())
        if (!goesOn()) return
        this.reviewing = false
        if (this.over) own.note(only(record), { scores: this.analysis.scores(record) })
      }
      const first = this.mistakes.findIndex(Boolean)
      if (first >= 0 && this.atEnd) this.view.go(first)
      else await this.look()
    } catch (error) {
      if (!goesOn()) return
      this.reviewing = false
      this.fail(error)
    }
  }

  /** Returns the marks on the board: the hint, what the analysis shows, or an action that lost a lot and a better one. */
  marks() {
    if (this.hint && this.atEnd) return { weights: [[this.hint, 1]] }
    const { ply } = this.view
    const mistake = this.mistakes[ply]
    return this.analysis.marks(this.seen) ?? (mistake ? { weights: [[mistake.better, 1]], priors: [[this.record.actions[ply], 1]] } : null)
  }

  /** Lets the agent take its turn. */
  async think(turn) {
    const { actions } = this.record
    const { agent } = this.setup
    const game = forAgent({ ...this.record }, agent)
    this.thinking = { game, agent: agent.key }
    this.look()
    const { limits } = this.setup
    const answer = await search('play', game, agent.key, { ...limits, vary: true }, this.seed)
    if (turn !== this.turn) return
    this.thinking = null
    // a level's evaluation of a position is not worth showing
    if (!limits.level) this.analysis.learn(this.record, answer, agent)
    const ply = this.atEnd ? actions.length + 1 : this.view.ply
    this.record.actions = [...actions, answer.action]
    this.keep()
    await this.update(ply)
  }

  /** Makes the agent answer with the best action that it has found so far. */
  moveNow() {
    this.controls.buttons.now.disabled = true
    this.focusBoard()
    return stopSearch('play', this.thinking.game, this.thinking.agent)
  }

  /** Ends the agent's search if its answer is no longer wanted. */
  async stopThinking() {
    const { thinking } = this
    this.thinking = null
    if (thinking) await stopSearch('play', thinking.game, thinking.agent)
  }

  /** Plays the user's action, whether clicked or typed. */
  async act(text, typed = false) {
    if (!text || !this.atEnd || this.thinking) return
    const turn = this.nextTurn()
    const { actions } = this.record
    const { seat } = this.view
    this.setState('busy')
    try {
      const position = await this.view.ask({ ...this.record, actions: [...actions, text] })
      if (turn !== this.turn) return
      this.typed.value = ''
      this.note = ''
      Object.assign(this.record, { actions: position.actions, own: true, over: false, date: null })
      this.record.id ??= newId()
      this.view.set(this.record)
      if (seat === this.view.seat) this.view.cache.set(position.actions.length, Promise.resolve(position))
      await this.changed()
    } catch (error) {
      if (turn !== this.turn) return
      if (!typed) await this.update()
      this.setState('yours')
      this.say(sentence(error.message), -1, true)
    }
  }

  /** Says why an attempted action is not legal, if the rules give a reason; otherwise says what is possible. */
  async explain(tried) {
    const { turn } = this
    const { why } = tried ? await this.view.ask(this.record, { tried }).catch(() => ({})) : {}
    if (turn !== this.turn || !this.atEnd) return
    if (why) this.say(`Not possible: ${why}.`, -1, true)
    else this.say(howToAct(this.view.board))
  }

  /** Says why the board cannot be used. */
  explainIdle() {
    const why = idleOf(this)
    if (why) this.say(why)
  }

  /** Takes back the user's last action and everything after it. */
  async undo() {
    if (!this.record.actions.length || !this.atEnd) return
    this.note = ''
    if (this.record.resigned) return this.playFromHere()
    const { movers } = await this.view.position(this.record.actions.length)
    const last = movers.findLastIndex(mover => this.setup.isMine(mover))
    if (last < 0) return
    own.forget(this.record)
    // a game that has ended stays among the user's games, and the game without the actions taken back is a new one
    if (this.record.over) this.record.id = newId()
    Object.assign(this.record, { actions: this.record.actions.slice(0, last), over: false })
    await this.changed()
  }

  /** Resigns for the user or, if the user plays both sides, for the side to move. */
  async resign() {
    const { to_move: mover } = await this.view.position(this.record.actions.length)
    Object.assign(this.record, { resigned: this.setup.alone ? mover : this.setup.you.value, own: true, date: null })
    await this.changed()
  }

  focusBoard() {
    this.view.board.element.focus({ preventScroll: true })
  }

  /** Drops the hint, the question about resigning, and the selection on the board. */
  clear() {
    if (!this.controls.asking.hidden) this.controls.askResign(false)
    this.view.board.clear()
    if (!this.hint) return
    this.hint = null
    this.look()
  }

  /** Begins a variation at the position on display; a game that was resigned continues instead. */
  playFromHere() {
    this.shelve()
    this.note = ''
    this.record = this.atEnd ? { ...this.record, resigned: null, over: false, id: newId() } : variationOf(this.record, this.view.ply)
    this.shelf.show()
    return this.changed()
  }

  /** Puts the game back on the board, at the point where the variation begins. */
  leaveVariation() {
    const ply = common(this.record)
    this.shelve()
    this.note = ''
    this.record = this.record.main
    this.hint = null
    this.asked = false
    this.keep()
    this.shelf.show()
    return this.update(ply)
  }

  async showHint() {
    if (this.controls.buttons.hint.disabled) return
    const turn = this.nextTurn()
    this.say('Looking for a hint …')
    try {
      const answer = await this.analysis.ask(this.seen, this.judge)
      if (turn !== this.turn) return
      this.hint = answer.action
      await this.draw()
    } catch (error) {
      if (turn === this.turn) this.failed(error)
    }
  }

  /** When the user's game ends, keeps it among the user's own games as it was played. */
  finish(over) {
    const { record } = this
    if (record.over || !record.actions.length) return
    record.over = true
    record.date ??= new Date().toISOString()
    this.keep()
    if (record.own) this.put(record, this.setup.choices, over)
  }

  // --- words and buttons ---

  /** Updates the status line and which buttons are enabled; `news` is what the opponent has done. */
  describe(position, news) {
    const { record, thinking, judge, flipped } = this
    const over = Boolean(position.over)
    const mine = !over && this.setup.isMine(position.to_move)
    const past = !this.atEnd
    const mover = SIDES.indexOf(position.to_move)
    const begun = record.actions.length > 0
    const held = document.activeElement
    this.controls.allow({ past, over: this.over, mine, begun, resigned: record.resigned, thinking, judge, upright: position.upright, flipped })
    this.controls.showVariation(record.main ? common(record) : null)
    // a button that disappears must not take the focus with it
    if (this.controls.element.contains(held) && (held.disabled || held.closest('[hidden]'))) this.focusBoard()
    this.typed.disabled = past || !mine
    this.whole.hidden = this.over || !begun || !judge || Boolean(thinking)
    this.view.track.hidden = !begun
    if (this.over) this.how.follow(null)
    else if (mine && !past) this.how.follow(this.view.board)
    const name = this.names[mover]
    if (past) this.say(pastOf(this, name), mover)
    else if (over) this.say(endOf(this, position.over, news), SIDES.indexOf(position.over.outcome))
    else if (thinking) this.say(`${name} thinks …`, mover)
    else this.say(turnOf(this, name, news), mover)
    this.setState(past ? 'past' : over ? 'over' : thinking ? 'thinking' : 'yours')
    this.describeAnalysis()
  }

  describeAnalysis() {
    this.analysis.describe(this.seen, this.names, Boolean(this.judge), { reveals: this.reveals, over: this.over })
    this.review.show(this.record, this.view, this.reveals)
  }

  say(text, player = -1, error = false) {
    this.controls.say(text, player >= 0 && this.view.shown ? this.view.shown.colors[player] : null, error)
  }

  setState(state) {
    this.element.dataset.state = state
  }

  failed(error) {
    this.thinking = null
    this.say(sentence(error.message), -1, true)
    this.controls.buttons.again.hidden = false
    this.controls.buttons.now.hidden = true
    this.setState('failed')
  }

  keydown(event) {
    if (!this.element.isConnected || !this.record || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.target.closest?.('input, select, textarea')) return
    const does = { Escape: () => this.clear(), u: () => this.undo(), h: () => this.showHint(), f: () => this.flip() }[event.key]
    if (!does) return
    event.preventDefault()
    does()
  }
}
