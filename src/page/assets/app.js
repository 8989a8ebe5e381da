// The page: the list of games and four more views, one of which is shown.
// Input: the address (#games, #play/phage, #watch/0, #compare/phage) and /api/home, which is requested from time to time.

import { get, post } from './api.js'
import { Compare } from './compare.js'
import { Editor } from './editor.js'
import { First } from './first.js'
import { gameAt } from './links.js'
import { usual } from './picker.js'
import { Play } from './play.js'
import { fresh } from './record.js'
import { fail, follow, go, refuse } from './shell.js'
import { current, texts } from './store.js'
import { Watch } from './watch.js'

const HOME = 10000
/** The number of simulations for a checkpoint that the program does not list. */
const SIMULATIONS = 100

/** Opens games in the view for stepping through them. */
function openGames(games) {
  views.compare.showFile(games)
  go('compare', 'games')
}

/** Plays against a checkpoint of a run. */
function playAgainst(run, { agent: key, generation, elo }) {
  const known = views.play.home.agents[run.game]?.find(agent => agent.key === key)
  const name = `${run.name}, generation ${generation}`
  const made = { key, name, kind: 'trained', simulations: SIMULATIONS, elo, generation, options: run.options ?? {} }
  views.play.challenge(run.game, known ?? made)
}

/** Returns what the program offers, together with the newest texts of the games that the user has written. */
function withOwn(home) {
  const own = texts.list().filter(({ id }) => home.games.every(game => game.id !== id || game.origin === 'run'))
  const games = [...home.games.filter(({ id }) => own.every(game => game.id !== id)), ...own]
  return { ...home, games, agents: Object.fromEntries(games.map(({ id }) => [id, home.agents[id] ?? home.plain])) }
}

let offered

function offer(home = offered) {
  offered = home
  const all = withOwn(home)
  for (const view of Object.values(views)) view.offerHome(all)
}

/** Adds a game to those that the user has written, unless the page already has it. */
function addText({ game, svg }) {
  if (!offered.games.some(({ id, origin }) => id === game.id && origin !== 'run')) texts.put({ ...game, svg })
  offer()
}

/** Adds a game whose rules only this record has. */
async function learn({ options }) {
  const answer = options?.text ? await post('text', { text: options.text }) : {}
  if (answer.game && !answer.taken) addText(answer)
}

/** Plays a game that the user has written: continues the game in progress, unless it is over or has another text. */
function playText(answer) {
  addText(answer)
  const { id } = answer.game
  const options = usual(views.play.home.games.find(game => game.id === id))
  const kept = current.read(`play.${id}`)
  if (kept && kept.record.options?.text === options.text && !kept.record.over) go('play', id)
  else views.play.replace(fresh(id, options), kept ?? {})
}

function edit(text) {
  views.write.begin(text)
  go('write')
}

function forgetText({ id }) {
  texts.remove(id)
  offer()
}

const playOn = game => views.play.take(game)
const views = {
  games: new First({ resume: game => views.play.take(game, game.choices), edit, forget: forgetText, fail }),
  play: new Play({ go, openGames, learn, fail }),
  watch: new Watch({ go, playAgainst, playOn, fail }),
  compare: new Compare({ go, playOn, fail }),
  write: new Editor({ play: playText, playAgainst, refresh: async () => offer(await get('home')), fail }),
}

/** Returns the view for a place, which is the list of games until a game has been chosen. */
function meant(wanted, place, name) {
  if (name === 'at') {
    const game = gameAt(place)
    if (game) views.play.take(game)
    else fail({ message: 'the address does not contain a game that can be read' })
    return game ? null : 'games'
  }
  const tab = (wanted ?? 'play') === 'play' && !place && !current.read('place.play') ? 'games' : wanted ?? 'play'
  // the list of games to continue has the game on the board in its present state
  if (tab === 'games') views.play.shelve()
  return tab
}

async function askHome(first = false) {
  if (first || document.visibilityState === 'visible') {
    try {
      const home = await get('home')
      document.getElementById('program').textContent = home.program
      if (home.trouble) fail({ message: `The runs cannot be listed: ${home.trouble}.` })
      // if the runs cannot be read, the previous list stays
      if (first || !home.trouble) offer(home)
      if (first) {
        follow(views, meant)
        first = false
      }
    } catch (error) {
      if (first) refuse(error)
    }
  }
  setTimeout(() => askHome(first), HOME)
}

askHome(true)
