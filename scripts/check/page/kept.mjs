// The "Play" view: a game that is left is never lost, whatever replaces it, and the user's choices persist.

import { chooseOption, clickSquare, expect, gotoGame, leaveVariation, named, openGame, untilState } from './hands.mjs'

const QUIET = { evaluation: false }
const moves = page => page.locator('.play .move').allTextContents()
const places = (page, kind) => page.locator(`.play .square.${kind}`).evaluateAll(squares => squares.map(square => square.dataset.place))
const listed = page => page.locator('.own li').allTextContents()
const games = page => page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Games', exact: true })
const opponent = page => page.getByLabel('Opponent', { exact: true })
const strength = page => page.locator('.play').getByLabel('Strength', { exact: true })
const resumed = page => page.locator('.first').getByRole('button', { name: /^Play on: Connect Four, 4 actions/ })

/** Plays an action and waits for the reply, in a game where each click is an action. */
async function act(page) {
  const before = (await moves(page)).length
  await clickSquare(page, (await places(page, 'target'))[0])
  await page.waitForFunction(count => document.querySelectorAll('.play .move').length >= count + 2, before)
  await untilState(page, 'yours', 'over')
}

async function begun(page, url) {
  await openGame(page, url, 'connect-four')
  await act(page)
  return moves(page)
}

export async function testKept(tools) {
  await testGames(tools)
  await testChoices(tools)
}

