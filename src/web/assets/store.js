// The browser's storage: the game on the board (for this tab), and games that ended or were left (for all tabs).
// Input and output: plain values. If the browser stores nothing, that is not an error.

const GAMES = 'petteia.games'
const MOST = 40

function read(storage, name) {
  try {
    return JSON.parse(storage().getItem(name))
  } catch {
    return null
  }
}

function write(storage, name, value) {
  try {
    storage().setItem(name, JSON.stringify(value))
  } catch {
    // the storage is full, or not permitted
  }
}

const tab = () => sessionStorage
const all = () => localStorage

export const current = {
  read: name => read(tab, `petteia.${name}`),
  write: (name, value) => write(tab, `petteia.${name}`, value),
}

export const settings = {
  read: () => read(all, 'petteia.settings') ?? {},
  write: value => write(all, 'petteia.settings', value),
}

/** An id for a game, which identifies it when it has more actions. */
export const newId = () => Math.random().toString(36).slice(2)

/** Whether `other` is an earlier state of the game, left before its end. */
const continued = (other, game) => other.outcome == null && other.id != null && other.id === game?.id

export const own = {
  list: () => read(all, GAMES) ?? [],
  /** The games except the one on the board. */
  beside(game) {
    return this.list().filter(other => !continued(other, game))
  },
  others(game) {
    const same = other => ['game', 'options', 'start', 'actions', 'resigned'].every(key => JSON.stringify(other[key] ?? null) === JSON.stringify(game[key] ?? null))
    return this.list().filter(other => !same(other))
  },
  add(game) {
    const games = [game, ...this.others(game).filter(other => !continued(other, game))]
    // the newest first
    write(all, GAMES, games.sort((a, b) => b.date.localeCompare(a.date)).slice(0, MOST))
  },
  remove(game) {
    write(all, GAMES, this.others(game))
  },
}
