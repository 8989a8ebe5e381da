// A game in an address: `#at/GAME/...`, which opens it in the view "Play".
// Input and output: a game as the page holds it. This file only reads what someone wrote into an address; the rules decide
// whether that is a game.

/** The largest number of letters of a game in an address. */
const MOST = 20000

const isText = value => typeof value === 'string'

/** Returns the place in an address that means a game. */
export function placeOf({ game, options, start, actions, resigned }) {
  const parts = [start ?? null, actions, resigned ?? null, ...(Object.keys(options ?? {}).length ? [options] : [])]
  return `at/${game}/${encodeURIComponent(JSON.stringify(parts))}`
}

/** Returns the game of a place without its `at/`; null if it is not a game. */
export function gameAt(place) {
  const [game, ...rest] = place.split('/')
  if (place.length > MOST) return null
  try {
    const [start, actions, resigned, options] = JSON.parse(decodeURIComponent(rest.join('/')))
    const right = (start === null || isText(start)) && Array.isArray(actions) && actions.every(isText) &&
      [null, 'first', 'second'].includes(resigned ?? null) && (options === undefined || (typeof options === 'object' && options))
    return right ? { game, options: options ?? {}, start, actions, resigned: resigned ?? null } : null
  } catch {
    return null
  }
}
