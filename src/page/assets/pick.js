// Turns clicked squares into an action, for any game.
// Input: legal actions with the squares that they touch, in order, and the squares clicked so far.
// Output: the action to play, the actions that must be chosen by text, and which squares can be clicked next.

const same = (a, b) => a[0] === b[0] && a[1] === b[1]
export const key = place => place.join(',')
const end = action => action.places.at(-1)

/** Returns whether the squares `clicked` occur in `places` in this order, beginning with the first square of `places`. */
function fits({ places }, clicked) {
  if (!places.length || !same(places[0], clicked[0])) return false
  let at = 0
  return clicked.slice(1).every(square => {
    at = places.findIndex((place, index) => index > at && same(place, square))
    return at > 0
  })
}

/** Returns whether the last click completed the action. */
function complete(action, clicked) {
  return same(end(action), clicked.at(-1)) && (action.places.length === 1 || clicked.length > 1)
}

export function pick(legal, clicked) {
  const left = legal.filter(action => fits(action, clicked))
  const done = left.filter(action => complete(action, clicked))
  const longer = left.filter(action => !done.includes(action))
  const before = clicked.slice(0, -1)
  // whether a longer action can instead be chosen by a click on its last square
  const elsewhere = action =>
    before.length > 0 && legal.filter(other => fits(other, [...before, end(action)]) && same(end(other), end(action))).length === 1
  if (done.length === 1 && longer.every(elsewhere)) return { play: done[0], choices: [], next: new Map() }
  return { play: null, choices: done, next: next(longer, clicked) }
}

/** Returns the squares that can be clicked next: "target" ends an action, "via" distinguishes actions with the same end. */
function next(actions, clicked) {
  const ends = new Map()
  for (const action of actions) ends.set(key(end(action)), (ends.get(key(end(action))) ?? 0) + 1)
  const squares = new Map()
  for (const action of actions) {
    const shared = ends.get(key(end(action))) > 1
    for (const place of shared ? action.places.slice(1, -1) : []) {
      if (!clicked.some(square => same(square, place))) squares.set(key(place), 'via')
    }
  }
  for (const square of ends.keys()) squares.set(square, 'target')
  return squares
}

/** Returns the squares where an action begins: "from", or "target" if the action has only this square. */
export function beginnings(legal) {
  const squares = new Map()
  for (const { places } of legal) {
    if (places.length) squares.set(key(places[0]), places.length > 1 ? 'from' : squares.get(key(places[0])) ?? 'target')
  }
  return squares
}

/** Returns the only square where an action can begin, as in a chain that must continue; null if choosing this square would complete an action. */
export function onlyBeginning(legal) {
  const first = legal[0]?.places[0]
  return first && legal.every(({ places }) => places.length > 1 && same(places[0], first)) ? first : null
}

/**
 * Returns names for the things that can be put on a square, if all squares offer the same choice ("W", "B" for "W@b2" and "B@b2"); otherwise,
 * returns an empty list.
 */
export function brushes(legal) {
  const groups = new Map()
  for (const action of legal.filter(({ places }) => places.length === 1)) {
    const square = key(action.places[0])
    groups.set(square, [...(groups.get(square) ?? []), action])
  }
  let names = null
  for (const group of groups.values()) {
    if (group.length < 2) return []
    const ours = group.map(({ text }) => brush(text))
    names ??= ours
    if (ours.join() !== names.join()) return []
  }
  return names && new Set(names).size === names.length ? names : []
}

/** Returns the part of an action's text before the "@". */
export const brush = text => text.split('@')[0]
