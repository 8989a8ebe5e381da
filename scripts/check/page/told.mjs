// The "Play" view: what it tells the user and what it does not. The list of actions follows the game, people who cannot see the board
// hear squares and the opponent's actions, values are hidden until requested, and codes are put into words.

import { clickSquare, expect, gotoGame, named, openAnalysis, openGame, random, untilState } from './hands.mjs'

const LONG = 45
const LAYERS = ['Evaluate', 'Visits', 'Priors', 'Expected line']
/** The name of a square at the beginning of its spoken description. */
const SQUARE = /^([a-z]\d+|column \d, row \d), /
const moves = page => page.locator('.play .move').allTextContents()
const places = (page, kind) => page.locator(`.play .square.${kind}`).evaluateAll(squares => squares.map(square => square.dataset.place))
const status = page => page.locator('.play .status').textContent()

/** Whether the current action is fully visible in the list. If there is none, the list must be at its top. */
const isListed = page => page.locator('.play').evaluate(play => {
  const [list, current] = [play.querySelector('.moves'), play.querySelector('.move[aria-current]')]
  if (!current) return list.scrollTop === 0
  const [around, box] = [list, current].map(element => element.getBoundingClientRect())
  return box.top >= around.top && box.bottom <= around.bottom && box.height > 0
})

/** A game of random actions with the requested length. */
async function longGame(url, game, plies) {
  const token = (await (await fetch(url)).text()).match(/name="token" content="([^"]+)"/)[1]
  const below = random(7)
  for (let tries = 0, actions = []; tries < 4000; tries++) {
    const answer = await fetch(`${url}/api/position`, {
      method: 'POST', headers: { 'x-petteia-token': token, 'content-type': 'application/json' }, body: JSON.stringify({ game, actions }),
    })
    const { legal, over } = await answer.json()
    if (actions.length === plies && !over) return actions
    actions = over ? [] : [...actions, legal[below(legal.length)].text]
  }
  throw new Error(`no game of ${plies} actions was found`)
}

export async function testTold(tools) {
  await testList(tools)
  await testSpoken(tools)
  await testHidden(tools)
  await testWords(tools)
}

async function testList({ url, open, test, shot }) {
  const actions = await longGame(url, 'cage', LONG)
  for (const [name, window] of [['wide', { width: 1280, height: 800 }], ['phone', { width: 390, height: 844, touch: true }]]) {
    await test(`the list of actions follows the game: ${name}`, async () => {
      const page = await open(window)
      await page.goto(url)
      const record = { game: 'cage', options: {}, start: null, actions }
      await page.evaluate(kept => sessionStorage.setItem('petteia.play.cage', JSON.stringify(kept)),
        { record, side: 'both', opponent: { name: 'random', strength: 'usual' } })
      await page.goto(`${url}/#play/cage`)
      await page.reload()
      await untilState(page, 'yours')
      expect((await moves(page)).length === LONG, 'the game has changed')
      const tall = await page.locator('.play .moves').evaluate(list => list.scrollHeight > 1.3 * list.clientHeight)
      expect(tall, 'the whole list is visible anyway')
      expect(await isListed(page), 'the last action is not visible')
      await shot(page, `list-${name}`)
      const scrolled = () => page.evaluate(() => [scrollX, scrollY].join())
      const before = await scrolled()
      const step = async (button, ply) => {
        await page.locator('.play').getByRole('button', { name: button, exact: true }).evaluate(element => element.click())
        await page.waitForFunction(wanted => document.querySelector('.play .where').textContent.startsWith(`${wanted} of`), ply)
        await page.waitForFunction(ply => [...document.querySelectorAll('.play .move')].findIndex(move => move.hasAttribute('aria-current')) === ply - 1, ply)
        expect(await isListed(page), `action ${ply} is not visible after “${button}”`)
      }
      await step('To the start', 0)
      for (let ply = 1; ply <= LONG; ply++) await step('Forward', ply)
      for (let ply = LONG - 1; ply >= LONG - 30; ply--) await step('Back', ply)
      await step('To the end', LONG)
      // hiding a view scrolls its list back to the top
      await page.goto(`${url}/#compare/phage`)
      await page.goto(`${url}/#play/cage`)
      await untilState(page, 'yours')
      await page.waitForTimeout(200)
      expect(await isListed(page), 'the last action is not visible after a visit to another view')
      await page.evaluate(() => scrollTo(0, 0))
      expect(name === 'phone' || before === await scrolled(), 'the page was scrolled')
      // a new action must also be visible
      await page.evaluate(() => document.querySelector('.play .square.target, .play .square.from').scrollIntoView())
      await clickSquare(page, (await places(page, 'from'))[0])
      await clickSquare(page, (await places(page, 'target'))[0])
      await page.waitForFunction(count => document.querySelectorAll('.play .move').length > count, LONG)
      await untilState(page, 'yours', 'over')
      expect(await isListed(page), 'the new action is not visible')
      await page.context().close()
    })
  }
}

