// The view "Watch": runs with live curves, checkpoints, and the games of the newest generation.
// Input: the runs of /api/home. Output: `playAgainst` a checkpoint, `playOn` with a game.
// Changes are requested every 2 s while a run is running and the page is visible, and every 10 s otherwise.

import { get } from './api.js'
import { button, duration, h, sentence, setHtml } from './dom.js'
import { Games } from './games.js'
import { titleOf } from './picker.js'

const OFTEN = 2000
const SELDOM = 10000
const STATES = { running: 'is running', finished: 'has finished', interrupted: 'was interrupted', damaged: 'is damaged' }

/** Says how many workers there are and whether any needs attention. */
function workersInShort(workers) {
  const silent = workers.filter(worker => worker.is_silent).length
  const wrong = workers.filter(worker => worker.failed + worker.rejected > 0).length
  return [`${workers.length} ${workers.length === 1 ? 'worker' : 'workers'}`, silent && `${silent} silent`, wrong && `${wrong} with failures`]
    .filter(Boolean).join(', ')
}

export class Watch {
  constructor({ go, playAgainst, playOn, fail }) {
    Object.assign(this, { go, playAgainst, id: null, runs: [], timer: null, stamp: null, generation: null, titleOf: id => id })
    this.list = h('ul.runs')
    this.title = h('h1')
    this.doing = h('p.doing')
    this.progress = h('progress', { max: 1, value: 0, 'aria-label': 'Generations' })
    this.checkpoints = h('div.wide')
    this.workers = h('div.wide')
    this.log = h('pre.log', { tabindex: 0, 'aria-label': 'Log' })
    this.charts = h('div')
    this.games = new Games({ playOn, fail })
    this.gamesText = h('p')
    this.parts = {
      curves: h('section', { 'aria-label': 'Curves' }, this.charts),
      games: h('section', { 'aria-label': 'Games' }, this.gamesText, this.games.element),
      workers: h('section', { 'aria-label': 'Workers' }, this.workers),
      checkpoints: h('section', { 'aria-label': 'Checkpoints' }, this.checkpoints),
      log: h('section', { 'aria-label': 'Log' }, this.log),
    }
    this.links = h('nav.parts', { 'aria-label': 'Parts' }, Object.keys(this.parts).map(part => h('a', null, sentence(part))))
    this.details = h('div.run', { hidden: true }, this.title, this.progress, this.doing, this.links, Object.values(this.parts))
    this.empty = h('p', null, 'There are no runs here. ', h('code', null, 'petteia train tic-tac-toe'),
      ' starts one, which then appears on this page.')
    this.element = h('section.watch', { 'aria-label': 'Watch' }, h('nav.run-list', { 'aria-label': 'Runs' }, this.list, this.empty), this.details)
    document.addEventListener('visibilitychange', () => this.schedule(0))
  }

  offerHome(home) {
    this.runs = home.runs
    this.titleOf = id => titleOf(home.games, id)
    this.empty.hidden = this.runs.length > 0
    this.list.replaceChildren(...this.runs.map(run => this.entry(run)))
    if (this.id == null && this.runs.length) this.open(this.best())
  }

  /** Returns the run to show first: a run in progress, or else the newest run that has something to show. */
  best() {
    const shown = this.runs.filter(run => run.generation > 0).sort((one, other) => other.changed - one.changed)
    return (this.runs.find(run => run.state === 'running') ?? shown[0] ?? this.runs[0])?.id ?? null
  }

  entry(run) {
    return h('li', null, h('a', { href: `#watch/${run.id}`, 'aria-current': run.id === this.id ? 'page' : null },
      h('b', null, run.name), h('span', { class: `state ${run.state}` }, run.state),
      h('small', null, run.problem ?? `${this.titleOf(run.game)}, generation ${run.generation ?? 0} of ${run.planned}`)))
  }