async function testGames({ url, open, test, shot, folder }) {
  let page
  /** Runs a test in a browser with empty storage. */
  const kept = (name, body) => test(name, async () => {
    page = await open({ settings: QUIET })
    await body()
    await page.context().close()
  })
  const isIn = async (actions, count = 1) => {
    const games = await page.evaluate(() => JSON.parse(localStorage.getItem('petteia.games') ?? '[]'))
    expect(games.length === count, `${games.length} games are kept`)
    expect(games.some(game => game.actions.join() === actions.join()), `kept: ${games.map(game => game.actions).join('; ')}`)
    return games
  }

  await kept('a new game keeps the previous one, which can be continued', async () => {
    const before = await begun(page, url)
    expect((await listed(page)).length === 1 && /None yet/.test((await listed(page))[0]), 'the game on the board is listed')
    await named(page, 'New game').click()
    await page.waitForFunction(() => /“Your games”/.test(document.querySelector('.play .status').textContent))
    await shot(page, 'kept')
    await isIn(before)
    await page.getByText(/^Your games \(1\)/).click()
    expect(/Connect Four: not finished/.test((await listed(page))[0]), (await listed(page))[0])
    await shot(page, 'your-games', { fullPage: true })
    // a game in which the user has not acted is not kept
    await named(page, 'New game').click()
    await untilState(page, 'yours')
    await isIn(before)
    await page.locator('.own').getByRole('button', { name: 'Play on', exact: true }).click()
    await page.waitForFunction(count => document.querySelectorAll('.play .move').length === count, before.length)
    await untilState(page, 'yours')
    expect((await moves(page)).join() === before.join(), 'a different game continues')
    // when the game is left again, it is still the same game
    await act(page)
    const longer = await moves(page)
    await named(page, 'New game').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
    await isIn(longer)
  })

  await kept('a game that is left and later finished is listed once', async () => {
    await begun(page, url)
    await named(page, 'New game').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
    await page.getByText(/^Your games \(1\)/).click()
    await page.locator('.own').getByRole('button', { name: 'Play on', exact: true }).click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
    await untilState(page, 'yours')
    await named(page, 'Resign').click()
    await named(page, 'Yes, resign').click()
    await untilState(page, 'over')
    const [game] = await isIn(await moves(page))
    expect(game.outcome === 'second', JSON.stringify(game))
    await named(page, 'New game').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
    await isIn(game.actions)
  })

  await kept('a finished game is shown again as it was', async () => {
    await begun(page, url)
    await page.getByLabel('You play', { exact: true }).selectOption('second')
    await untilState(page, 'yours', 'over')
    await named(page, 'Resign').click()
    await named(page, 'Yes, resign').click()
    await untilState(page, 'over')
    const [before] = await isIn(await moves(page))
    expect(before.date, 'the game has no date')
    await page.goto(`${url}/#play/tic-tac-toe`)
    await page.waitForSelector('.play[data-game="tic-tac-toe"]')
    await untilState(page, 'yours', 'thinking')
    await page.getByText(/^Your games \(1\)/).click()
    await page.locator('.own').getByRole('button', { name: 'Look', exact: true }).click()
    await page.waitForSelector('.play[data-game="connect-four"]')
    await untilState(page, 'over')
    const [after] = await isIn(before.actions)
    expect(after.date === before.date && after.outcome === 'first', JSON.stringify(after))
    expect(await page.getByLabel('You play', { exact: true }).inputValue() === 'second', 'the user plays the wrong side')
    await named(page, 'Look at the game').click()
    await page.waitForFunction(() => /Judged by the searches/.test(document.querySelector('.play .review .words').textContent))
    await isIn(before.actions)
  })

  await kept('an earlier state of a game never replaces a later one', async () => {
    await begun(page, url)
    await page.reload()
    await untilState(page, 'yours')
    // another tab also continues the game
    const other = await page.context().newPage()
    await other.goto(url)
    await other.locator('.first').getByRole('button', { name: /^Play on: Connect Four, 2 actions/ }).click()
    await untilState(other, 'yours')
    await act(page)
    const longer = await moves(page)
    await games(page).click()
    await resumed(page).click()
    await untilState(page, 'yours')
    expect((await moves(page)).join() === longer.join(), `${await moves(page)} instead of ${longer}`)
    await isIn(longer)
    await games(other).click()
    await resumed(other).click()
    await untilState(other, 'yours')
    expect((await moves(other)).join() === longer.join(), `${await moves(other)} instead of ${longer} in another tab`)
    await isIn(longer)
  })

  await kept('a finished game names its opponent, whatever is chosen next', async () => {
    await openGame(page, url, 'tic-tac-toe', /^shipped agent/)
    await act(page)
    await named(page, 'Resign').click()
    await named(page, 'Yes, resign').click()
    await untilState(page, 'over')
    const [before] = await isIn(await moves(page))
    expect(before.opponent === 'shipped agent, level 1', before.opponent)
    expect(/against shipped agent, level 1/.test((await listed(page))[0]), (await listed(page))[0])
    const expectSame = async after => {
      await untilState(page, 'over')
      const [game] = await isIn(before.actions)
      expect(JSON.stringify(game) === JSON.stringify(before), `after ${after}: ${JSON.stringify(game)}`)
    }
    await page.getByLabel('You play', { exact: true }).selectOption('both')
    await expectSame('another side')
    await chooseOption(opponent(page), /^random$/)
    await expectSame('another opponent')
    await page.reload()
    await expectSame('a reload')
    await named(page, 'Back').click()
    await untilState(page, 'past')
    await leaveVariation(page)
    await expectSame('a variation')
    await page.getByText('Position and files').click()
    const [download] = await Promise.all([page.waitForEvent('download'), named(page, 'Save game').click()])
    await download.saveAs(`${folder}/ended.json`)
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), named(page, 'Load games …').click()])
    await chooser.setFiles(`${folder}/ended.json`)
    // after loading a game, the user has the side to move
    await page.waitForFunction(() => document.querySelector('.play [aria-label="You play"]').value === 'first')
    await expectSame('it was loaded')
  })

  await kept('a variation that was left still leads back to its game', async () => {
    const before = await begun(page, url)
    await named(page, 'Back').click()
    await untilState(page, 'past')
    await named(page, 'Play on from here').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
    await act(page)
    const varied = await moves(page)
    await named(page, 'New game').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
    await isIn(varied, 2)
    await page.getByText(/^Your games \(2\)/).click()
    await page.locator('.own').getByRole('button', { name: 'Play on', exact: true }).first().click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 4)
    await untilState(page, 'yours')
    expect((await moves(page)).join() === varied.join(), 'a different game continues')
    await named(page, 'Back to the game').click()
    // the opponent may have played the same action again
    await untilState(page, 'past', 'yours')
    expect((await moves(page)).join() === before.join(), 'it leads to a different game')
    await isIn(before, 2)
  })

  await kept('games of another program are not offered, and finished games are dropped first', async () => {
    await page.goto(url)
    await page.evaluate(() => {
      const opponent = { name: 'random', strength: '' }
      const game = (_, index) => ({
        game: index === 38 ? 'no-such-game' : 'connect-four', options: {}, start: null, actions: [`${index}`], resigned: null, id: `${index}`,
        date: new Date(Date.UTC(2020, 0, 1, 0, index)).toISOString(), outcome: index === 39 ? 'first' : null, text: 'a game',
        choices: { side: 'first', opponent }, opponent: 'random', scores: [],
      })
      localStorage.setItem('petteia.games', JSON.stringify(Array.from({ length: 40 }, game)))
    })
    const last = await begun(page, url)
    await named(page, 'New game').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
    const left = await isIn(last, 40)
    expect(left.every(game => game.outcome == null) && left.some(({ id }) => id === '0'), 'an unfinished game was dropped')
    await page.getByText(/^Your games \(39\)/).waitFor()
    await games(page).click()
    await page.locator('.first .left li').first().waitFor()
    const offered = await page.locator('.first .left li').allTextContents()
    expect(offered.length === 3 && !offered.join().includes('no-such-game'), offered.join('; '))
  })

  await kept('"Start from", "Play on from here", and a loaded game keep the previous game', async () => {
    let before = await begun(page, url)
    await page.getByText('Position and files').click()
    const file = `${folder}/kept.json`
    const [download] = await Promise.all([page.waitForEvent('download'), named(page, 'Save game').click()])
    await download.saveAs(file)
    await page.getByLabel('Start from', { exact: true }).fill(await page.getByLabel('Position', { exact: true }).inputValue())
    await named(page, 'Start').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
    await isIn(before)
    await act(page)
    before = await moves(page)
    await named(page, 'Back').click()
    await untilState(page, 'past')
    await named(page, 'Play on from here').click()
    await untilState(page, 'yours', 'thinking')
    await isIn(before, 2)
    await untilState(page, 'yours')
    await act(page)
    before = await moves(page)
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), named(page, 'Load games …').click()])
    await chooser.setFiles(file)
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await isIn(before, 3)
    // a game that was only loaded is still in its file
    await named(page, 'New game').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
    await isIn(before, 3)
  })

  await kept('another game, an opponent from elsewhere, and a closed tab keep the previous game', async () => {
    const before = await begun(page, url)
    await page.getByLabel('Game', { exact: true }).selectOption('tic-tac-toe')
    await page.waitForSelector('.play[data-game="tic-tac-toe"]')
    await untilState(page, 'yours')
    await isIn(before)
    await act(page)
    const other = await moves(page)
    // the opponent is a checkpoint of a run
    await page.goto(`${url}/#watch`)
    await page.locator('.runs a', { hasText: 'done' }).click()
    await page.getByRole('link', { name: 'Checkpoints' }).click()
    await page.getByRole('button', { name: 'Play against generation 1' }).click()
    await untilState(page, 'yours')
    expect((await moves(page)).length === 0, 'it is not a new game')
    await isIn(other, 2)
    await gotoGame(page, url, 'connect-four')
    expect((await moves(page)).join() === before.join(), 'the unfinished game is not back on the board')
    await act(page)
    const last = await moves(page)
    // at this address, the browser requests its own icon
    page.expectsErrors = true
    await page.goto(`${url}/assets/style.css`)
    await page.goto(`${url}/#play/phage`)
    await page.waitForSelector('.play option', { state: 'attached' })
    await isIn(last, 2)
  })

  await kept('an opponent trained with other options keeps the previous game', async () => {
    const learned = {
      key: 'run-9-1', name: 'other, generation 1', kind: 'trained', simulations: 100, elo: null, generation: 1, run: 9,
      options: { queen_exchange: true },
    }
    await openGame(page, url, 'caissa')
    await clickSquare(page, (await places(page, 'from'))[0])
    await clickSquare(page, (await places(page, 'target'))[0])
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
    await untilState(page, 'yours')
    const before = await moves(page)
    await page.route('**/api/home', async route => {
      const home = await (await route.fetch()).json()
      home.agents.caissa.push(learned)
      await route.fulfill({ json: home })
    })
    await page.reload()
    await untilState(page, 'yours')
    expect((await moves(page)).join() === before.join(), 'the game is not the same after a reload')
    await chooseOption(page.getByLabel('Opponent', { exact: true }), /^other/)
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
    await page.waitForFunction(() => /other options.*“Your games”/.test(document.querySelector('.play .status').textContent))
    await isIn(before)
    await page.unroute('**/api/home')
  })
}