/** The accessible names of all elements with this role. */
async function spoken(page, role) {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  return nodes.filter(node => !node.ignored && node.role?.value === role).map(node => node.name?.value ?? '')
}

async function testSpoken({ url, open, test }) {
  const page = await open()
  const here = [
    ['caissa', 'white queen, can act'], ['phage', 'white square, can act'], ['custodial-trap-intro', 'black man'],
    ['cage-4', 'red checker, can act'], ['connect-four', 'row 1, empty, can be chosen'], ['tic-tac-toe', 'empty, can be chosen'],
  ]
  await test('squares announce their names, their pieces, and what they can do', async () => {
    for (const [id, wanted] of here) {
      await openGame(page, url, id)
      await page.getByLabel('You play', { exact: true }).selectOption('both')
      await untilState(page, 'yours')
      const squares = (await spoken(page, 'image')).filter(name => SQUARE.test(name))
      const count = await page.locator('.play .square').count()
      expect(squares.length === count, `${id}: ${squares.length} of ${count} squares are announced`)
      expect(squares.some(name => name.endsWith(`, ${wanted}`)), `${id}: no square says "${wanted}": ${squares.slice(0, 9).join('; ')}`)
      // every drawn piece is announced, and none by its color alone
      const pieces = await page.locator('.play .board-holder > svg > g[transform]:not([transform*=scale])').count()
      const told = squares.map(name => name.replace(SQUARE, '')).filter(name => !/^(empty|no square)(,|$)/.test(name))
      expect(told.length === pieces, `${id}: ${told.length} of ${pieces} pieces have a name`)
      expect(told.every(name => /^\w+ \w+/.test(name)), `${id}: ${told[0]}`)
    }
  })

  await test('the square at the cursor is announced', async () => {
    await openGame(page, url, 'tic-tac-toe')
    await page.getByLabel('You play', { exact: true }).selectOption('first')
    await untilState(page, 'yours')
    await page.locator('.play .board-holder').focus()
    for (const key of ['ArrowUp', 'ArrowRight']) await page.keyboard.press(key)
    const active = () => page.locator('.play .board-holder').evaluate(board =>
      document.getElementById(board.getAttribute('aria-activedescendant'))?.getAttribute('aria-label'))
    expect(await active() === 'b1, empty, can be chosen', await active())
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
    await untilState(page, 'yours')
    await page.locator('.play .board-holder').focus()
    expect(await page.locator('.play [aria-label="b1, X"]').count() === 1, 'the mark is not announced')
  })

  await test('what the opponent played is announced', async () => {
    await openGame(page, url, 'phage')
    await page.getByLabel('You play', { exact: true }).selectOption('first')
    const live = await page.locator('.play .status').evaluate(line => [line.getAttribute('aria-live'), line.getAttribute('role')].join())
    expect(live === 'polite,status', live)
    for (const count of [2, 4]) {
      await clickSquare(page, (await places(page, 'from'))[0])
      await clickSquare(page, (await places(page, 'target'))[0])
      await page.waitForFunction(count => document.querySelectorAll('.play .move').length === count, count)
      await untilState(page, 'yours')
      const said = await status(page)
      const [, action, piece] = said.match(/^Black played (\S+) \((.+)\)\. Your turn: White\.$/) ?? []
      expect(action === (await moves(page)).at(-1) && /^black (circle|square|triangle|diamond)$/.test(piece), said)
    }
    // if the user plays both sides, actions are not announced: they are the user's own
    await page.getByLabel('You play', { exact: true }).selectOption('both')
    await untilState(page, 'yours')
    expect(await status(page) === 'White to move.', await status(page))
    await page.context().close()
  })
}

