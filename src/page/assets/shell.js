// What is around the views: the address, the tabs, and errors.
// Input: the views by name, and which of them a place in the address means. Output: one of them in the page; `go` leads to a
// place, `fail` says what went wrong.

import { h, sentence } from './dom.js'
import { current } from './store.js'

const SHOWN = 8000

const main = document.getElementById('main')
const alert = document.getElementById('alert')
let hiding
let route = () => {}

/** Shows an error for a while, or until the user does something else. */
export function fail(error) {
  alert.textContent = sentence(error.message)
  alert.hidden = false
  clearTimeout(hiding)
  hiding = setTimeout(forget, SHOWN)
}

function forget() {
  alert.hidden = true
}

for (const does of ['pointerdown', 'keydown']) document.addEventListener(does, forget, true)

/** Goes to a place: a view, and what it is to show. */
export function go(...place) {
  const hash = `#${place.filter(part => part != null && part !== '').join('/')}`
  if (location.hash === hash) route()
  else location.hash = hash
}

/**
 * Shows the view that the address names, now and whenever it changes. `meant` says for a name, a place and the place kept
 * from before which view that is; it may answer nothing, and lead elsewhere.
 */
export function follow(views, meant) {
  route = () => {
    const [name, ...rest] = location.hash.slice(1).split('/')
    const place = rest.join('/')
    const wanted = Object.hasOwn(views, name) ? name : null
    const tab = meant(wanted, place, name)
    if (!tab) return
    const kept = current.read(`place.${tab}`)
    for (const link of document.querySelectorAll('[data-tab]')) {
      if (link.dataset.tab === tab) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
    if (main.firstChild !== views[tab].element) {
      main.replaceChildren(views[tab].element)
      window.scrollTo(0, 0)
    }
    document.title = `${document.title.split(': ')[0]}: ${tab}`
    if (place && wanted) current.write(`place.${tab}`, place)
    views[tab].open((wanted && place) || kept)
  }
  window.addEventListener('hashchange', route)
  route()
}

/** Says that the page cannot begin. */
export function refuse(error) {
  main.replaceChildren(h('p', { role: 'alert' }, error.message))
}
