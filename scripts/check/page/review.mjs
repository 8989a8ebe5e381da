// The "Play" view: review of a finished game. Its mistakes match the numbers in the terminal, and the user can leave variations again.

import fs from 'node:fs'
import { execFileSync } from 'node:child_process'

import { clickSquare, expect, leaveVariation, named, openAnalysis, openGame, untilState } from './hands.mjs'

const GAME = 'connect-four'
const ACTIONS = ['4', '1', '4', '1', '3', '7', '5', '2', '6']
const moves = page => page.locator('.play .move').evaluateAll(buttons => buttons.map(button => button.querySelector('span').textContent))
const places = (page, kind) => page.locator(`.play .square.${kind}`).evaluateAll(squares => squares.map(square => square.dataset.place))
const status = page => page.locator('.play .status').textContent()
const where = page => page.locator('.play .where').textContent()
const isOnBoard = page => page.evaluate(() => document.activeElement.matches('.play .board-holder'))
const reviewed = page => page.waitForFunction(() => /Judged by the searches/.test(document.querySelector('.play .review .words').textContent))

/** Puts a game on the board, against an agent that searches (the review needs one). */
async function put(page, url, actions) {
  await page.goto(url)
  const kept = { record: { game: GAME, options: {}, start: null, actions, id: 'x', own: true }, side: 'first', opponent: { name: 'random playouts', strength: 'usual' } }
  await page.evaluate(([game, kept]) => sessionStorage.setItem(`petteia.play.${game}`, JSON.stringify(kept)), [GAME, kept])
  await page.goto(`${url}/#play/${GAME}`)
  await page.reload()
  await untilState(page, 'yours', 'over')
}

/** The terminal's review: for each mistake, the ply and the two scores in hundredths. */
async function ofTerminal(page, folder, program) {
  const token = await page.locator('meta[name=token]').getAttribute('content')
  const saved = await page.evaluate(async ([game, actions, token]) => {
    const headers = { 'x-petteia-token': token, 'content-type': 'application/json' }
    return (await fetch('/api/save', { method: 'POST', headers, body: JSON.stringify({ game, actions }) })).json()
  }, [GAME, ACTIONS, token])
  const file = `${folder}/review.json`
  fs.writeFileSync(file, saved.text)
  const said = execFileSync(program, ['play', GAME, '--opponent', 'rollout:400'], { input: `load ${file}\nreview\nquit\n`, encoding: 'utf8' })
  const lines = said.replace(/\s+/g, ' ').matchAll(/ply (\d+): \w+ (?:\(\w\) )?plays (\S+) and goes from ([\d.]+) to ([\d.]+); better (\S+) /g)
  return [...lines].map(([, ply, played, could, got, better]) => ({ ply: Number(ply), played, could: Math.round(100 * could), got: Math.round(100 * got), better }))
}

