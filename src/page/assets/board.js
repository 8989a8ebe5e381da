// A board that can be used by clicking, by dragging, and with the keyboard.
// Input: an answer of /api/position, and whether its legal actions can be played here.
// Output: `onAction` with the text of an action; `onSelection` with the actions that must be chosen by text; `onMiss`
// with the text of the illegal action that a click would have been, if that is known; `onIdle` if nothing can be played.

import { h, s } from './dom.js'
import { beginnings, brush, brushes, key, onlyBeginning, pick } from './pick.js'

const SQUARE = 40
/** The distance between rows of hexagons, and how far a hexagon extends above and below the box in its middle. */
const [ROW, POINT] = [35, 3]
const DRAG = 6

export class Board {
  constructor({ onAction = () => {}, onSelection = () => {}, onMiss = () => {}, onIdle = () => {} } = {}) {
    Object.assign(this, { onAction, onSelection, onMiss, onIdle, clicked: [], cursor: null, drag: null, brush: '', usable: false })
    this.element = h('div.board-holder', {
      tabindex: 0,
      role: 'application',
      onpointerdown: event => this.pointerdown(event),
      onpointermove: event => this.pointermove(event),
      onpointerup: event => this.pointerup(event),
      onpointercancel: () => this.endDrag(),
      onkeydown: event => this.keydown(event),
      onblur: () => this.setCursor(null),
    })
  }

  /** Shows a position; `usable` if its actions can be played on the board. */
  show(position, usable) {
    this.position = position
    this.usable = usable
    this.legal = usable ? position.legal : []
    this.endDrag()
    const svg = new DOMParser().parseFromString(position.svg, 'image/svg+xml').documentElement
    this.svg = document.importNode(svg, true)
    // with the role of an image, the drawing would hide its squares from screen readers
    this.svg.setAttribute('role', 'none')
    this.svg.removeAttribute('width')
    this.svg.removeAttribute('height')
    const [, top, width, height] = this.svg.getAttribute('viewBox').split(' ').map(Number)
    const { style } = this.element.parentElement
    style.setProperty('--shape', width / height)
    style.setProperty('--columns', position.columns)
    style.setProperty('--squares-top', `${(100 * -top) / height}%`)
    this.hexagons = svg.dataset.cells === 'hexagons'
    const squares = this.hexagons ? ROW * (position.rows - 1) + SQUARE + 2 * POINT : SQUARE * position.rows
    style.setProperty('--squares', `${(100 * squares) / height}%`)
    this.readLabels()
    this.overlay = s('g.squares')
    this.svg.append(this.overlay)
    this.element.replaceChildren(this.svg)
    this.element.setAttribute('aria-label', this.description())
    this.columns = this.byColumn()
    this.brushes = brushes(this.legal)
    if (!this.brushes.includes(this.brush)) this.brush = ''
    const must = onlyBeginning(this.legal)
    this.select(must ? [must] : [])
  }

  description() {
    const what = this.svg.querySelector('title')?.textContent ?? 'Board'
    return this.usable ? `${what}. Arrow keys move over the board, Enter chooses a square, Escape starts over.` : what
  }

  /** Reads the names of ranks and files from the drawing. */
  readLabels() {
    this.labels = { rows: [], columns: [] }
    for (const label of this.svg.querySelectorAll('.b-label')) {
      const [x, y] = ['x', 'y'].map(name => Number(label.getAttribute(name)))
      const { row: at, column: along } = label.dataset
      const [row, column] = this.turn(this.hexagons ? [at ?? 0, along ?? 0] : [Math.floor(y / SQUARE), Math.floor(x / SQUARE)])
      if (this.hexagons ? at != null : x < 0) this.labels.rows[row] = label.textContent
      else this.labels.columns[column] = label.textContent
    }
  }

  /** Converts between the row and column of a square and the row and column where it is drawn. */
  turn([row, column]) {
    const { rows, columns, turned } = this.position
    return turned ? [rows - 1 - row, columns - 1 - column] : [row, column]
  }

