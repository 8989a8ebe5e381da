// The "Play" view: the flipped board, resigning, and the options of a game.

import { clickSquare, expect, gotoGame, middle, named, openGame, untilState } from './hands.mjs'

const QUIET = { evaluation: false }
const moves = page => page.locator('.play .move').allTextContents()
const places = (page, kind) => page.locator(`.play .square.${kind}`).evaluateAll(squares => squares.map(square => square.dataset.place))
const status = page => page.locator('.play .status').textContent()
const turned = page => page.waitForFunction(() => {
  const at = place => document.querySelector(`.play [data-place="${place}"]`).getBoundingClientRect()
  return at('0,0').top > at('1,0').top && at('0,0').left > at('0,1').left
})
const straight = page => page.waitForFunction(() => {
  const at = place => document.querySelector(`.play [data-place="${place}"]`).getBoundingClientRect()
  return at('0,0').top < at('1,0').top && at('0,0').left < at('0,1').left
})
/** The label beside a square's row and the label below its column. */
const labels = (page, place) => page.locator('.play').evaluate((play, place) => {
  const square = play.querySelector(`[data-place="${place}"]`).getBoundingClientRect()
  const near = axis => [...play.querySelectorAll('.b-label')].filter(label => {
    const box = label.getBoundingClientRect()
    const middle = axis === 'x' ? box.x + box.width / 2 : box.y + box.height / 2
    return axis === 'x' ? middle > square.left && middle < square.right : middle > square.top && middle < square.bottom
  }).map(label => label.textContent)
  return [near('x'), near('y')].map(found => found.find(text => text.length)).join('')
}, place)

export async function testSeats(tools) {
  const page = await tools.open({ settings: QUIET })
  await testFlip(page, tools)
  await testResign(page, tools)
  await page.context().close()
  await testOptions(tools)
  await testPhone(tools)
}

async function testFlip(page, { url, test, shot }) {
  await test('a flipped board has the right labels and can be played by click, drag, and key', async () => {
    await openGame(page, url, 'phage')
    await straight(page)
    expect(await labels(page, '7,0') === 'a1' && await labels(page, '0,7') === 'h8', 'the labels are wrong')
    await named(page, 'Flip board').click()
    await turned(page)
    expect(await labels(page, '7,0') === 'a1' && await labels(page, '0,7') === 'h8', 'the labels are wrong on the flipped board')
    const [from] = await places(page, 'from')
    await clickSquare(page, from)
    expect((await places(page, 'selected')).join(';') === from, 'another square is selected')
    await shot(page, 'flipped')
    await clickSquare(page, (await places(page, 'target'))[0])
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
    // selects by dragging
    const [piece] = await places(page, 'from')
    await page.mouse.move(...await middle(page, piece))
    await page.mouse.down()
    const target = (await places(page, 'target'))[0]
    await page.mouse.move(...await middle(page, target), { steps: 5 })
    await page.mouse.up()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 4)
    await untilState(page, 'yours')
    // arrow keys move the cursor in the direction that they show
    await page.locator('.play .board-holder').focus()
    await page.keyboard.press('ArrowUp')
    const cursor = () => page.locator('.play .square.cursor').boundingBox()
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key)
    const before = await cursor()
    await page.keyboard.press('ArrowUp')
    const above = await cursor()
    await page.keyboard.press('ArrowRight')
    const right = await cursor()
    expect(above.y < before.y && right.x > above.x, 'the cursor moves in the wrong direction')
  })

  await test('the board stays flipped after a reload, and the f key turns it back', async () => {
    await page.reload()
    await untilState(page, 'yours')
    await turned(page)
    await page.locator('.play .board-holder').focus()
    await page.keyboard.press('f')
    await straight(page)
  })

  await test('the second player sees the board flipped if its players sit on opposite sides', async () => {
    const second = async id => {
      await openGame(page, url, id)
      await page.getByLabel('You play', { exact: true }).selectOption('second')
      await untilState(page, 'yours')
    }
    await second('caissa')
    await turned(page)
    await shot(page, 'second-caissa')
    await page.getByLabel('You play', { exact: true }).selectOption('first')
    await untilState(page, 'yours')
    await straight(page)
    await second('cage-4')
    await straight(page)
    await page.keyboard.press('f')
    await turned(page)
  })

  await test('an upright board is never flipped', async () => {
    await openGame(page, url, 'connect-four')
    expect(!await named(page, 'Flip board').isVisible(), 'the board can be flipped')
    await page.locator('.play .board-holder').focus()
    await page.keyboard.press('f')
    await page.waitForTimeout(200)
    await straight(page)
  })
}