export async function testReview({ url, open, test, shot, folder, program }) {
  const page = await open()

  await test('the review of a finished game lists the same mistakes as the terminal', async () => {
    await put(page, url, ACTIONS)
    expect(await page.locator('.play .review').isHidden(), 'the game is reviewed without a request')
    await shot(page, 'over')
    await named(page, 'Look at the game').click()
    await reviewed(page)
    const found = await page.locator('.play .mistakes li').allTextContents()
    const told = await ofTerminal(page, folder, program)
    expect(told.length > 0, 'the terminal finds no mistake')
    for (const { ply, played, could, got, better } of told) {
      const entry = found.find(text => text.startsWith(`${ply + 1}. `))
      const [, from, to] = entry?.match(/from (\d+)\s% to (\d+)\s%/) ?? []
      expect(entry?.includes(`played ${played} `) && entry.includes(`; ${better} was better.`), `${ply}: ${entry}`)
      // the terminal and the page may round hundredths in different directions
      expect(Math.abs(from - could) <= 1 && Math.abs(to - got) <= 1, `${ply}: ${entry}, but ${could} to ${got}`)
    }
    // the terminal lists the five largest mistakes
    expect(Math.min(5, found.length) === told.length, `${found.length} mistakes, but ${told.length} in the terminal`)
    await shot(page, 'review')
  })

  await test('mistakes are marked on the graph, in the list and on the board', async () => {
    const count = await page.locator('.play .mistakes li').count()
    const dots = await page.locator('.play .graph-mistakes').getAttribute('d')
    expect(dots.split('M').length - 1 === count, `${dots} for ${count} mistakes`)
    const lost = await page.locator('.play .move .lost').allTextContents()
    expect(lost.length === count && lost.every(text => /^ −\d+$/.test(text)), lost.join())
    // the board shows the first mistake
    await untilState(page, 'past')
    expect(/ played \S+ and went from \d+\s% to \d+\s%; \S+ was better/.test(await status(page)), await status(page))
    expect(await page.locator('.play .b-heat, .play .b-arrow').count() > 0 && await page.locator('.play .b-prior-heat, .play .b-prior').count() > 0, 'the board has no marks')
    const last = page.locator('.play .mistakes button').last()
    await last.focus()
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelector('.play .mistakes li:last-child button').hasAttribute('aria-current'))
    expect((await last.textContent()).startsWith(`${Number((await where(page)).split(' ')[0]) + 1}. `), await where(page))
  })

  await test('playing and leaving a variation does not change the game', async () => {
    const before = await moves(page)
    const ply = Number((await where(page)).split(' ')[0])
    const mover = ply % 2 ? 'second' : 'first'
    await page.getByLabel('You play', { exact: true }).selectOption('both')
    await untilState(page, 'over')
    await page.locator('.play .move').nth(ply - 1).click()
    await untilState(page, 'past')
    await named(page, 'Play on from here').click()
    await untilState(page, 'yours')
    expect(await isOnBoard(page), '“Play on from here” loses the focus')
    const banner = page.getByRole('group', { name: 'Variation' })
    expect((await banner.textContent()).includes(`from action ${ply + 1} on`), `${mover}: ${await banner.textContent()}`)
    await clickSquare(page, (await places(page, 'column'))[0])
    await page.waitForFunction(count => document.querySelectorAll('.play .move').length === count, ply + 1)
    await untilState(page, 'yours')
    const varied = await moves(page)
    await shot(page, 'variation')
    await page.reload()
    await untilState(page, 'yours')
    expect((await moves(page)).join() === varied.join() && await banner.isVisible(), 'the variation is gone after a reload')
    await named(page, 'Back to the game').click()
    await untilState(page, 'past')
    expect((await moves(page)).join() === before.join() && await banner.isHidden(), 'the game has changed')
    expect(await isOnBoard(page), '“Back to the game” loses the focus')
    expect((await where(page)).startsWith(`${ply} of`), await where(page))
    // the variation is kept, too, and the game is kept once
    const kept = await page.evaluate(() => JSON.parse(localStorage.getItem('petteia.games')).map(game => [game.actions.join(), game.outcome]))
    expect(kept.filter(([actions]) => actions === before.join()).length === 1, JSON.stringify(kept))
    expect(kept.some(([actions, outcome]) => actions === varied.join() && outcome == null), JSON.stringify(kept))
  })

  await test('a variation of a game in progress leaves it in progress', async () => {
    await openGame(page, url, 'tic-tac-toe')
    await page.getByLabel('You play', { exact: true }).selectOption('first')
    await untilState(page, 'yours')
    await clickSquare(page, (await places(page, 'target'))[0])
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
    const before = await moves(page)
    await named(page, 'To the start').click()
    await untilState(page, 'past')
    // clicking a board that cannot be used explains why
    await clickSquare(page, '1,1')
    await page.waitForFunction(() => /“Play on from here” begins a variation/.test(document.querySelector('.play .status').textContent))
    await named(page, 'Play on from here').click()
    await untilState(page, 'yours')
    await clickSquare(page, (await places(page, 'target')).at(-1))
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
    expect((await moves(page))[0] !== before[0], 'the actions are not those of a variation')
    // another variation replaces the first one, not the game
    await named(page, 'To the start').click()
    await untilState(page, 'past')
    await leaveVariation(page)
    await untilState(page, 'yours')
    expect((await moves(page)).join() === before.join(), 'the game has changed')
    await clickSquare(page, (await places(page, 'target'))[0])
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length > 2)
  })

  await test('perfect play, where included, gives hints and reviews', async () => {
    await openGame(page, url, 'tic-tac-toe', /^shipped agent/)
    await page.getByLabel('You play', { exact: true }).selectOption('both')
    await untilState(page, 'yours')
    const asked = page.waitForRequest(request => request.url().endsWith('/api/search'))
    await named(page, 'Hint').click()
    const { agent, level } = (await asked).postDataJSON()
    expect(agent === 'shipped' && level == null, `the hint comes from ${agent} at level ${level}`)
    await page.waitForFunction(() => /Hint: [a-c][1-3]\./.test(document.querySelector('.play .status').textContent))
    for (const [index, action] of ['a1', 'b1'].entries()) {
      await page.getByLabel('Type an action', { exact: true }).fill(action)
      await page.getByLabel('Type an action', { exact: true }).press('Enter')
      await page.waitForFunction(count => document.querySelectorAll('.play .move').length === count, index + 1)
      await untilState(page, 'yours')
    }
    await openAnalysis(page)
    await named(page, 'Review the game so far').click()
    await page.waitForFunction(() => /Judged by perfect play\.$/.test(document.querySelector('.play .review .words').textContent))
    const found = await page.locator('.play .mistakes li').allTextContents()
    expect(found.length === 1 && /^2\. O played b1 and lost 50 points: from 50\s% to 0\s%/.test(found[0]), found.join('; '))
    await page.waitForFunction(() => /^X 50 % · a draw with perfect play/.test(document.querySelector('.play .thoughts').textContent))
    await page.getByLabel('Visits', { exact: true }).check()
    const words = () => page.locator('.play .thoughts').textContent()
    await page.waitForFunction(() => /needs no search/.test(document.querySelector('.play .thoughts').textContent))
    expect(!/simulations/.test(await words()) && await page.locator('.play .shares').isHidden(), await words())
    await page.getByLabel('Visits', { exact: true }).uncheck()
    await shot(page, 'perfect-play')
  })

  await test('analysis shown for a finished game is off in the next one', async () => {
    await put(page, url, ACTIONS)
    await openAnalysis(page)
    for (const layer of ['Visits', 'Expected line']) await page.getByLabel(layer, { exact: true }).check()
    expect(await page.getByLabel('Evaluate', { exact: true }).isChecked(), 'a game that is over is not evaluated')
    await clickSquare(page, '0,0')
    await page.waitForFunction(() => /The game is over/.test(document.querySelector('.play .status').textContent))
    await named(page, 'Play again').click()
    await untilState(page, 'yours')
    expect(await isOnBoard(page), '“Play again” loses the focus')
    for (const layer of ['Evaluate', 'Visits', 'Priors', 'Expected line']) {
      expect(!await page.getByLabel(layer, { exact: true }).isChecked(), `"${layer}" is on in the next game`)
    }
    // layers turned on during a game stay on
    await page.getByLabel('Priors', { exact: true }).check()
    await page.reload()
    await untilState(page, 'yours')
    await openAnalysis(page)
    expect(await page.getByLabel('Priors', { exact: true }).isChecked(), 'the layer is off again')
    expect(/priors/.test(await page.locator('.play .fold summary').textContent()), 'the fold does not name the layer')
    await page.getByLabel('Priors', { exact: true }).uncheck()
  })
  await page.context().close()
}
