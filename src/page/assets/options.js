// The options of a game as a form.
// Input: a game's options as in /api/home, and the values that are set. Output: `onChange`, and the values that differ
// from the defaults.

import { fill, h, sentence } from './dom.js'

const wordsOf = name => name.replaceAll('_', ' ')
const valueOf = value => ({ true: 'yes', false: 'no' })[value] ?? value

const filled = (known, set) => ({ ...Object.fromEntries(known.map(option => [option.name, option.default])), ...set })

/** Returns whether these settings mean the same game. Setting an option to its default makes no difference. */
export function alike(known, ours, theirs) {
  const [a, b] = [filled(known, ours), filled(known, theirs)]
  return Object.keys({ ...a, ...b }).every(name => JSON.stringify(a[name]) === JSON.stringify(b[name]))
}

/** Returns the settings that differ from the defaults, as pairs of name and value. */
function changes(known, set) {
  const usual = filled(known)
  return Object.entries(filled(known, set)).filter(([name, value]) => JSON.stringify(usual[name]) !== JSON.stringify(value))
}

/** Returns the settings that differ from the defaults, in words. */
export function inWords(known, set) {
  const words = ([name, value]) => (name === 'text' ? 'rules: another text' : `${wordsOf(name)}: ${valueOf(value)}`)
  return changes(known, set).map(words).join(', ') || 'the usual ones'
}

export class Options {
  constructor(onChange) {
    Object.assign(this, { onChange, known: [], controls: new Map() })
    this.element = h('div.options')
  }

  /** Shows the options of a game, with the values that are set. */
  show(known, set) {
    this.known = known
    this.set = { ...set }
    this.controls.clear()
    // with a single value, there is nothing to choose
    const open = known.filter(({ kind, values }) => kind === 'number' || values.length > 1)
    this.element.replaceChildren(...open.map(option => this.field(option, set[option.name] ?? option.default)))
    return open.length > 0
  }

  field(option, value) {
    const { name, kind, values, about } = option
    const control = { flag: 'input', number: 'input', choice: 'select' }[kind]
    const label = sentence(wordsOf(name))
    const input = h(control, { onchange: () => this.changed(option, input), 'aria-describedby': `option-${name}`, 'aria-label': label })
    if (kind === 'flag') {
      input.type = 'checkbox'
      input.checked = value
    } else if (kind === 'number') {
      Object.assign(input, { type: 'number', min: values[0], max: values[1], step: 1, value })
    } else {
      fill(input, values.map((text, index) => [index, text]), values.indexOf(value))
    }
    this.controls.set(name, input)
    return h('div.option', null,
      kind === 'flag' ? h('label.check', null, input, label) : h('label.field', null, h('span', null, label), input),
      h('small', { id: `option-${name}` }, `${sentence(about)}.`))
  }

  changed({ name, kind, values, default: usual }, input) {
    let value = kind === 'flag' ? input.checked : values[input.value]
    if (kind === 'number') {
      value = input.value === '' ? usual : Math.round(Math.min(values[1], Math.max(values[0], Number(input.value))))
      input.value = value
    }
    this.set = { ...this.set, [name]: value }
    this.onChange()
  }

  /** The values that differ from the defaults. */
  get chosen() {
    return Object.fromEntries(changes(this.known, this.set))
  }
}
