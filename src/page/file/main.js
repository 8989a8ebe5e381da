// The page in a file: one game, to play and to watch.
// Input: the address (#play, #compare, #at/GAME/...) and what the program in the file offers.

import { get } from './api.js'
import { Compare } from './compare.js'
import { gameAt } from './links.js'
import { Play } from './play.js'
import { fail, follow, go, refuse } from './shell.js'

/** Opens games in the view for stepping through them. */
function openGames(games) {
  views.compare.showFile(games)
  go('compare', 'games')
}

const views = {
  play: new Play({ go, openGames, learn: () => {}, fail }),
  compare: new Compare({ go, playOn: game => views.play.take(game), fail }),
}

/** The view that a place means; a game in the address goes on the board. */
function meant(wanted, place, name) {
  if (name === 'at') {
    const game = gameAt(place)
    if (game?.game === only) views.play.take(game)
    else fail({ message: game ? `the address has a game of ${game.game}, and this page plays ${only}` : 'the address has no game that can be read' })
    if (game?.game === only) return null
  }
  const tab = wanted ?? 'play'
  if (tab !== 'play' || place === only) return tab
  go('play', only)
  return null
}

let only

async function begin() {
  try {
    const home = await get('home')
    only = home.games[0].id
    document.getElementById('program').textContent = home.program
    for (const view of Object.values(views)) view.offerHome(home)
    follow(views, meant)
  } catch (error) {
    refuse(error)
  }
}

begin()