  /** Returns the position of a square's corner in the drawing. */
  corner(place) {
    const [row, column] = this.turn(place)
    if (!this.hexagons) return [column * SQUARE, row * SQUARE]
    return [column * SQUARE + ((this.position.rows - 1 - row) * SQUARE) / 2, row * ROW + POINT]
  }

  squareName([row, column]) {
    return `${this.labels.columns[column] ?? column + 1}${this.labels.rows[row] ?? ''}`
  }

  /** Returns the piece that is drawn on a square. */
  pieceAt(place) {
    const at = `translate(${this.corner(place).join(' ')})`
    return [...this.svg.querySelectorAll(':scope > g[transform]')].find(piece => piece.getAttribute('transform') === at)
  }

  /** Returns the actions by column, if each action is named after its column, so that a click anywhere in a column can play it. */
  byColumn() {
    const named = ({ text, places }) => places.length === 1 && text === this.labels.columns[places[0][1]]
    return this.legal.length > 0 && this.legal.every(named) ? new Map(this.legal.map(action => [action.places[0][1], action])) : null
  }

  select(clicked) {
    this.clicked = clicked
    const { play, choices, next } = clicked.length
      ? pick(this.legal, clicked)
      : { play: null, choices: [], next: beginnings(this.legal) }
    if (play) return this.play(play)
    const wanted = this.brush && choices.find(({ text }) => brush(text) === this.brush)
    if (wanted) return this.play(wanted)
    this.next = next
    this.draw()
    this.onSelection({ choices, clicked, brushes: this.brushes })
  }

  play(action) {
    this.clicked = []
    this.next = new Map()
    this.legal = []
    this.columns = null
    this.draw()
    this.onSelection({ choices: [], clicked: [], brushes: this.brushes })
    this.onAction(action.text)
  }

  /** Handles a click on a square. */
  click(place) {
    const column = this.columns?.get(place[1])
    if (column) return this.play(column)
    if (this.next.has(key(place))) return this.select([...this.clicked, place])
    const begins = beginnings(this.legal).get(key(place))
    const again = this.clicked.length === 1 && key(this.clicked[0]) === key(place)
    if (!begins && !again) this.miss(place)
    // without these conditions, a miss would play an action of one square, or deselect the only piece that can move
    this.select(begins === 'from' && (!again || onlyBeginning(this.legal)) ? [place] : [])
  }

  /** Reports a click that is not an action, with the illegal action that it would have been, if that is known. */
  miss(place) {
    if (!this.usable) return
    const name = this.squareName(place)
    const moves = this.legal.some(({ places }) => places.length > 1)
    if (this.brushes.length) this.onMiss(`${this.brush || this.brushes[0]}@${name}`)
    else if (this.clicked.length) this.onMiss(`${this.squareName(this.clicked[0])}-${name}`)
    else if (!moves) this.onMiss(name)
    else this.onMiss(this.pieceAt(place) ? `${name}-${name}` : '')
  }

  clear() {
    if (this.clicked.length) this.select([])
  }

