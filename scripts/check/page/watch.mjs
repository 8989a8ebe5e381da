// The "Watch" view: curves that change while a run writes, its games, and its checkpoints.

import { expect, untilState } from './hands.mjs'

export async function testWatch({ url, open, test, shot }) {
  const page = await open()

  await test('curves change while the run writes', async () => {
    await page.goto(`${url}/#watch`)
    await page.locator('.runs a', { has: page.locator('.running') }).first().click()
    await page.waitForSelector('.watch .chart', { timeout: 30000 })
    const before = await page.locator('.watch .charts').first().innerHTML()
    await page.waitForFunction(html => document.querySelector('.watch .charts')?.innerHTML !== html, before, { timeout: 30000, polling: 200 })
    await page.waitForFunction(() => /generation \d+/.test(document.querySelector('.watch .doing').textContent))
    await shot(page, 'watch-curves')
  })

  await test('the log is shown', async () => {
    await page.getByRole('link', { name: 'Log' }).click()
    await page.waitForFunction(() => document.querySelector('.watch .log').textContent.length > 20)
    await shot(page, 'watch-log')
  })

  await test('games of the newest generation', async () => {
    await page.getByRole('navigation', { name: 'Parts' }).getByRole('link', { name: 'Games' }).click()
    await page.waitForSelector('.watch .board-holder svg')
    const end = page.getByRole('button', { name: 'To the end' })
    await end.click()
    await page.waitForFunction(() => /wins|draw/i.test(document.querySelector('.watch .viewer .status').textContent))
    await page.getByRole('button', { name: 'To the start' }).click()
    await page.locator('.watch .viewer').getByLabel('Speed', { exact: true }).selectOption('120')
    await page.locator('.watch .viewer').getByRole('button', { name: 'Play', exact: true }).click()
    await page.waitForFunction(() => /^[2-9] of/.test(document.querySelector('.watch .where').textContent))
    await shot(page, 'watch-games')
  })

  await test('play against a checkpoint', async () => {
    await page.getByRole('link', { name: 'Checkpoints' }).click()
    await page.waitForSelector('.watch td button')
    await shot(page, 'watch-checkpoints')
    await page.locator('.watch td button').first().click()
    await untilState(page, 'yours', 'thinking')
    expect(/generation|live/.test(await page.getByLabel('Opponent', { exact: true }).evaluate(select => select.selectedOptions[0].textContent)), 'another opponent')
  })

  await test('a hidden page sends no requests', async () => {
    await page.goto(`${url}/#watch`)
    await page.waitForSelector('.watch .chart', { state: 'attached' })
    await page.evaluate(() => {
      Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    let asked = 0
    await page.waitForTimeout(300)
    page.on('request', () => asked++)
    await page.waitForTimeout(2600)
    expect(asked === 0, `${asked} requests`)
  })
  await page.context().close()
}