async function testHidden({ url, open, test, shot }) {
  const page = await open()
  const asked = []
  page.on('request', request => {
    if (request.url().endsWith('/api/search')) asked.push(request.postDataJSON())
  })
  const seen = () => page.locator('.play').evaluate(play => ({
    bar: play.querySelector('.bar').getAttribute('aria-valuetext'),
    curve: play.querySelectorAll('.graph polyline, .graph-dots[d*=M]').length,
    words: play.querySelector('.thoughts').textContent,
    shares: play.querySelector('.shares').hidden ? 0 : play.querySelectorAll('.shares tbody tr').length,
  }))
  const act = async () => {
    const before = (await moves(page)).length
    await clickSquare(page, (await places(page, 'target'))[0])
    await page.waitForFunction(count => document.querySelectorAll('.play .move').length >= count + 2, before)
    await untilState(page, 'yours')
  }

  await test('a visitor sees no values while playing', async () => {
    await openGame(page, url, 'connect-four', /playouts/)
    expect(!await page.locator('.play .fold').evaluate(fold => fold.open), 'the analysis is expanded')
    for (const layer of LAYERS) expect(!await page.getByLabel(layer, { exact: true }).isChecked(), `"${layer}" is on`)
    for (let turn = 0; turn < 2; turn++) {
      await act()
      const { bar, curve, words, shares } = await seen()
      expect(bar === 'not evaluated' && !curve && !/%|visits|line:/.test(words) && !shares, JSON.stringify({ bar, curve, words, shares }))
    }
    await page.waitForTimeout(300)
    expect(asked.length === 2 && asked.every(({ vary }) => vary), 'the position is searched for the user')
    await shot(page, 'hidden')
  })

  await test('values appear on request', async () => {
    await openAnalysis(page)
    await page.getByLabel('Evaluate', { exact: true }).check()
    await page.waitForFunction(() => /^Red \d+ %/.test(document.querySelector('.play .thoughts').textContent))
    expect(/%$/.test((await seen()).bar), (await seen()).bar)
    await page.getByLabel('Evaluate', { exact: true }).uncheck()
    await page.waitForFunction(() => document.querySelector('.play .bar').getAttribute('aria-valuetext') === 'not evaluated')
    await named(page, 'Review the game so far').click()
    await page.waitForFunction(() => document.querySelector('.play .graph polyline')?.getAttribute('points').split(' ').length === 5)
    await page.waitForFunction(() => /Judged by the searches/.test(document.querySelector('.play .review .words').textContent))
    await named(page, 'To the end').click()
    await untilState(page, 'yours')
    // values stay visible until the game continues
    await act()
    const { bar, curve } = await seen()
    expect(bar === 'not evaluated' && !curve, `${bar}, ${curve} curves`)
  })

  await test('a finished game is reviewed', async () => {
    await named(page, 'Resign').click()
    await named(page, 'Yes, resign').click()
    await untilState(page, 'over')
    await page.waitForSelector('.play .graph polyline')
    await named(page, 'Back').click()
    await untilState(page, 'past')
    await page.waitForFunction(() => /Red \d+ %.*line: /.test(document.querySelector('.play .thoughts').textContent))
    await shot(page, 'review')
  })

  await test('visits and priors are both drawn and listed as numbers', async () => {
    const drawn = kind => page.locator(`.play .board-holder .${kind}`).count()
    await openGame(page, url, 'tic-tac-toe', /generation/)
    await openAnalysis(page)
    const heads = () => page.locator('.play .shares thead th').allTextContents()
    await page.getByLabel('Visits', { exact: true }).check()
    await page.waitForSelector('.play .b-heat')
    expect(!await drawn('b-prior-heat') && (await heads()).join() === 'action,visits,share', (await heads()).join())
    await page.getByLabel('Priors', { exact: true }).check()
    await page.waitForSelector('.play .b-prior-heat')
    expect(await drawn('b-heat') > 0 && (await heads()).join() === 'action,visits,share,prior', (await heads()).join())
    expect(await drawn('b-prior-share') > 0 && await drawn('b-share') > await drawn('b-prior-share'), 'numbers are missing on the board')
    const rows = await page.locator('.play .shares tbody tr').allTextContents()
    expect(rows.length === 5 && rows.every(row => /^[a-c][1-3]\d+ %?\d* ?%?/.test(row)), rows.join('; '))
    await shot(page, 'visits-and-priors')
    await page.getByLabel('Visits', { exact: true }).uncheck()
    await page.waitForFunction(() => !document.querySelector('.play .b-heat'))
    expect((await heads()).join() === 'action,prior' && await drawn('b-prior-heat') > 0, 'priors alone are not shown')
    await page.getByLabel('Priors', { exact: true }).uncheck()
    await page.waitForFunction(() => document.querySelector('.play .shares').hidden)
  })
  await page.context().close()
}

