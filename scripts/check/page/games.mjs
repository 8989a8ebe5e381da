// Plays a whole game of each id against an agent by clicks, three games at a time.

import { expect, openGame, playToTheEnd } from './hands.mjs'

const AT_ONCE = 3
const LONG = /custodial|^cage$|caissa/
/** Evaluations are off, so only the opponent searches. */
const QUIET = { evaluation: false }

export async function testGames({ url, open, test, shot }) {
  const page = await open({ settings: QUIET })
  await page.goto(`${url}/#play/phage`)
  await page.waitForSelector('.play option', { state: 'attached' })
  const ids = await page.getByLabel('Game', { exact: true }).locator('option').evaluateAll(options => options.map(option => option.value))
  await page.context().close()
  await test(`there are games (${ids.length})`, () => expect(ids.length >= 8, `only ${ids.join(', ')}`))
  // begins with the longest games
  const left = [...ids].sort((a, b) => LONG.test(b) - LONG.test(a))
  const worker = async () => {
    for (let id = left.shift(); id; id = left.shift()) {
      await test(`a whole game of ${id}`, () => wholeGame({ url, open, shot }, id))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

async function wholeGame({ url, open, shot }, id) {
  const page = await open({ settings: QUIET })
  await openGame(page, url, id)
  const result = await playToTheEnd(page, id.length)
  expect(/wins|draw/i.test(result), `the status line says "${result}"`)
  const actions = await page.locator('.play .move').count()
  expect(actions > 0, 'no actions are listed')
  await page.getByText(/^Your games/).click()
  expect(await page.locator('.finished li').count() === 1, 'the game is not listed among finished games')
  await shot(page, `over-${id}`)
  await page.context().close()
}
