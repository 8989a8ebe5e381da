// Games with rules written as texts: their entries in the list, play by clicks, saving and loading; and the editor, in which a game is
// written, corrected, played, measured, and trained.

import { clickSquare, expect, gotoGame, named, openGame, untilState } from './hands.mjs'

const QUIET = { evaluation: false }
const WINDOWS = [
  { name: 'wide', width: 1280, height: 860 },
  { name: 'dark', width: 1280, height: 860, dark: true },
  { name: 'phone', width: 390, height: 844, touch: true },
]
const places = (page, kind) => page.locator(`.play .square.${kind}`).evaluateAll(squares => squares.map(square => square.dataset.place))
const moves = page => page.locator('.play .move').allTextContents()
const paper = page => page.getByLabel('Rules of the game')
const problem = page => page.locator('.editor .problem').textContent()
const dots = page => page.locator('.editor .spot, .editor .ring').count()
const untilEditor = (page, state) => page.waitForSelector(`.editor[data-state="${state}"]`)
const untilTask = (page, state) => page.waitForSelector(`.task[data-state="${state}"]`, { timeout: 240000 })

async function openEditor(page, url) {
  await page.goto(`${url}/#write`)
  await untilEditor(page, 'right')
}

/** Replaces a part of the text as a user would by typing. */
async function change(page, from, to) {
  const text = await paper(page).inputValue()
  expect(text.includes(from), `the text does not contain ${from}`)
  const at = text.indexOf(from)
  await paper(page).evaluate((area, [begin, end]) => { area.focus(); area.setSelectionRange(begin, end) }, [at, at + from.length])
  await page.keyboard.type(to, { delay: 5 })
}

export async function testWrite(tools) {
  await testList(tools)
  for (const window of WINDOWS) await testEditor(tools, window)
  await testTasks(tools)
}

async function testList({ url, open, test, shot }) {
  await test('games described by a text have their own group and can be played, saved, and loaded', async () => {
    const page = await open({ settings: QUIET })
    await page.goto(url)
    await page.waitForSelector('.small .card svg')
    const titles = await page.locator('.small .card b').allTextContents()
    for (const title of ['Othello', 'Hex', 'Breakthrough', 'Amazons']) expect(titles.includes(title), `${title} is not among ${titles}`)
    await shot(page, 'write-list', { fullPage: true })
    await openGame(page, url, 'breakthrough')
    await clickSquare(page, '6,3')
    expect((await places(page, 'target')).length === 3, 'a piece in the middle has the wrong squares')
    await clickSquare(page, '5,3')
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
    const before = await moves(page)
    await page.getByText('Position and files').click()
    const saved = page.waitForEvent('download')
    await named(page, 'Save game').click()
    const path = await (await saved).path()
    await named(page, 'New game').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 0)
    const chooser = page.waitForEvent('filechooser')
    await named(page, 'Load games …').click()
    await (await chooser).setFiles(path)
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    expect((await moves(page)).join() === before.join(), 'a different game is loaded')
    await page.getByText('Rules', { exact: true }).click()
    await page.waitForSelector('.rules-text svg')
    await page.context().close()
  })

  await test('hexagons can be clicked on both sides of the board', async () => {
    const page = await open({ settings: QUIET })
    await openGame(page, url, 'hex')
    await clickSquare(page, '2,8')
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
    expect((await moves(page))[0] === 'i9', `i9 was clicked, and ${await moves(page)} played`)
    await named(page, 'Flip board').click()
    const free = (await places(page, 'target'))[40]
    await clickSquare(page, free)
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 4)
    const [row, column] = free.split(',').map(Number)
    const name = `${'abcdefghijk'[column]}${11 - row}`
    expect((await moves(page))[2] === name, `${name} was clicked, and ${await moves(page)} played`)
    await shot(page, 'write-hex')
    await page.context().close()
  })
}

