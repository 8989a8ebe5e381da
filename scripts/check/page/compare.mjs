// The "Compare" view: a game between two agents, and a match file.

import { chooseOption, expect } from './hands.mjs'

export async function testCompare({ url, open, test, shot, match }) {
  const page = await open()
  const compare = page.locator('.compare')

  await test('two agents play a game', async () => {
    await page.goto(`${url}/#compare/tic-tac-toe`)
    await compare.getByLabel('First agent', { exact: true }).waitFor()
    await chooseOption(compare.getByLabel('First agent', { exact: true }), /generation|playouts/)
    await chooseOption(compare.getByLabel('Second agent', { exact: true }), /playouts/)
    await compare.getByLabel('Pause between actions', { exact: true }).selectOption('0')
    await compare.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForFunction(() => /First agent [0-9½]+, second/.test(document.querySelector('.compare .tally').textContent), null, { timeout: 30000 })
    await shot(page, 'compare')
    await page.waitForFunction(() => /^Game 2/.test(document.querySelector('.compare .tally').textContent), null, { timeout: 30000 })
    await compare.getByRole('button', { name: 'Pause', exact: true }).click()
    await compare.getByRole('button', { name: 'Start', exact: true }).waitFor()
  })

  await test('the button and the f key flip the board of two agents', async () => {
    const flip = compare.getByRole('button', { name: 'Flip board', exact: true }).first()
    const turned = wanted => page.waitForFunction(wanted => {
      const at = place => document.querySelector(`.compare .stage [data-place="${place}"]`)?.getBoundingClientRect().top
      return at('7,0') !== undefined && at('0,0') > at('7,0') === wanted
    }, wanted)
    await page.goto(`${url}/#compare/phage`)
    await turned(false)
    await flip.click()
    await turned(true)
    await shot(page, 'compare-flipped')
    await page.keyboard.press('f')
    await turned(false)
    await page.goto(`${url}/#compare/connect-four`)
    await flip.waitFor({ state: 'hidden' })
  })

  if (match) await test('a match file can be stepped through', async () => {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), compare.getByRole('button', { name: 'Open a match file' }).click()])
    await chooser.setFiles(match)
    const games = compare.getByLabel('Games', { exact: true })
    await games.waitFor()
    expect(await games.locator('option').count() === 4, 'not all games are listed')
    const names = await games.locator('option').allTextContents()
    expect(names.every(name => /^[01½] to [01½]: .+ against /.test(name)), `no result at the front: ${names.join('; ')}`)
    await games.selectOption({ index: 2 })
    await compare.locator('.viewer').getByRole('button', { name: 'To the end' }).click()
    await page.waitForFunction(() => /wins|draw/i.test(document.querySelector('.compare .viewer .status').textContent))
    await shot(page, 'compare-file')
  })
  await page.context().close()
}