async function testResign(page, { url, test, shot, folder }) {
  const play = async () => {
    await clickSquare(page, (await places(page, 'target'))[0])
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
  }
  await test('resigning needs a confirmation and can be undone', async () => {
    await openGame(page, url, 'tic-tac-toe')
    expect(await named(page, 'Resign').isDisabled(), 'a game without actions can be resigned')
    await play()
    await named(page, 'Resign').click()
    await shot(page, 'resign')
    expect(await page.evaluate(() => document.activeElement.textContent) === 'Keep playing', 'the focus is elsewhere')
    await page.keyboard.press('Escape')
    expect(await named(page, 'Resign').isVisible(), 'Escape does not keep the game')
    await named(page, 'Resign').click()
    await named(page, 'Yes, resign').click()
    await untilState(page, 'over')
    expect(await status(page) === 'X resigned: O wins.', await status(page))
    await shot(page, 'resigned')
    await page.getByText(/^Your games/).click()
    const kept = await page.locator('.finished li').first().textContent()
    expect(kept.includes('X resigned: O wins'), kept)
    await page.reload()
    await untilState(page, 'over')
    await named(page, 'Undo').click()
    await untilState(page, 'yours')
    expect((await moves(page)).length === 2, 'undo took back more than the resignation')
  })

  await test('a resigned game can be saved, loaded, stepped through, and continued', async () => {
    await named(page, 'Resign').click()
    await named(page, 'Yes, resign').click()
    await untilState(page, 'over')
    await page.getByText('Position and files').click()
    const [download] = await Promise.all([page.waitForEvent('download'), named(page, 'Save game').click()])
    const file = `${folder}/resigned.json`
    await download.saveAs(file)
    await named(page, 'New game').click()
    await untilState(page, 'yours')
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), named(page, 'Load games …').click()])
    await chooser.setFiles(file)
    await untilState(page, 'over')
    expect(await status(page) === 'X resigned: O wins.', await status(page))
    await named(page, 'Back').click()
    await untilState(page, 'past')
    await named(page, 'Forward').click()
    await untilState(page, 'over')
    await named(page, 'Play on from here').click()
    await untilState(page, 'yours')
    const [square] = await places(page, 'target')
    await clickSquare(page, square)
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length > 2)
  })

  await test('the user can resign while the opponent thinks', async () => {
    await openGame(page, url, 'phage', /playouts/)
    await page.getByLabel('Strength', { exact: true }).selectOption('seconds')
    await page.getByLabel('Seconds', { exact: true }).fill('30')
    await page.getByLabel('Seconds', { exact: true }).press('Enter')
    await untilState(page, 'yours')
    await clickSquare(page, (await places(page, 'from'))[0])
    await clickSquare(page, (await places(page, 'target'))[0])
    await untilState(page, 'thinking')
    await named(page, 'Resign').click()
    await named(page, 'Yes, resign').click()
    await untilState(page, 'over')
    expect(await status(page) === 'White resigned: Black wins.', await status(page))
    expect((await moves(page)).length === 1, 'the opponent answered')
  })
}