  draw() {
    const marks = []
    const { rows, columns } = this.position
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const place = [row, column]
        let kind = this.next.get(key(place)) ?? ''
        if (this.columns?.has(column)) kind ||= 'column'
        if (this.clicked.some(square => key(square) === key(place))) kind += ' selected'
        if (this.cursor && key(this.cursor) === key(place)) kind += ' cursor'
        const [x, y] = this.corner(place)
        if (/target|via/.test(kind)) {
          const occupied = this.pieceAt(place)
          const all = !this.clicked.length
          marks.push(s('circle', {
            class: occupied ? 'ring' : all ? 'spot faint' : 'spot', cx: x + 20, cy: y + 20, r: occupied ? 17.5 : all ? 5 : 7,
          }))
        }
        const shape = this.hexagons
          ? { d: `M${x + 20} ${y - 1}l18 10v22l-18 10l-18 -10v-22z` }
          : { x: x + 1, y: y + 1, width: 38, height: 38, rx: 4 }
        marks.push(s(this.hexagons ? 'path' : 'rect', {
          class: `square ${kind}`, ...shape,
          id: `square-${row}-${column}`, 'data-place': key(place), role: 'img', 'aria-label': this.described(place),
        }))
      }
    }
    this.overlay.replaceChildren(...marks)
  }

  /** Returns the description of a square for screen readers: its name, what is on it, and what it can do. */
  described(place) {
    const [row, column] = place
    const kind = this.next.get(key(place)) ?? (this.columns?.has(column) ? 'column' : '')
    const can = { from: 'can act', target: 'can be chosen', via: 'can be chosen', column: 'can be chosen' }[kind]
    const selected = this.clicked.some(square => key(square) === key(place)) && 'selected'
    const { rows, names } = this.position
    // rows without names, as in Connect Four, are counted from the bottom
    const name = this.labels.rows[row] ? this.squareName(place) : `column ${this.squareName(place)}, row ${rows - row}`
    return [name, names[row][column], selected, can].filter(Boolean).join(', ')
  }

  setCursor(place) {
    this.cursor = place
    if (!this.position) return
    this.draw()
    if (place) this.element.setAttribute('aria-activedescendant', `square-${place.join('-')}`)
    else this.element.removeAttribute('aria-activedescendant')
  }

  placeOf(event) {
    const square = document.elementFromPoint(event.clientX, event.clientY)?.closest?.('.square')
    return square && this.element.contains(square) ? square.dataset.place.split(',').map(Number) : null
  }

  pointerdown(event) {
    const place = this.placeOf(event)
    if (!place || event.button !== 0 || this.drag) return
    if (!this.usable) return this.onIdle()
    const begins = beginnings(this.legal).get(key(place)) === 'from' && !this.next.has(key(place)) || this.next.get(key(place)) === 'from'
    const selected = this.clicked.length === 1 && key(this.clicked[0]) === key(place)
    const fresh = begins && !selected
    if (fresh) this.select([place])
    const piece = begins || selected ? this.pieceAt(place) : null
    this.drag = { place, fresh, piece, from: [event.clientX, event.clientY], moving: false, pointer: event.pointerId }
  }

  pointermove(event) {
    const { drag } = this
    if (!drag?.piece || event.pointerId !== drag.pointer) return
    const [dx, dy] = [event.clientX - drag.from[0], event.clientY - drag.from[1]]
    if (!drag.moving && Math.hypot(dx, dy) < DRAG) return
    if (!drag.moving) {
      drag.moving = true
      this.element.setPointerCapture(drag.pointer)
      this.element.classList.add('dragging')
      this.overlay.before(drag.piece)
    }
    const scale = this.svg.getScreenCTM().a
    const [x, y] = this.corner(drag.place)
    drag.piece.setAttribute('transform', `translate(${x + dx / scale} ${y + dy / scale})`)
  }

  pointerup(event) {
    const { drag } = this
    const place = this.placeOf(event)
    if (!drag || event.pointerId !== drag.pointer) return
    this.endDrag()
    if (!place) return
    const stayed = key(place) === key(drag.place)
    if (stayed ? !drag.fresh && !drag.moving : drag.moving && this.next.has(key(place))) this.click(place)
    else if (drag.moving && !stayed) this.miss(place)
  }

  endDrag() {
    if (this.drag?.moving) {
      this.drag.piece.setAttribute('transform', `translate(${this.corner(this.drag.place).join(' ')})`)
      this.element.classList.remove('dragging')
    }
    this.drag = null
  }

  keydown(event) {
    if (!this.position || event.ctrlKey || event.metaKey || event.altKey) return
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key]
    const { rows, columns } = this.position
    if (step) {
      const [row, column] = this.turn(this.cursor ?? this.clicked.at(-1) ?? this.position.last?.at(-1) ?? this.turn([rows - 1, 0]))
      const moved = this.cursor ? [row + step[0], column + step[1]] : [row, column]
      this.setCursor(this.turn([Math.min(rows - 1, Math.max(0, moved[0])), Math.min(columns - 1, Math.max(0, moved[1]))]))
    } else if ((event.key === 'Enter' || event.key === ' ') && this.cursor) {
      const { cursor } = this
      if (this.usable) this.click(cursor)
      else this.onIdle()
      this.setCursor(cursor)
    } else {
      return
    }
    event.preventDefault()
  }
}