async function testWords({ url, open, test, shot }) {
  const page = await open({ width: 1280, height: 800 })
  const buttons = label => page.getByRole('group', { name: label }).getByRole('button').allTextContents()

  /** Checks that all controls of the set-up are visible without scrolling. */
  const expectControls = async (page, labels) => {
    const controls = [...labels.map(name => page.getByRole('group', { name })), named(page, 'Undo'), page.locator('.play .note')]
    for (const control of controls) {
      const box = await control.boundingBox()
      expect(box.y + box.height <= 800, `${await control.textContent()} is below the window`)
    }
  }

  await test('each step of the set-up says what to do', async () => {
    await openGame(page, url, 'custodial-trap-advanced')
    await page.getByLabel('You play', { exact: true }).selectOption('both')
    await untilState(page, 'yours')
    const note = () => page.locator('.play .note').textContent()
    const step = async (action, count) => {
      await page.getByLabel('Type an action', { exact: true }).fill(action)
      await page.getByLabel('Type an action', { exact: true }).press('Enter')
      await page.waitForFunction(count => document.querySelectorAll('.play .move').length === count, count)
      await untilState(page, 'yours')
    }
    expect(/^A puts men of both colors on inner squares, in order from b2 to g7/.test(await note()), await note())
    await step('W@b2', 1)
    expect(/^A puts more men, or says which color begins/.test(await note()), await note())
    await step('first:w', 2)
    expect(/^B takes a color, or lifts men to rearrange them/.test(await note()), await note())
    await step('re:w', 3)
    expect(/^B puts the white men back/.test(await note()), await note())
    await step('W@c3', 4)
    await expectControls(page, ['Choose an action'])
    await step('done', 5)
    expect(/^A takes a color/.test(await note()), await note())
    await expectControls(page, ['Choose an action'])
    await step('pick:b', 6)
    expect(/^White to move/.test(await note()), await note())
  })

  await test('codes of the set-up are put into words, and an action out of order is explained', async () => {
    await openGame(page, url, 'custodial-trap-advanced')
    await page.getByLabel('You play', { exact: true }).selectOption('both')
    await untilState(page, 'yours')
    expect((await buttons('What a click puts')).join() === 'ask each time,a white man,a black man', (await buttons('What a click puts')).join())
    await clickSquare(page, '5,3')
    expect((await buttons('Choose an action')).join() === 'a white man,a black man,Cancel', (await buttons('Choose an action')).join())
    await page.getByRole('group', { name: 'Choose an action' }).getByRole('button', { name: 'a white man', exact: true }).click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 1)
    await untilState(page, 'yours')
    await shot(page, 'set-up')
    await expectControls(page, ['Choose an action', 'What a click puts'])
    expect((await buttons('Choose an action')).join() === 'White begins,Black begins', (await buttons('Choose an action')).join())
    await clickSquare(page, '6,1')
    await page.waitForFunction(() => /ascending order.* d3/.test(document.querySelector('.play .status.error')?.textContent))
    await named(page, 'Black begins').click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    await untilState(page, 'yours')
    await expectControls(page, ['Choose an action'])
    // no piece can be placed on that square now: a click explains what is possible
    await clickSquare(page, '3,3')
    await page.waitForFunction(() => /button below the board/.test(document.querySelector('.play .status').textContent))
    const choices = await buttons('Choose an action')
    expect(choices.join() === 'take White,take Black,lift the white men,lift the black men', choices.join())
    const title = await page.locator('.play .move').last().getAttribute('title')
    expect(title === '2. A: first:b (Black begins)', title)
  })

  await test('a click without an action explains why', async () => {
    await openGame(page, url, 'phage')
    await clickSquare(page, '0,7')
    await page.waitForFunction(() => /has no piece on h8/.test(document.querySelector('.play .status.error')?.textContent))
    await gotoGame(page, url, 'tic-tac-toe')
    await page.getByLabel('You play', { exact: true }).selectOption('both')
    await untilState(page, 'yours')
    await clickSquare(page, '1,1')
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 1)
    await untilState(page, 'yours')
    await clickSquare(page, '1,1')
    await page.waitForTimeout(300)
    expect((await moves(page)).length === 1, 'the action was played')
  })
  await page.context().close()
}