async function testEditor({ url, open, test, shot }, { name, ...window }) {
  await test(`a game is written, corrected, and played: ${name}`, async () => {
    const page = await open({ ...window, settings: QUIET })
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth)
    await page.goto(url)
    await page.getByRole('link', { name: 'write your own game' }).click()
    await untilEditor(page, 'right')
    expect(/No problems found/.test(await problem(page)), await problem(page))
    await change(page, 'game My Game', 'game Two Steps')
    await change(page, 'step pawn forward to', 'step pawn forwart to')
    await untilEditor(page, 'wrong')
    expect(/^Line 9, column 18/.test(await problem(page)), await problem(page))
    expect(await page.locator('.editor .mark').isVisible() && await named(page, 'Play it').isDisabled(), 'the line is not marked')
    const [mark, area] = await Promise.all(['.mark', 'textarea'].map(one => page.locator(`.editor ${one}`).boundingBox()))
    expect(Math.abs(mark.y - area.y - 8 - 8 * mark.height) < 4, `the mark is at ${mark.y - area.y}`)
    await shot(page, `write-wrong-${name}`, { fullPage: true })
    await page.getByRole('button', { name: /^Line 9/ }).click()
    await change(page, 'forwart', 'forward')
    await untilEditor(page, 'right')
    expect(!await page.locator('.editor .mark').isVisible(), 'the line is still marked')
    // the page shows the squares of the line with the caret
    expect(await dots(page) === 6, `${await dots(page)} squares of the line`)
    expect(await wide() <= window.width, `it is ${await wide()} wide`)
    await shot(page, `write-${name}`, { fullPage: true })
    await page.reload()
    await untilEditor(page, 'right')
    expect((await paper(page).inputValue()).includes('game Two Steps'), 'the text is not kept')
    await named(page, 'Play it').click()
    await untilState(page, 'yours')
    expect(await page.locator('.play').getAttribute('data-game') === 'two-steps', 'a different game is played')
    await page.getByLabel('Opponent', { exact: true }).selectOption('random')
    await clickSquare(page, (await places(page, 'from'))[0])
    await clickSquare(page, (await places(page, 'target'))[0])
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
    const before = await moves(page)
    await page.reload()
    await untilState(page, 'yours')
    expect((await moves(page)).join() === before.join(), 'the game is not resumed')
    // the game is one of the user's own, so it can be edited
    await page.goto(`${url}/#games`)
    await page.getByRole('button', { name: 'Edit Two Steps' }).click()
    await untilEditor(page, 'right')
    await change(page, 'board 6 x 6', 'board 5 x 6')
    await page.waitForFunction(() => /5 × 6/.test(document.querySelector('.editor .facts').textContent))
    await named(page, 'Play it').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .square').length === 30)
    await untilState(page, 'yours')
    expect((await moves(page)).length === 0, 'the game of the previous text continues')
    await page.goto(`${url}/#games`)
    await page.getByRole('button', { name: 'Remove Two Steps' }).click()
    expect(await page.getByRole('button', { name: 'Edit Two Steps' }).count() === 0, 'the game is still listed')
    await page.context().close()
  })
}

async function testTasks({ url, open, test, shot }) {
  let page
  await test('any shipped text can be a starting point, and the previous text is not lost', async () => {
    page = await open({ settings: QUIET })
    await openEditor(page, url)
    const before = await paper(page).inputValue()
    const choices = await page.getByLabel('Begin with').locator('option').allTextContents()
    for (const title of choices.slice(1)) {
      await page.getByLabel('Begin with').selectOption(title === 'A new game' ? 'template' : title)
      await page.waitForFunction(title => document.querySelector('.editor').dataset.state === 'right'
        && (title === 'A new game' || document.querySelector('.editor h2').textContent === `My ${title}`), title)
      if (title === 'A new game') expect(await paper(page).inputValue() === before, 'the text has changed')
    }
    await page.getByLabel('Begin with').selectOption('Othello')
    await named(page, 'Back to the previous text').click()
    await untilEditor(page, 'right')
    await change(page, 'game My ', '# mine\ngame ')
    await page.waitForFunction(() => /already a game on this page/.test(document.querySelector('.editor .problem').textContent))
    expect(await named(page, 'Play it').isDisabled(), 'the game can be played')
  })

  await test('balance is measured, and can be canceled', async () => {
    await page.getByLabel('Begin with').selectOption('Amazons')
    await page.waitForFunction(() => document.querySelector('.editor h2').textContent === 'My Amazons')
    await named(page, 'Is it fair?').click()
    await untilTask(page, 'running')
    expect(await named(page, 'Train for a minute').isDisabled(), 'a second task can be started')
    await shot(page, 'write-balance-running')
    await named(page, 'Cancel').click()
    await untilTask(page, 'canceled')
    const small = ['game Trifle by me', 'board 3 x 3', 'piece man W B', 'action place man to empty', 'end line of 3 own: win', 'stuck: draw', 'limit 9: draw', '']
    await paper(page).fill(small.join('\n'))
    await page.waitForFunction(() => document.querySelector('.editor h2').textContent === 'Trifle')
    await named(page, 'Is it fair?').click()
    await untilTask(page, 'finished')
    const answer = await page.locator('.task .answer').textContent()
    expect(/draw/.test(answer) && await page.locator('.task tbody tr').count() === 3, answer)
    await shot(page, 'write-balance')
  })

  await test('an agent is trained, watched and played', async () => {
    await named(page, 'Train for a minute').click()
    await untilTask(page, 'running')
    await page.waitForSelector('.task .result button', { timeout: 240000 })
    await shot(page, 'write-training')
    await page.getByRole('link', { name: 'Watch the run' }).click()
    await page.waitForSelector('.run h1')
    await page.waitForFunction(() => /Trifle/.test(document.querySelector('.run h1').textContent))
    await page.goBack()
    await page.waitForSelector('.task')
    const cancel = named(page, 'Cancel')
    if (await cancel.isVisible()) await cancel.click()
    await page.waitForFunction(() => document.querySelector('.task').dataset.state !== 'running')
    await named(page, 'Play against it').click()
    await untilState(page, 'yours')
    const opponent = await page.getByLabel('Opponent', { exact: true }).evaluate(select => select.selectedOptions[0].textContent)
    expect(/trifle, generation \d/.test(opponent), `the opponent is ${opponent}`)
    await clickSquare(page, '1,1')
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    // another browser gets the text of the game from the run
    const other = await open({ settings: QUIET })
    await gotoGame(other, url, 'trifle')
    await other.context().close()
    await page.context().close()
  })
}
