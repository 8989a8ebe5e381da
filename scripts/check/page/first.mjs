// The first view: games as small boards, and the guidance for a player who has just chosen one.

import { clickSquare, expect, gotoGame, untilState } from './hands.mjs'

const places = (page, kind) => page.locator(`.play .square.${kind}`).evaluateAll(squares => squares.map(square => square.dataset.place))
const moves = page => page.locator('.play .move').allTextContents()
const link = (page, name) => page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true })

async function act(page) {
  const before = (await moves(page)).length
  await clickSquare(page, (await places(page, 'from'))[0])
  await clickSquare(page, (await places(page, 'target'))[0])
  await page.waitForFunction(count => document.querySelectorAll('.play .move').length >= count + 2, before)
  await untilState(page, 'yours')
}

export async function testFirst(tools) {
  await testCards(tools)
  await testHow(tools)
}

async function testCards({ url, open, test, shot }) {
  const page = await open({ height: 800 })
  const wide = page => page.evaluate(() => document.documentElement.scrollWidth)

  await test('a visitor sees all games as small boards, with one line each', async () => {
    await page.goto(url)
    await page.waitForSelector('.card svg')
    expect(await page.locator('.play').count() === 0, 'a game is already on the screen')
    const cards = await page.locator('.first > .cards .card').evaluateAll(cards => cards.map(card => ({
      name: card.querySelector('b').textContent, about: card.querySelector('.about').textContent,
      squares: card.querySelectorAll('svg path, svg circle').length, bottom: card.getBoundingClientRect().bottom,
    })))
    expect(cards.length >= 6, `${cards.length} cards`)
    for (const { name, about, squares, bottom } of cards) {
      expect(about.length > 20 && about.length < 170, `${name}: ${about}`)
      expect(squares > 0, `${name} has no board`)
      expect(bottom <= 800, `${name} is below the window`)
    }
    const links = await page.locator('.first a').evaluateAll(links => links.map(link => link.hash))
    for (const id of ['cage', 'cage-4', 'custodial-trap-advanced', 'phage', 'connect-four']) expect(links.includes(`#play/${id}`), `${id} cannot be chosen`)
    await shot(page, 'first')
  })

  await test('choosing a game starts it, and the page resumes it later', async () => {
    await page.locator('.card[data-game="phage"] a.begin').click()
    await untilState(page, 'yours')
    expect(await page.locator('.play').getAttribute('data-game') === 'phage', 'another game began')
    const strength = await page.locator('.play').getByLabel('Strength', { exact: true }).inputValue()
    expect(strength === 'level-5', `a visitor's opponent plays at ${strength}`)
    const asked = page.waitForRequest(request => request.url().endsWith('/api/search') && request.postDataJSON().level === 5)
    await act(page)
    await asked
    const before = await moves(page)
    await link(page, 'Games').click()
    await page.waitForSelector('.first .card')
    await link(page, 'Play').click()
    await untilState(page, 'yours')
    expect((await moves(page)).join() === before.join(), 'the game is not resumed')
    await page.goto(url)
    await page.reload()
    await untilState(page, 'yours')
    expect((await moves(page)).join() === before.join(), 'the game is not resumed after the page was left')
    // in another tab, the game is listed among the unfinished games
    const other = await page.context().newPage()
    await page.close()
    await other.goto(url)
    await other.locator('.first').getByRole('button', { name: /^Play on: Phage, 2 actions/ }).click()
    await untilState(other, 'yours')
    expect((await moves(other)).join() === before.join(), 'a different game is resumed')
    await other.context().close()
  })

  await test('the list of games on a phone', async () => {
    const phone = await open({ width: 390, height: 844, touch: true })
    await phone.goto(url)
    await phone.waitForSelector('.card svg')
    expect(await wide(phone) <= 390, `it is ${await wide(phone)} wide`)
    await shot(phone, 'first-phone', { fullPage: true })
    await phone.getByRole('link', { name: 'Cage, 4 × 4' }).tap()
    await untilState(phone, 'yours')
    expect(await phone.locator('.play').getAttribute('data-game') === 'cage-4', 'another variant began')
    await phone.context().close()
  })
}

async function testHow({ url, open, test, shot }) {
  await test('three lines beside the board explain how each game is played', async () => {
    const page = await open({ height: 800 })
    await gotoGame(page, url, 'phage')
    const written = 'optgroup[label="Described by a text"] option'
    const valuesOf = options => options.map(option => option.value)
    const [ids, texts] = await Promise.all(['option', written].map(of => page.getByLabel('Game', { exact: true }).locator(of).evaluateAll(valuesOf)))
    const acts = { phage: /marked piece/, 'tic-tac-toe': /marked squares/, 'connect-four': /column/, 'custodial-trap-advanced': /what to put there/ }
    for (const id of ids) {
      await gotoGame(page, url, id)
      const lines = await page.locator('.how li').allTextContents()
      expect((lines.length === 3 || texts.includes(id) && lines.length > 0) && lines.every(line => line.length > 20), `${id}: ${lines.join(' | ')}`)
      const box = await page.locator('.how').boundingBox()
      expect(box.y + box.height <= 800, `${id}: the lines are below the window`)
      const now = await page.locator('.how .now').textContent()
      expect(now.length > 10 && (!acts[id] || acts[id].test(now)), `${id}: ${now}`)
    }
    await page.getByText('How to play').click()
    await gotoGame(page, url, 'cage')
    await page.reload()
    await untilState(page, 'yours')
    expect(!await page.locator('.how').evaluate(how => how.open), 'the lines are expanded again')
    await page.context().close()
  })

  await test('only squares that can act now are marked', async () => {
    const page = await open()
    await gotoGame(page, url, 'phage')
    const marked = () => page.locator('.play .square').evaluateAll(squares => squares
      .filter(square => getComputedStyle(square).stroke !== 'none' && Number(getComputedStyle(square).strokeOpacity) > 0)
      .map(square => square.dataset.place))
    expect((await marked()).join(' ') === (await places(page, 'from')).join(' ') && (await marked()).length === 4, (await marked()).join(' '))
    await shot(page, 'marked')
    await clickSquare(page, (await marked())[0])
    expect((await marked()).length === 1, 'other squares are marked while one is selected')
    await page.keyboard.press('Escape')
    await act(page)
    await page.getByRole('button', { name: 'Back', exact: true }).click()
    await untilState(page, 'past')
    expect((await marked()).length === 0, 'an earlier position is marked')
    await page.context().close()
  })
}