async function testChoices({ url, open, test }) {
  const page = await open({ settings: QUIET })
  const chosen = () => opponent(page).evaluate(select => select.selectedOptions[0].textContent)

  await test('the strength persists, and is level 5 if none was chosen', async () => {
    await openGame(page, url, 'tic-tac-toe', /playouts/)
    await strength(page).selectOption('seconds')
    await page.getByLabel('Seconds', { exact: true }).fill('30')
    await page.getByLabel('Seconds', { exact: true }).press('Enter')
    const expectSeconds = async after => {
      const found = [await strength(page).inputValue(), await page.getByLabel('Seconds', { exact: true }).inputValue()]
      expect(found.join() === 'seconds,30', `${found} after ${after}`)
    }
    await named(page, 'New game').click()
    await untilState(page, 'yours')
    await expectSeconds('a new game')
    await page.reload()
    await untilState(page, 'yours')
    await expectSeconds('a reload')
    // the user's choices also apply to games that are opened for the first time
    await chooseOption(opponent(page), /^done, generation 2/)
    await strength(page).selectOption('usual')
    for (const id of ['cage-4', 'phage']) {
      await gotoGame(page, url, 'tic-tac-toe')
      await gotoGame(page, url, id)
      expect(await strength(page).inputValue() === 'level-5', `${id}: ${await strength(page).inputValue()}`)
    }
  })

  await test('an opponent that is no longer listed stays selected, and is reported if it is gone', async () => {
    await openGame(page, url, 'tic-tac-toe', /^done, generation 1/)
    await page.route('**/api/home', async route => {
      const home = await (await route.fetch()).json()
      home.agents['tic-tac-toe'] = home.agents['tic-tac-toe'].filter(({ name }) => name !== 'done, generation 1')
      await route.fulfill({ json: home })
    })
    await page.reload()
    await untilState(page, 'yours')
    expect(/^done, generation 1/.test(await chosen()), await chosen())
    await page.unroute('**/api/home')
    await page.evaluate(() => {
      const kept = JSON.parse(sessionStorage.getItem('petteia.play.tic-tac-toe'))
      sessionStorage.setItem('petteia.play.tic-tac-toe', JSON.stringify({ ...kept, opponent: { name: 'gone, generation 7', strength: 'usual' } }))
    })
    await page.reload()
    await page.waitForFunction(() => /gone, generation 7 is no longer available/.test(document.querySelector('.play .status')?.textContent))
    expect(/^shipped agent/.test(await chosen()) && await strength(page).inputValue() === 'level-5', `${await chosen()} at ${await strength(page).inputValue()}`)
  })
  await page.context().close()
}
