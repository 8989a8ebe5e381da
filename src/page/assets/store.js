// The browser's storage: the game on the board (for this tab), games that ended or were left unfinished, and texts (for all tabs).
// Input and output: plain values. It is not an error if the browser stores nothing.

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
    // the storage is full or not permitted
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

/** The games that the user has written, as the program describes them, newest first, and the text in the editor. */
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

/** Returns an id for a game, which still identifies the game when it has more actions. */
export const newId = () => Math.random().toString(36).slice(2)

/** Returns whether a game begins with all actions of another one. */
export const begins = (game, other) => other.actions.every((action, ply) => action === game.actions[ply])

/** Returns whether `other` is an earlier state of the game, left before the game ended. */
const continued = (other, game) => other.outcome == null && other.id != null && other.id === game?.id && begins(game, other)

/** Returns whether two games are the same, whoever played them. */
const same = (one, other) =>
  ['game', 'options', 'start', 'actions', 'resigned'].every(key => JSON.stringify(one[key] ?? null) === JSON.stringify(other[key] ?? null))

export const own = {
  list: () => read(all, GAMES) ?? [],
  /** Returns the games except the one on the board. */
  beside(game) {
    return this.list().filter(other => !continued(other, game))
  },
  /** Adds a game, unless another tab already has a later state of it. */
  add(game) {
    const others = this.list().filter(other => !same(other, game))
    if (others.some(other => continued(game, other) && game.actions.length < other.actions.length)) return
    // newest first
    const games = [game, ...others.filter(other => !continued(other, game))].sort((a, b) => b.date.localeCompare(a.date))
    // if there are too many, the oldest one that has ended goes first
    const ended = games.findLastIndex(other => other.outcome != null && other !== game)
    if (games.length > MOST) games.splice(ended < 0 ? MOST : ended, 1)
    write(all, GAMES, games)
  },
  /** Adds what was found out about a game, if the game is there. */
  note(game, found) {
    write(all, GAMES, this.list().map(other => (same(other, game) ? { ...other, ...found } : other)))
  },
  remove(game) {
    write(all, GAMES, this.list().filter(other => !same(other, game)))
  },
  /** Forgets the unfinished state of a game whose actions are being taken back. */
  forget(game) {
    write(all, GAMES, this.beside(game))
  },
}
