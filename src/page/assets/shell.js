// What is around the views: the address, the tabs, and errors.
// Input: the views by name, and which of them a place in the address means. Output: one of them in the page; `go` leads to a
// place, `fail` says what went wrong. The place is kept here, since in some frames the address cannot be changed.

import { h, sentence } from './dom.js'
import { current } from './store.js'

const SHOWN = 8000
/** The longest place in an address: browsers take seconds for what a page with a longer one does. */
const LONGEST = 30000

const main = document.getElementById('main')
const alert = document.getElementById('alert')
let hiding
let route = () => {}
/** The place that is shown, as in an address: `#play/phage`. */
let here = ''

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
  move(`#${place.filter(part => part != null && part !== '').join('/')}`)
}

function move(place) {
  const before = location.hash
  try {
    location.hash = place
  } catch {
    // refused: in Firefox by an error, in Chromium without one
  }
  // whoever changes the address is told of it later
  if (location.hash === before) arrive(place)
}

function arrive(place) {
  here = place
  route()
}

/** Follows a link within the page: where the address cannot be changed, the browser would not. */
function followLink(event) {
  const place = event.target.closest?.('a[href^="#"]')?.getAttribute('href')
  if (!place || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  move(place)
}

/**
 * Shows the view that the address names, now and whenever it changes. `meant` says for a name, a place and the place kept
 * from before which view that is; it may answer nothing, and lead elsewhere.
 */
export function follow(views, meant) {
  route = () => {
    const [name, ...rest] = here.slice(1).split('/')
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
  window.addEventListener('hashchange', () => arrive(location.hash))
  document.addEventListener('click', followLink)
  if (location.hash.length > LONGEST) {
    history.replaceState(null, '', '#')
    fail({ message: 'the address has more than a game can be' })
  }
  arrive(location.hash)
}

/** Says that the page cannot begin. */
export function refuse(error) {
  main.replaceChildren(h('p', { role: 'alert' }, error.message))
}
