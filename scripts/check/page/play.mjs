// The "Play" view: clicks, drags, keys, typed actions, undo, hint, analysis, files, reload.

import fs from 'node:fs'

import { clickSquare, expect, gotoGame, middle, openAnalysis, openGame, untilState } from './hands.mjs'

const moves = page => page.locator('.play .move').allTextContents()
const places = (page, kind) => page.locator(`.play .square.${kind}`).evaluateAll(squares => squares.map(square => square.dataset.place))

/** Plays an action with a piece, and waits for the reply. */
async function playOne(page) {
  await clickSquare(page, (await places(page, 'from'))[0])
  await clickSquare(page, (await places(page, 'target'))[0])
  await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
  await untilState(page, 'yours')
}

export async function testPlay(tools) {
  const { url, open, test, shot, folder } = tools
  const page = await open()

  await test('the opponent varies its replies', async () => {
    await gotoGame(page, url, 'connect-four')
    const asked = []
    const note = request => {
      const body = request.url().endsWith('/api/search') && request.postDataJSON()
      if (body?.vary) asked.push(body.seed)
    }
    page.on('request', note)
    for (const game of [1, 2]) {
      await openGame(page, url, 'connect-four', /playouts/)
      await clickSquare(page, (await places(page, 'target'))[0])
      await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
      expect(asked.length === game, `game ${game}: ${asked.length} searches with other replies`)
    }
    page.off('request', note)
    expect(asked[0] !== asked[1], 'two games have the same seed')
  })

  await test('select, deselect, click a target', async () => {
    await openGame(page, url, 'phage')
    const [from] = await places(page, 'from')
    await clickSquare(page, from)
    const targets = await places(page, 'target')
    expect(targets.length > 0, 'no target lights up')
    await shot(page, 'selected-phage')
    await page.keyboard.press('Escape')
    expect((await places(page, 'selected')).length === 0, 'Escape does not clear the selection')
    await clickSquare(page, from)
    await clickSquare(page, from)
    expect((await places(page, 'selected')).length === 0, 'a second click does not clear the selection')
    await clickSquare(page, from)
    await clickSquare(page, targets[0])
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
  })

  await test('drag a piece', async () => {
    await untilState(page, 'yours')
    const before = (await moves(page)).length
    const [from] = await places(page, 'from')
    await page.mouse.move(...await middle(page, from))
    await page.mouse.down()
    const [to] = await places(page, 'target')
    await page.mouse.move(...await middle(page, to), { steps: 6 })
    await shot(page, 'dragging')
    await page.mouse.up()
    await page.waitForFunction(count => document.querySelectorAll('.play .move').length > count, before)
  })

  await test('undo also takes back the reply', async () => {
    await untilState(page, 'yours')
    const before = (await moves(page)).length
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.waitForFunction(count => document.querySelectorAll('.play .move').length === count - 2, before)
    await untilState(page, 'yours')
  })

  await test('hint, visits, priors and line are drawn', async () => {
    await page.keyboard.press('Tab')
    await page.locator('.play .board-holder').focus()
    await page.keyboard.press('h')
    await page.waitForFunction(() => /Hint: /.test(document.querySelector('.play .status').textContent))
    await page.waitForSelector('.play .b-arrow')
    await page.keyboard.press('Escape')
    await openAnalysis(page)
    await page.getByLabel('Visits', { exact: true }).check()
    await page.getByLabel('Expected line', { exact: true }).check()
    await page.waitForFunction(() => document.querySelectorAll('.play .b-arrow').length > 1)
    await shot(page, 'analysis')
    await page.getByLabel('Visits', { exact: true }).uncheck()
    await page.getByLabel('Expected line', { exact: true }).uncheck()
    await page.getByLabel('Evaluate', { exact: true }).check()
    await page.waitForFunction(() => /%/.test(document.querySelector('.play .thoughts').textContent))
  })

  await test('a game in progress is reviewed on request', async () => {
    const points = () => page.locator('.play .graph polyline').getAttribute('points').then(text => text.split(' ').length)
    await page.getByRole('button', { name: 'Review the game so far' }).click()
    await page.waitForFunction(() => /Judged by the searches/.test(document.querySelector('.play .review .words').textContent))
    expect(await points() === (await moves(page)).length + 1, 'points are missing')
    await page.getByRole('button', { name: 'To the end' }).click()
    await untilState(page, 'yours')
  })

  await test('actions that share a square are chosen by their text, or once for all clicks', async () => {
    await openGame(page, url, 'custodial-trap-advanced')
    await clickSquare(page, '6,1')
    await page.getByRole('button', { name: 'a white man', exact: true }).last().waitFor()
    await shot(page, 'choices')
    await page.getByRole('group', { name: 'Choose an action' }).getByRole('button', { name: 'a white man', exact: true }).click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 1)
    await untilState(page, 'yours')
    await page.getByRole('group', { name: 'What a click puts' }).getByRole('button', { name: 'a black man', exact: true }).click()
    await clickSquare(page, '6,2')
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
    expect((await moves(page)).join() === 'W@b2,B@c2', 'different actions were played')
  })

  await test('an action can be typed, and an illegal one is explained', async () => {
    await untilState(page, 'yours')
    const typed = page.getByLabel('Type an action', { exact: true })
    page.expectsErrors = true
    await typed.fill('a1-a1')
    await typed.press('Enter')
    await page.waitForSelector('.play .status.error')
    await shot(page, 'illegal')
    page.expectsErrors = false
    await openGame(page, url, 'tic-tac-toe')
    await typed.fill('b2')
    await typed.press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 1)
  })

  await test('the keyboard alone plays', async () => {
    await openGame(page, url, 'tic-tac-toe')
    await page.locator('.play .board-holder').focus()
    for (const key of ['ArrowUp', 'ArrowRight', 'Enter']) await page.keyboard.press(key)
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
    await untilState(page, 'yours')
    await page.keyboard.press('u')
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
  })

  await test('a column can be clicked anywhere', async () => {
    await openGame(page, url, 'connect-four')
    await clickSquare(page, '0,3')
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
  })

  await test('a reload keeps the game', async () => {
    await untilState(page, 'yours')
    const before = await moves(page)
    await page.reload()
    await untilState(page, 'yours')
    expect((await moves(page)).join() === before.join(), 'the actions differ after the reload')
  })

  await test('step through the game, and play on from there', async () => {
    await page.getByRole('slider').focus()
    await page.keyboard.press('Home')
    await untilState(page, 'past')
    await page.keyboard.press('ArrowRight')
    await page.waitForFunction(() => document.querySelector('.play .where').textContent.startsWith('1 of'))
    await page.getByRole('button', { name: 'Back', exact: true }).press('Enter')
    await page.waitForFunction(() => document.querySelector('.play .where').textContent.startsWith('0 of'))
    const held = await page.evaluate(() => document.activeElement.getAttribute('aria-label'))
    expect(held === 'Forward', `at the start of the game the focus is on ${held}`)
    await page.getByRole('button', { name: 'Play on from here' }).click()
    await untilState(page, 'yours')
    expect((await moves(page)).length === 0, 'actions remain')
  })

  await test('the opponent begins if I play second', async () => {
    await page.getByLabel('You play', { exact: true }).selectOption('second')
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 1)
    await page.getByLabel('You play', { exact: true }).selectOption('first')
  })

  await test('save, load and copy', async () => {
    await openGame(page, url, 'phage')
    await playOne(page)
    const before = await moves(page)
    await page.getByText('Position and files').click()
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save game' }).click()])
    const file = `${folder}/saved.json`
    await download.saveAs(file)
    expect(fs.statSync(file).size > 20, 'the file is empty')
    await page.getByRole('button', { name: 'New game' }).click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Load games' }).click()])
    await chooser.setFiles(file)
    await page.waitForFunction(count => document.querySelectorAll('.play .move').length === count, before.length)
    expect((await moves(page)).join() === before.join(), 'the actions differ after loading')
    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    const shown = await page.getByLabel('Position', { exact: true }).inputValue()
    expect(await page.evaluate(() => navigator.clipboard.readText()) === shown, 'the copy is not the position')
    await page.getByLabel('Start from', { exact: true }).fill(shown)
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
  })

  await test('a file that is not a game is refused with an explanation', async () => {
    page.expectsErrors = true
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Load games' }).click()])
    await chooser.setFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('no game') })
    await page.waitForSelector('#alert:not([hidden])')
    page.expectsErrors = false
  })

  await test('an invalid start position leaves the game unchanged', async () => {
    await openGame(page, url, 'phage')
    await playOne(page)
    const before = await moves(page)
    page.expectsErrors = true
    await page.getByLabel('Start from', { exact: true }).fill('x'.repeat(300))
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForSelector('#alert:not([hidden])')
    page.expectsErrors = false
    expect((await moves(page)).join() === before.join(), 'the actions differ after an invalid position')
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the error makes the page wider')
    await untilState(page, 'yours')
  })

  await test('the only piece that can move stays selected when it is clicked', async () => {
    await openGame(page, url, 'cage-4')
    await page.getByLabel('Start from', { exact: true }).fill('4/1B2/B3/R2B r - 0')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForFunction(() => document.querySelectorAll('.play .square.selected').length === 1)
    const [only] = await places(page, 'selected')
    await clickSquare(page, only)
    await clickSquare(page, (await places(page, 'target')).at(-1))
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 1)
  })

  await test('the opponent can be hurried while it thinks', async () => {
    await openGame(page, url, 'phage', /playouts/)
    await page.getByLabel('Strength', { exact: true }).selectOption('seconds')
    await page.getByLabel('Seconds', { exact: true }).fill('30')
    await page.getByLabel('Seconds', { exact: true }).press('Enter')
    await untilState(page, 'yours')
    const [from] = await places(page, 'from')
    await clickSquare(page, from)
    await clickSquare(page, (await places(page, 'target'))[0])
    await untilState(page, 'thinking')
    await page.waitForTimeout(300)
    await shot(page, 'thinking')
    await page.getByRole('button', { name: 'Move now' }).click()
    await untilState(page, 'yours')
    expect(await page.evaluate(() => document.activeElement.matches('.play .board-holder')), '“Move now” loses the focus')
    expect((await moves(page)).length === 2, 'the opponent did not answer')
  })

  await test('a new game stops the opponent', async () => {
    const [from] = await places(page, 'from')
    await clickSquare(page, from)
    await clickSquare(page, (await places(page, 'target'))[0])
    await untilState(page, 'thinking')
    await page.getByRole('button', { name: 'New game' }).click()
    await untilState(page, 'yours')
    expect((await moves(page)).length === 0, 'actions remain')
  })

  await test('rules are shown', async () => {
    await page.locator('.play summary', { hasText: 'Rules' }).click()
    await page.waitForFunction(() => document.querySelector('.rules-text').textContent.length > 200)
    await shot(page, 'rules', { fullPage: true })
  })

  await test('touch selects and plays', async () => {
    const phone = await open({ width: 390, height: 844, touch: true })
    await openGame(phone, url, 'cage-4')
    const [from] = await places(phone, 'from')
    await phone.touchscreen.tap(...await middle(phone, from))
    const [target] = await places(phone, 'target')
    await phone.touchscreen.tap(...await middle(phone, target))
    await phone.waitForFunction(() => document.querySelectorAll('.play .move').length >= 1)
    const wide = await phone.evaluate(() => document.documentElement.scrollWidth)
    expect(wide <= 390, `the page is ${wide} wide`)
    await phone.context().close()
  })
  await page.context().close()
}
