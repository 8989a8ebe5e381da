// The curve of a game: the first player's expected score over its actions. Input: scores (null if there was no search), the ply shown, and what
// actions lost; actions that lost a lot are marked. Output: `onPly` with the ply that was clicked. Arrow keys move along the curve.

import { h, s, percent } from './dom.js'

const WIDTH = 300
const HEIGHT = 84
/** The graph has room for at least this many actions. */
const FEWEST = 10
/** From this many points on, the dots are not drawn. */
const DOTS = 60

export class Graph {
  constructor(onPly) {
    this.onPly = onPly
    this.length = 0
    this.ply = 0
    this.svg = s('svg.graph', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none' })
    this.element = h('div.graph-holder', {
      tabindex: 0, role: 'slider', 'aria-label': 'Position in the game', 'aria-valuemin': 0,
      onkeydown: event => this.keydown(event),
      onpointerdown: event => this.pointer(event),
      onpointermove: event => event.buttons === 1 && this.pointer(event),
    }, this.svg)
  }

  show(scores, length, ply, name, mistakes = []) {
    Object.assign(this, { length, ply })
    const across = Math.max(length, FEWEST)
    const x = at => (WIDTH * at) / across
    const y = score => 3 + (HEIGHT - 6) * (1 - score)
    const known = scores.map((score, at) => [at, score]).filter(([at, score]) => score != null && at <= length)
    const points = known.map(([at, score]) => `${x(at).toFixed(1)},${y(score).toFixed(1)}`).join(' ')
    // a line without length is a round dot, even in a stretched drawing
    const dot = (at, score) => `M${x(at).toFixed(1)} ${y(score).toFixed(1)}h0`
    const wrong = known.filter(([at]) => mistakes[at - 1])
    const here = scores[ply]
    this.svg.replaceChildren(
      s('path.grid', { d: `M0 3H${WIDTH}M0 ${HEIGHT - 3}H${WIDTH}` }),
      s('path.grid.zero', { d: `M0 ${HEIGHT / 2}H${WIDTH}` }),
      known.length > 1 ? s('polyline.line.c0', { points }) : '',
      known.length < DOTS ? s('path.graph-dots', { d: known.map(([at, score]) => dot(at, score)).join('') }) : '',
      s('path.graph-mistakes', { d: wrong.map(([at, score]) => dot(at, score)).join('') }),
      s('path.graph-now', { d: `M${x(ply).toFixed(1)} 0V${HEIGHT}` }),
      here == null ? '' : s('path.graph-here', { d: dot(ply, here) }),
    )
    const value = `${here == null ? '' : `, ${name} ${percent(here)}`}${mistakes[ply - 1] ? ', the last action lost a lot' : ''}`
    this.element.setAttribute('aria-valuemax', length)
    this.element.setAttribute('aria-valuenow', ply)
    this.element.setAttribute('aria-valuetext', `ply ${ply} of ${length}${value}`)
  }

  pointer(event) {
    const box = this.svg.getBoundingClientRect()
    const share = (event.clientX - box.left) / box.width
    this.go(Math.round(share * Math.max(this.length, FEWEST)))
  }

  keydown(event) {
    const to = { ArrowLeft: this.ply - 1, ArrowRight: this.ply + 1, Home: 0, End: this.length }[event.key]
    if (to == null) return
    event.preventDefault()
    event.stopPropagation()
    this.go(to)
  }

  go(ply) {
    const to = Math.min(this.length, Math.max(0, ply))
    if (to !== this.ply) this.onPly(to)
  }
}
