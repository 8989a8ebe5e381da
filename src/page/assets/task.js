// The work that the program does for the text in the editor, for about a minute: training an agent or measuring balance.
// Input: the kinds of tasks of /api/home. Output: `playAgainst` with an agent of the run; `refresh` when there is a new agent.

import { get, post } from './api.js'
import { button, duration, h, percent, sentence } from './dom.js'

const OFTEN = 1000
const TITLES = { training: 'Training', balance: 'Balance' }

export class Task {
  constructor({ playAgainst, refresh, fail }) {
    Object.assign(this, { playAgainst, refresh, fail, task: null, kinds: [] })
    this.title = h('b')
    this.doing = h('span')
    this.progress = h('progress', { max: 1, value: 0, 'aria-label': 'Progress' })
    this.cancel = button('Cancel', () => this.ask('cancel'))
    this.result = h('div.result')
    this.element = h('section.task', { 'aria-label': 'Task', hidden: true },
      h('p', { role: 'status' }, this.title, ' ', this.doing), h('div.row', null, this.progress, this.cancel), this.result)
  }

  get isAtWork() {
    return this.task?.state === 'running'
  }

  /** Begins a task about a text. */
  begin(kind, text) {
    return this.ask(kind === 'training' ? 'train' : 'balance', { text })
  }

  async ask(path, body = {}) {
    try {
      this.show((await post(path, body)).task)
    } catch (error) {
      this.fail(error)
    }
    this.schedule()
  }

  /** Checks how far the task is. */
  async look() {
    try {
      this.show((await get('task')).task)
    } catch (error) {
      this.doing.textContent = sentence(error.message)
    }
    this.schedule()
  }

  schedule() {
    clearTimeout(this.timer)
    if (this.isAtWork && this.element.isConnected) this.timer = setTimeout(() => this.look(), OFTEN)
  }

  show(task) {
    const before = this.task
    this.task = task
    this.element.hidden = !task
    if (!task) return
    const { kind, title, state, doing, progress, seconds, error } = task
    this.element.dataset.state = state
    this.title.textContent = `${TITLES[kind]}: ${title}`
    this.doing.textContent = {
      running: `${doing} · ${duration(seconds)}`, finished: `done in ${duration(seconds)}`, canceled: 'canceled', failed: error && sentence(error),
    }[state]
    this.progress.value = progress
    this.progress.parentElement.hidden = !this.isAtWork
    this.showResult(task)
    if (task.agent !== before?.agent || before?.state !== state) this.refresh(task)
  }

  showResult({ kind, game, title, run, generation, agent, balance }) {
    const parts = []
    if (kind === 'training' && run != null) {
      const words = agent ? `Generation ${generation} of ${title} can be played. ` : ''
      parts.push(h('p', null, words, h('a', { href: `#watch/${run}` }, 'Watch the run')))
      if (agent) parts.push(button('Play against it', () => this.play(run, game), { class: 'primary' }))
    }
    if (balance) {
      parts.push(h('p.answer', null, balance.answer), h('div.wide', null, h('table', null,
        h('thead', null, h('tr', null, ['level', 'games', 'first player', '95 %', 'draws', 'actions'].map(name => h('th', { scope: 'col' }, name)))),
        h('tbody', null, balance.levels.map(({ name, games, score: [mean, low, high], draws, length }) => h('tr', null,
          [name, games, percent(mean), `${percent(low)} to ${percent(high)}`, percent(draws), Math.round(length)].map(text => h('td', null, text))))))))
    }
    const text = JSON.stringify([run, generation, agent, balance])
    if (text === this.resultText) return
    this.resultText = text
    this.result.replaceChildren(...parts)
  }

  /** Plays against the newest generation of the run that was trained. */
  async play(id, game) {
    try {
      const run = await get(`runs/${id}`)
      const newest = run.checkpoints.at(-1)
      if (newest) this.playAgainst({ ...run, game }, newest)
    } catch (error) {
      this.fail(error)
    }
  }
}
