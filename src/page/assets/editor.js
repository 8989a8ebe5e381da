// The view "Write": a game as a text, side by side with what it means.
// Input: /api/texts, the texts to begin with; /api/text, which says what is wrong with a text or what its lines mean. Output: `play` with the
// answer of /api/text, `playAgainst` with a trained agent, `refresh` when the program has something new.
// The text is kept in the browser. While the user types, only the answer to the newest text counts.

import { get, post } from './api.js'
import { Board } from './board.js'
import { button, download, field, fill, h, sentence, upload } from './dom.js'
import { key } from './pick.js'
import { texts } from './store.js'
import { Task } from './task.js'
import { words } from './words.js'

const PATIENCE = 300
const BEGINNINGS = [['', 'Choose …'], ['template', 'A new game']]

/** Returns the text with another title, which makes it another game. */
const renamed = text => text.replace(/^game +(?!My )/m, 'game My ')

export class Editor {
  constructor({ play, playAgainst, refresh, fail }) {
    Object.assign(this, { fail, answer: null, version: 0, beginnings: null, before: null, pointed: null })
    this.numbers = h('pre.numbers', { 'aria-hidden': 'true' })
    this.mark = h('div.mark', { hidden: true })
    this.text = h('textarea', {
      wrap: 'off', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', 'aria-label': 'Rules of the game', 'aria-describedby': 'problem',
      oninput: () => this.changed(), onscroll: () => this.scroll(), onclick: () => this.pointAtCaret(), onkeyup: () => this.pointAtCaret(),
    })
    this.problem = h('p.problem', { id: 'problem', role: 'status' })
    this.beginning = h('select', { onchange: () => this.beginWith(this.beginning.value) })
    this.back = button('Back to the previous text', () => this.begin(this.before), { hidden: true })
    this.board = new Board()
    this.title = h('h2')
    this.facts = h('p.facts')
    this.lines = h('ol.meanings', { 'aria-label': 'What the lines mean at the start' })
    this.task = new Task({ playAgainst, refresh: task => { this.allow(); return refresh(task) }, fail })
    this.buttons = {
      play: button('Play it', () => play(this.answer), { class: 'primary' }),
      balance: button('Is it fair?', () => this.task.begin('balance', this.answer.text), { title: 'Plays games between searches of increasing strength' }),
      training: button('Train for a minute', () => this.task.begin('training', this.answer.text), { title: 'Trains an agent on this machine, as a new run' }),
    }
    this.elsewhere = h('p.facts', null, 'Training and “Is it fair?” are available only in browsers on the machine that serves this page.')
    this.element = h('section.editor', { 'aria-label': 'Write' },
      h('h1', null, 'Write your own game'),
      h('p', null, 'A game is a text of plain words. Change a line, see what it means, and play it.'),
      h('div.sides', null,
        h('div.writing', null,
          h('div.row', null, field('Begin with', this.beginning), this.back,
            button('Open …', () => this.openFile(), { title: 'Open a file NAME.game' }), button('Save', () => this.save(), { title: 'Save as a file NAME.game' })),
          h('div.code', null, this.numbers, h('div.paper', null, this.mark, this.text)),
          this.problem, words()),
        h('div.meaning', null,
          h('div.board-row', null, this.board.element), this.title, this.facts,
          h('div.buttons', null, Object.values(this.buttons)), this.elsewhere, this.task.element, this.lines)))
    this.allow()
  }

  offerHome({ tasks }) {
    this.kinds = tasks
    for (const kind of ['balance', 'training']) this.buttons[kind].hidden = !tasks.includes(kind)
    this.elsewhere.hidden = tasks.length > 0
  }