async function testOptions({ url, open, test, shot }) {
  const page = await open({ settings: QUIET })
  const details = page.locator('.setup > details')
  const summary = details.locator('summary')
  const asked = []
  page.on('request', request => request.url().endsWith('/api/position') && asked.push(request.postDataJSON().options))

  await test('options can be chosen before a new game', async () => {
    await openGame(page, url, 'custodial-trap-intro')
    await summary.click()
    await page.getByLabel('Start', { exact: true }).selectOption({ label: 'quarters' })
    await page.getByLabel('No progress', { exact: true }).fill('1000')
    await page.getByLabel('No progress', { exact: true }).press('Enter')
    expect(await page.getByLabel('No progress', { exact: true }).inputValue() === '100', 'a number out of range is accepted')
    expect(await summary.textContent() === 'Options of the game', 'the game on the board already has the new options')
    await shot(page, 'options', { fullPage: true })
    await named(page, 'New game with these options').click()
    await page.waitForFunction(() => /quarters/.test(document.querySelector('.setup > details summary').textContent))
    await untilState(page, 'yours')
    expect(JSON.stringify(asked.at(-1)) === '{"start":"quarters"}', JSON.stringify(asked.at(-1)))
    await page.reload()
    await untilState(page, 'yours')
    expect(/quarters/.test(await summary.textContent()), 'the options are gone after a reload')
  })

  await test('an opponent trained with other options is refused with an explanation', async () => {
    const learned = {
      key: 'run-9-1', name: 'other, generation 1', kind: 'trained', simulations: 100, elo: null, generation: 1, run: 9,
      options: { queen_exchange: true },
    }
    await page.route('**/api/home', async route => {
      const home = await (await route.fetch()).json()
      home.agents.caissa.unshift(learned)
      await route.fulfill({ json: home })
    })
    await page.goto(url)
    await page.reload()
    await gotoGame(page, url, 'caissa')
    const opponent = page.getByLabel('Opponent', { exact: true })
    const takes = () => page.waitForFunction(() => /queen exchange: yes/.test(document.querySelector('.setup > details summary').textContent))
    await opponent.selectOption('run-9-1')
    await takes()
    await summary.click()
    await page.getByLabel('Queen exchange', { exact: true }).uncheck()
    const words = await details.locator('.words').textContent()
    expect(/other, generation 1 was trained with other options/.test(words), words)
    await named(page, 'New game with these options').click()
    await page.waitForFunction(() => /cannot play/.test(document.querySelector('.play .status').textContent))
    await shot(page, 'refused')
    expect(JSON.stringify(asked.at(-1)) === '{}', JSON.stringify(asked.at(-1)))
    expect(await opponent.inputValue() === 'shipped', await opponent.inputValue())
    const listed = await opponent.locator('option').first().textContent()
    expect(/trained with other options/.test(listed), listed)
    await opponent.selectOption('run-9-1')
    await takes()
    await page.unroute('**/api/home')
  })
  await page.context().close()
}

async function testPhone({ url, open, test, shot }) {
  await test('flip, resign and options by touch', async () => {
    const phone = await open({ width: 360, height: 740, touch: true, settings: QUIET })
    await openGame(phone, url, 'caissa')
    await named(phone, 'Flip board').tap()
    await turned(phone)
    const [from] = await places(phone, 'from')
    await phone.touchscreen.tap(...await middle(phone, from))
    const [target] = await places(phone, 'target')
    await phone.touchscreen.tap(...await middle(phone, target))
    await phone.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
    await untilState(phone, 'yours')
    await phone.locator('.setup > details summary').tap()
    await named(phone, 'Resign').tap()
    await shot(phone, 'phone-resign', { fullPage: true })
    await named(phone, 'Yes, resign').tap()
    await untilState(phone, 'over')
    const wide = await phone.evaluate(() => document.documentElement.scrollWidth)
    expect(wide <= 360, `the page is ${wide} wide`)
    await phone.context().close()
  })
}
