// The page in a file: one game, to play and to watch, and the license notices of everything in the page.
// Input: the address (#play, #compare, #licenses, #at/GAME/...) and what the program in the file offers.

import { get } from './api.js'
import { Compare } from './compare.js'
import { h } from './dom.js'
import { gameAt } from './links.js'
import { Play } from './play.js'
import { fail, follow, go, refuse } from './shell.js'
import { licenses } from './source.js'

/** Opens games in the view for stepping through them. */
function openGames(games) {
  views.compare.showFile(games)
  go('compare', 'games')
}

/** The license notices of everything in the page. */
class Licenses {
  constructor() {
    this.text = h('pre.licenses')
    this.element = h('section', null, h('h1', null, 'Licenses'), this.text)
  }

  async open() {
    try {
      this.text.textContent = await licenses()
    } catch (error) {
      fail(error)
    }
  }
}

const views = {
  play: new Play({ go, openGames, learn: () => {}, fail }),
  compare: new Compare({ go, playOn: game => views.play.take(game), fail }),
  licenses: new Licenses(),
}

/** Returns the view for a place; a game in the address goes on the board. */
function meant(wanted, place, name) {
  if (name === 'at') {
    const game = gameAt(place)
    if (game?.game === only) views.play.take(game)
    else fail({ message: game ? `the address has a game of ${game.game}, but this page plays ${only}` : 'the address does not contain a game that can be read' })
    if (game?.game === only) return null
  }
  const tab = wanted ?? 'play'
  if (tab !== 'play' || place === only) return tab
  go('play', only)
  return null
}

let only

async function begin() {
  // replaces the words about a failed start; the new words appear only if loading takes long
  document.getElementById('main').replaceChildren(h('p.stuck', null, 'Loading …'))
  try {
    const home = await get('home')
    only = home.games[0].id
    document.getElementById('program').textContent = home.program
    for (const view of [views.play, views.compare]) view.offerHome(home)
    follow(views, meant)
  } catch (error) {
    refuse(error)
  }
}

begin()