  async open() {
    if (this.kinds.length) this.task.look()
    if (this.beginnings) return this.pointAtCaret()
    try {
      this.beginnings = await get('texts')
      fill(this.beginning, [...BEGINNINGS, ...this.beginnings.texts.map(({ title }) => [title, title])])
      if (!this.text.value) this.put(texts.draft || this.beginnings.template)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Puts a text into the editor; the user can go back to the previous one. */
  begin(text) {
    this.before = this.text.value
    this.put(text)
    this.back.hidden = !this.before || this.before === text
  }

  beginWith(name) {
    if (!name) return
    this.begin(name === 'template' ? this.beginnings.template : renamed(this.beginnings.texts.find(({ title }) => title === name).text))
    this.beginning.value = ''
  }

  put(text) {
    this.text.value = text
    this.text.setSelectionRange(0, 0)
    this.text.scrollTop = 0
    this.changed(0)
  }

  async openFile() {
    this.begin(await upload('.game,.txt,text/plain'))
  }

  save() {
    download(`${this.answer?.game?.id ?? 'my-game'}.game`, this.text.value, 'text/plain')
  }

  /** Asks what the text means once the user stops typing. */
  changed(patience = PATIENCE) {
    const count = this.text.value.split('\n').length
    this.numbers.textContent = Array.from({ length: count }, (_, index) => index + 1).join('\n')
    texts.draft = this.text.value
    const version = ++this.version
    this.element.dataset.state = 'busy'
    // the buttons cannot work until the answer to this text is known
    this.answer = null
    this.allow()
    this.scroll()
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.check(version), patience)
  }

  async check(version) {
    const text = this.text.value
    try {
      const answer = await post('text', { text })
      if (version === this.version) this.show({ ...answer, text })
    } catch (error) {
      if (version === this.version) this.say(sentence(error.message), true)
    }
  }

  show(answer) {
    this.answer = answer
    const { problem, game, taken } = answer
    this.element.dataset.state = problem ? 'wrong' : 'right'
    this.marked = problem?.line ?? null
    if (problem) {
      const place = button(`Line ${problem.line}, column ${problem.column}`, () => this.goTo(problem), { title: 'Go there' })
      this.say([place, ` ${sentence(problem.what)}${/[?.!]$/.test(problem.what) ? '' : '.'}`], true)
    } else {
      this.say(taken ? `${game.title} is already a game on this page: give yours another title.` : 'No problems found.', taken)
      this.showGame(answer)
    }
    this.scroll()
    this.allow()
    this.pointAtCaret()
  }

  say(words, wrong) {
    this.problem.classList.toggle('wrong', Boolean(wrong))
    this.problem.replaceChildren(...[words].flat())
  }

  showGame({ svg, rows, columns, names, game, actions, legal, lines }) {
    this.board.show({ svg, rows, columns, names, legal: [], turned: false }, false)
    this.title.textContent = game.title
    this.facts.textContent = `${game.players.join(' and ')}, ${columns} × ${rows}; ${legal} actions at the start, ${actions.toLocaleString('en-US')} in all.`
    const entry = line => h('li', null, h('button', {
      type: 'button', 'data-line': line.line, onclick: () => this.goTo({ line: line.line, column: 1 }),
      onpointerenter: () => this.point(line), onpointerleave: () => this.pointAtCaret(), onfocus: () => this.point(line),
    }, h('span.number', null, line.line), h('code', null, line.words), h('span.says', null, line.says)))
    this.lines.replaceChildren(...lines.map(entry))
  }

  /** Enables the buttons that work with this text now. */
  allow() {
    const { buttons, answer, task } = this
    const good = Boolean(answer?.game) && !answer.taken
    buttons.play.disabled = !good
    for (const kind of ['balance', 'training']) buttons[kind].disabled = !good || task.isAtWork
  }

  /** Moves the caret to a place in the text. */
  goTo({ line, column }) {
    const begin = this.text.value.split('\n').slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0)
    // a column counts characters, but some characters are two code units of a JavaScript string
    const before = [...this.text.value.slice(begin).split('\n')[0]].slice(0, column - 1).join('').length
    this.text.focus()
    this.text.setSelectionRange(begin + before, begin + before)
    this.text.scrollTop = Math.max(0, (line - 4) * this.height)
    this.pointAtCaret()
  }

  get height() {
    return parseFloat(getComputedStyle(this.text).lineHeight)
  }

  /** Keeps the line numbers and the mark next to their lines. */
  scroll() {
    const { scrollTop } = this.text
    this.numbers.scrollTop = scrollTop
    this.mark.hidden = this.marked == null
    if (this.marked != null) this.mark.style.transform = `translateY(${(this.marked - 1) * this.height - scrollTop}px)`
  }

  /** Shows the squares of the line where the caret is. */
  pointAtCaret() {
    const { lines } = this.answer ?? {}
    if (!lines) return
    const at = this.text.value.slice(0, this.text.selectionStart).split('\n').length
    // an indented line continues the previous one
    const rows = this.text.value.split('\n')
    let line = at
    while (line > 1 && /^[ \t]/.test(rows[line - 1])) line--
    this.point(lines.find(other => other.line === line) ?? null)
  }

  /** Shows the squares of a line. */
  point(line) {
    this.pointed = line
    this.board.next = new Map((line?.places ?? []).map(place => [key(place), 'target']))
    this.board.draw()
    for (const entry of this.lines.querySelectorAll('button')) {
      if (Number(entry.dataset.line) === line?.line) entry.setAttribute('aria-current', 'true')
      else entry.removeAttribute('aria-current')
    }
  }
}