  open(place) {
    const [id, part] = String(place ?? this.id ?? '').split('/')
    if (id !== '') {
      const known = this.runs.some(run => String(run.id) === id)
      const number = known ? Number(id) : this.best()
      if (number !== this.id) Object.assign(this, { id: number, stamp: null, generation: null, run: null })
    }
    for (const link of this.list.querySelectorAll('a')) {
      if (link.hash === `#watch/${this.id}`) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
    this.showPart(part in this.parts ? part : 'curves')
    this.schedule(0)
  }

  showPart(part) {
    Object.keys(this.parts).forEach((name, index) => {
      this.parts[name].hidden = name !== part
      const link = this.links.children[index]
      link.href = `#watch/${this.id}/${name}`
      if (name === part) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    })
    // a hidden log cannot be scrolled, so it is scrolled when it is shown
    this.log.scrollTop = this.log.scrollHeight
  }

  schedule(wait) {
    clearTimeout(this.timer)
    if (this.element.isConnected && document.visibilityState === 'visible' && this.id != null) {
      this.timer = setTimeout(() => this.ask(), wait)
    }
  }

  /** Requests the run and what has changed in it since the last request. */
  async ask() {
    const { id } = this
    try {
      const run = await get(`runs/${id}`)
      if (id !== this.id) return
      this.run = run
      this.show(run)
      // for an interrupted run that has nothing to show, `show` has said so
      if (run.stamp !== this.stamp && !(run.resuming && run.generation === 0)) await this.askMore(run)
    } catch (error) {
      this.details.hidden = false
      this.doing.textContent = sentence(error.message)
    }
    this.schedule(this.run?.state === 'running' ? OFTEN : SELDOM)
  }

  /** Requests the curves and games, which change when the run has written something. */
  async askMore({ id, stamp }) {
    const charts = await get(`runs/${id}/charts`)
    if (id !== this.id) return
    this.showCharts(charts.html)
    const games = await get(`runs/${id}/games`)
    if (id !== this.id) return
    this.showGames(games)
    this.stamp = stamp
  }

  show(run) {
    const listed = this.runs.find(other => other.id === run.id)
    if (listed && (listed.generation !== run.generation || listed.state !== run.state)) {
      Object.assign(listed, { generation: run.generation, state: run.state })
      this.list.replaceChildren(...this.runs.map(run => this.entry(run)))
    }
    this.details.hidden = false
    this.title.textContent = `${this.titleOf(run.game)}: ${run.name}`
    this.progress.value = run.planned ? run.generation / run.planned : 0
    this.doing.textContent = [
      `The run ${STATES[run.state] ?? run.state}`,
      run.state === 'running' && run.doing,
      `generation ${run.generation} of ${run.planned}`,
      run.resuming && `${run.generation === 0 ? 'there is nothing to show yet; ' : ''}to resume it, run ${run.resuming}`,
      run.seconds_left != null && run.state === 'running' && `about ${duration(run.seconds_left)} left`,
      run.workers.length > 0 && workersInShort(run.workers),
      run.positions_per_cpu_second != null
        ? `${Math.round(run.positions_per_cpu_second).toLocaleString('en-US')} positions per CPU second`
        : run.positions_per_second != null && `${Math.round(run.positions_per_second).toLocaleString('en-US')} positions per second`,
      run.cpu_seconds > 0 && `${duration(run.cpu_seconds)} of CPU time so far`,
    ].filter(Boolean).join(' · ')
    this.showCheckpoints(run)
    this.showWorkers(run)
    const log = run.log.join('\n')
    if (this.log.textContent !== log) {
      this.log.textContent = log
      this.log.scrollTop = this.log.scrollHeight
    }
  }

  showCheckpoints(run) {
    const text = JSON.stringify(run.checkpoints)
    if (text === this.checkpointsText) return
    this.checkpointsText = text
    const number = value => (value == null ? '' : String(Math.round(value)))
    const bounds = ({ low, high }) => (low == null && high == null ? '' : `${number(low) || '…'} to ${number(high) || '…'}`)
    const row = point => h('tr', null,
      h('td', null, point.generation), h('td', null, point.steps ?? ''), h('td', null, number(point.elo)), h('td', null, bounds(point)),
      h('td', null, point.agent && button('Play it', () => this.playAgainst(run, point),
        { 'aria-label': `Play against generation ${point.generation}` })))
    this.checkpoints.replaceChildren(run.checkpoints.length
      ? h('table', null,
          run.all_checkpoints > run.checkpoints.length
            ? h('caption', null, `The newest checkpoints and some older ones: ${run.checkpoints.length} of ${run.all_checkpoints}`) : null,
          h('thead', null, h('tr', null, ['generation', 'steps', 'Elo', '95 %', ''].map(name => (name ? h('th', { scope: 'col' }, name) : h('td'))))),
          h('tbody', null, [...run.checkpoints].reverse().map(row)))
      : h('p', null, 'None yet.'))
  }

  showWorkers({ workers }) {
    const number = value => (value == null ? '' : Math.round(value).toLocaleString('en-US'))
    const row = worker => h('tr', { class: worker.is_silent ? 'silent' : null },
      h('td', null, `${worker.machine} ${worker.process}`), h('td', null, worker.shards), h('td', null, number(worker.games)),
      h('td', null, worker.judged || ''), h('td', null, number(worker.positions_per_second)),
      h('td', null, worker.seconds_ago == null ? '' : `${duration(worker.seconds_ago)} ago${worker.is_silent ? ', silent' : ''}`),
      h('td', null, worker.failed + worker.rejected ? `${worker.failed} failed, ${worker.rejected} rejected` : ''))
    this.workers.replaceChildren(workers.length
      ? h('table', null, h('caption', null, 'What each process has done in the two newest generations'),
          h('thead', null, h('tr', null, ['process', 'shards', 'games', 'judged', 'positions/s', 'last seen', 'failures'].map(name => h('th', { scope: 'col' }, name)))),
          h('tbody', null, workers.map(row)))
      : h('p', null, 'No workers: the process that trains this run plays its games itself.'))
  }

  /** Replaces the curves; open tables stay open. */
  showCharts(html) {
    const open = [...this.charts.querySelectorAll('details')].map(details => details.open)
    setHtml(this.charts, html || '<p>The curves begin with the first generation.</p>')
    this.charts.querySelectorAll('details').forEach((details, index) => (details.open = open[index] ?? false))
  }

  showGames({ generation, games }) {
    this.games.element.hidden = !games.length
    if (!games.length) this.gamesText.textContent = 'No games yet.'
    // if the run was started over, a generation with the same number may have different games
    const first = JSON.stringify(games[0])
    if (!games.length || generation === this.generation && first === this.first) return
    const take = () => {
      Object.assign(this, { generation, first })
      this.gamesText.replaceChildren(`Games of self-play of generation ${generation}.`)
      this.games.set(games)
    }
    // the games are not replaced while the user is looking at them
    if (this.generation == null || this.parts.games.hidden) return take()
    this.gamesText.replaceChildren(`Games of self-play of generation ${this.generation}. `, button(`Show the games of generation ${generation}`, take))
  }
}
