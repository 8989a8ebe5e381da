// Everything around the views: the address, the tabs, and errors. Input: the views by name, and a function that says which view a place in the
// address means. Output: one view in the page; `go` leads to a place, `fail` says what went wrong. The place is kept here, because some frames
// do not allow the address to change.

import { h, sentence } from './dom.js'
import { current } from './store.js'

const SHOWN = 8000
/** The maximum length of a place in an address. With a longer address, everything that a page does takes browsers seconds. */
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

/** Goes to a place: a view and what it should show. */
export function go(...place) {
  move(`#${place.filter(part => part != null && part !== '').join('/')}`)
}

function move(place) {
  const before = location.hash
  try {
    location.hash = place
  } catch {
    // if the browser does not allow this, Firefox raises an error; Chromium only ignores it
  }
  // a change of the address is reported later, by an event
  if (location.hash === before) arrive(place)
}

function arrive(place) {
  here = place
  route()
}

/** Follows a link within the page, because the browser does not do so where the address cannot be changed. */
function followLink(event) {
  const place = event.target.closest?.('a[href^="#"]')?.getAttribute('href')
  if (!place || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  move(place)
}

/**
 * Shows the view that the address names, now and whenever the address changes. `meant` gets the name of a view (null if there is none of
 * this name), a place, and the name as written. It returns the name of the view to show, or null if it has gone elsewhere itself.
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
    fail({ message: 'the address is longer than any game' })
  }
  arrive(location.hash)
}

/** Says that the page cannot start. */
export function refuse(error) {
  main.replaceChildren(h('p', { role: 'alert' }, error.message))
}
