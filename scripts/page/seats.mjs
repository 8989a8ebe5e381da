// The view "Play": the board from the other side.

import { clickSquare, expect, middle, openGame, untilState } from './hands.mjs'

const QUIET = { evaluation: false }
const places = (page, kind) => page.locator(`.play .square.${kind}`).evaluateAll(squares => squares.map(square => square.dataset.place))
const named = (page, name) => page.getByRole('button', { name, exact: true })
const turned = page => page.waitForFunction(() => {
  const at = place => document.querySelector(`.play [data-place="${place}"]`).getBoundingClientRect()
  return at('0,0').top > at('1,0').top && at('0,0').left > at('0,1').left
})
const straight = page => page.waitForFunction(() => {
  const at = place => document.querySelector(`.play [data-place="${place}"]`).getBoundingClientRect()
  return at('0,0').top < at('1,0').top && at('0,0').left < at('0,1').left
})
/** The label beside a square's row and the one below its column. */
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
  await page.context().close()
}

async function testFlip(page, { url, test, shot }) {
  await test('a flipped board has its names, and is played by click, drag and key', async () => {
    await openGame(page, url, 'phage')
    await straight(page)
    expect(await labels(page, '7,0') === 'a1' && await labels(page, '0,7') === 'h8', 'the names are wrong')
    await named(page, 'Flip board').click()
    await turned(page)
    expect(await labels(page, '7,0') === 'a1' && await labels(page, '0,7') === 'h8', 'the names are wrong on the flipped board')
    const [from] = await places(page, 'from')
    await clickSquare(page, from)
    expect((await places(page, 'selected')).join(';') === from, 'another square is selected')
    await shot(page, 'flipped')
    await clickSquare(page, (await places(page, 'target'))[0])
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
    // a drag
    const [piece] = await places(page, 'from')
    await page.mouse.move(...await middle(page, piece))
    await page.mouse.down()
    const target = (await places(page, 'target'))[0]
    await page.mouse.move(...await middle(page, target), { steps: 5 })
    await page.mouse.up()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 4)
    await untilState(page, 'yours')
    // arrows go where they point
    await page.locator('.play .board-holder').focus()
    await page.keyboard.press('ArrowUp')
    const cursor = () => page.locator('.play .square.cursor').boundingBox()
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key)
    const before = await cursor()
    await page.keyboard.press('ArrowUp')
    const above = await cursor()
    await page.keyboard.press('ArrowRight')
    const right = await cursor()
    expect(above.y < before.y && right.x > above.x, 'the cursor goes another way')
  })

  await test('the flipped board stays after a reload, and f turns it back', async () => {
    await page.reload()
    await untilState(page, 'yours')
    await turned(page)
    await page.locator('.play .board-holder').focus()
    await page.keyboard.press('f')
    await straight(page)
  })

  await test('who plays second sits at the other side where there are sides', async () => {
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

  await test('a board that stands is never turned', async () => {
    await openGame(page, url, 'connect-four')
    expect(!await named(page, 'Flip board').isVisible(), 'the board can be flipped')
    await page.locator('.play .board-holder').focus()
    await page.keyboard.press('f')
    await page.waitForTimeout(200)
    await straight(page)
  })
}
