// Helpers for building elements.
// Input: a tag with classes ("div.side"), attributes, children (elements, text, lists; null and false are skipped).
// Output: the element. Attributes whose names begin with "on" are listeners; true and false switch an attribute on or
// off.

const SVG = 'http://www.w3.org/2000/svg'

function build(element, classes, attributes, children) {
  if (classes.length) element.setAttribute('class', classes.join(' '))
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== false && value != null) element.setAttribute(name, value)
  }
  element.append(...children.flat(2).filter(child => child != null && child !== false))
  return element
}

export function h(tag, attributes, ...children) {
  const [name, ...classes] = tag.split('.')
  return build(document.createElement(name), classes, attributes, children)
}

export function s(tag, attributes, ...children) {
  const [name, ...classes] = tag.split('.')
  return build(document.createElementNS(SVG, name), classes, attributes, children)
}

export function button(text, click, attributes) {
  return h('button', { type: 'button', onclick: click, ...attributes }, text)
}

/** Wraps a control in a label. */
export function field(text, control) {
  if (control.matches('input, select')) control.setAttribute('aria-label', text)
  return h('label.field', null, h('span', null, text), control)
}

export function checkbox(text, checked, change) {
  const input = h('input', { type: 'checkbox', onchange: () => change(input.checked) })
  input.checked = checked
  return h('label.check', null, input, text)
}

/** Fills a select. Choices are [value, text], or {label, choices} for a group. */
export function fill(select, choices, chosen) {
  const option = ([value, text]) => h('option', { value }, text)
  const entry = choice =>
    Array.isArray(choice) ? option(choice) : h('optgroup', { label: choice.label }, choice.choices.map(option))
  select.replaceChildren(...choices.map(entry))
  if (chosen != null) select.value = chosen
  if (select.selectedIndex < 0) select.selectedIndex = 0
}

/** Replaces the contents of `holder` with HTML that the program made. */
export function setHtml(holder, html) {
  holder.innerHTML = html
}

/** Returns a small disc in a color of board.css. */
export function chip(color) {
  return s('svg.board.chip', { viewBox: '0 0 12 12', 'aria-hidden': 'true' },
    s('circle', { class: color, cx: 6, cy: 6, r: 5 }))
}

/** Copies a text, even if a page may not use the clipboard; resolves to whether the browser copied it. */
export async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = h('textarea', { readonly: true })
    area.value = text
    document.body.append(area)
    area.select()
    const isCopied = document.execCommand('copy')
    area.remove()
    return isCopied
  }
}

/** Offers `text` as a file to download. */
export function download(name, text, type = 'application/json') {
  const url = URL.createObjectURL(new Blob([text], { type }))
  h('a', { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10000)
}

/** Asks the user for a file; resolves to its text. */
export function upload(accept = '.json,.jsonl,.txt,application/json') {
  return new Promise(resolve => {
    const input = h('input', { type: 'file', accept })
    input.addEventListener('change', async () => resolve(await input.files[0].text()))
    input.click()
  })
}

/** Returns the text with a capital first letter, unless it begins with the name of a file. */
export const sentence = text => (/^\S*([/\\]|\.\S)/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1))

export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 90) return `${minutes} min`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function percent(score) {
  return `${Math.round(100 * score)} %`
}
