// The browser's storage: the game on the board (for this tab), games that ended or were left, and texts (for all tabs).
// Input and output: plain values. If the browser stores nothing, that is not an error.

const GAMES = 'petteia.games'
const MOST = 40
const TEXTS = 'petteia.texts'
const MOST_TEXTS = 12

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

/** The games that the user has written, as the program describes them, the newest first; and the text in the editor. */
export const texts = {
  list: () => read(all, TEXTS) ?? [],
  put(game) {
    write(all, TEXTS, [game, ...this.list().filter(({ id }) => id !== game.id)].slice(0, MOST_TEXTS))
  },
  remove(id) {
    write(all, TEXTS, this.list().filter(game => game.id !== id))
  },
  get draft() {
    return read(all, 'petteia.draft')
  },
  set draft(text) {
    write(all, 'petteia.draft', text)
  },
}

/** An id for a game, which identifies it when it has more actions. */
export const newId = () => Math.random().toString(36).slice(2)

/** Whether a game of many actions begins with those of another. */
export const begins = (game, other) => other.actions.every((action, ply) => action === game.actions[ply])

/** Whether `other` is an earlier state of the game, left before its end. */
const continued = (other, game) => other.outcome == null && other.id != null && other.id === game?.id && begins(game, other)

/** Whether two games are the same, whoever played them. */
const same = (one, other) =>
  ['game', 'options', 'start', 'actions', 'resigned'].every(key => JSON.stringify(one[key] ?? null) === JSON.stringify(other[key] ?? null))

export const own = {
  list: () => read(all, GAMES) ?? [],
  /** The games except the one on the board. */
  beside(game) {
    return this.list().filter(other => !continued(other, game))
  },
  /** Adds a game, unless another tab has already left or ended it later. */
  add(game) {
    const others = this.list().filter(other => !same(other, game))
    if (others.some(other => continued(game, other) && game.actions.length < other.actions.length)) return
    // the newest first
    const games = [game, ...others.filter(other => !continued(other, game))].sort((a, b) => b.date.localeCompare(a.date))
    // of too many, the oldest that ended goes first
    const ended = games.findLastIndex(other => other.outcome != null && other !== game)
    if (games.length > MOST) games.splice(ended < 0 ? MOST : ended, 1)
    write(all, GAMES, games)
  },
  /** Notes what was found out about a game, if it is there. */
  note(game, found) {
    write(all, GAMES, this.list().map(other => (same(other, game) ? { ...other, ...found } : other)))
  },
  remove(game) {
    write(all, GAMES, this.list().filter(other => !same(other, game)))
  },
  /** Forgets what was left of a game of which actions are taken back. */
  forget(game) {
    write(all, GAMES, this.beside(game))
  },
}
