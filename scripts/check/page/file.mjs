// Pages in a file, as `petteia export --format html` writes them, opened from disk: whole games of every game by clicks, in wide and
// narrow windows, without requests or console errors; links to positions, saved games, and hostile input. Also pages from hosts that
// forbid something, in frames, and as a saved copy: each page plays or explains why it cannot.

import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'

import { clickSquare, expect, gotoGame, named, openGame, playToTheEnd, untilState } from './hands.mjs'

const AT_ONCE = 2
const QUIET = { evaluation: false }
const NAVIGATION = /^(file|blob|data):/

const moves = page => page.locator('.play .move').allTextContents()

export async function testFile(tools) {
  const { program, folder, test } = tools
  const ids = JSON.parse(execFileSync(program, ['games', '--json'])).map(({ id }) => id)
  const file = id => path.join(folder, `${id}.html`)
  await test(`each of ${ids.length} games has a page in a file`, () => {
    for (const id of ids) {
      execFileSync(program, ['export', id, '--format', 'html', '--out', file(id)])
      const { size } = fs.statSync(file(id))
      expect(size < 3 << 20, `${id}: ${size} bytes`)
    }
  })
  const url = id => pathToFileURL(file(id)).href
  await testPlaying(tools, url)
  await testLinks(tools, url)
  await testPlaces(tools, file('phage'))
  const left = [...ids]
  const worker = async () => {
    for (let id = left.shift(); id; id = left.shift()) {
      for (const width of [1280, 390]) await test(`a whole game of ${id} in a file, ${width} px wide`, () => wholeGame(tools, url(id), id, width))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/** A page whose requests are recorded; none may leave the file. */
async function quiet({ open }, size = {}) {
  const page = await open({ settings: QUIET, ...size })
  page.asked = []
  page.on('request', request => NAVIGATION.test(request.url()) || page.asked.push(request.url()))
  return page
}

async function wholeGame(tools, url, id, width) {
  const page = await quiet(tools, { width, height: width < 500 ? 844 : 860 })
  await openGame(page, url, id)
  // on a phone the form for a new game is below the board
  await page.evaluate(() => window.scrollTo(0, 0))
  const result = await playToTheEnd(page, id.length)
  expect(/wins|draw/i.test(result), `the status line says "${result}"`)
  expect((await moves(page)).length > 0, 'no actions are listed')
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  expect(wide <= width, `${wide} px wide`)
  expect(!page.asked.length, `requests: ${page.asked.join(', ')}`)
  await tools.shot(page, `file-${id}-${width}`)
  await page.context().close()
}

async function testPlaying(tools, url) {
  const { test, shot } = tools
  await test('the agent in a file has levels, gives hints, and reviews the game', async () => {
    const page = await quiet(tools, { dark: true })
    const begun = Date.now()
    await gotoGame(page, url('phage'), 'phage')
    await untilState(page, 'yours')
    await page.locator('.play').getByLabel('Strength', { exact: true }).selectOption('level-3')
    await named(page, 'Hint').click()
    await page.waitForSelector('.play .b-arrow', { state: 'attached' })
    console.log(`      opened and showed the first hint in ${Date.now() - begun} ms`)
    await clickSquare(page, await page.locator('.play .square.from').first().getAttribute('data-place'))
    await clickSquare(page, await page.locator('.play .square.target').first().getAttribute('data-place'))
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
    await untilState(page, 'yours')
    await named(page, 'Resign').click()
    await named(page, 'Yes, resign').click()
    await untilState(page, 'over')
    await named(page, 'Look at the game').click()
    await page.waitForFunction(() => document.querySelector('.play .bar')?.getAttribute('aria-valuetext') !== 'not evaluated')
    await shot(page, 'file-review')
    await page.getByText('Rules', { exact: true }).click()
    await page.waitForSelector('.rules-text svg')
    expect(!page.asked.length, `requests: ${page.asked.join(', ')}`)
    await page.context().close()
  })
  await test('a file lists its components', async () => {
    const page = await quiet(tools)
    await gotoGame(page, url('tic-tac-toe'), 'tic-tac-toe')
    await page.locator('#program').click()
    await page.waitForFunction(() => /Permission is hereby granted[^]*serde_json/.test(document.querySelector('.licenses')?.textContent))
    await shot(page, 'file-licenses')
    await page.getByRole('link', { name: 'Play', exact: true }).click()
    await untilState(page, 'yours')
    expect(!page.asked.length, `requests: ${page.asked.join(', ')}`)
    await page.context().close()
  })
  await test('two agents in a file play each other', async () => {
    const page = await quiet(tools)
    await page.goto(`${url('connect-four')}#compare`)
    const compare = page.locator('.compare')
    await compare.getByLabel('Pause between actions', { exact: true }).selectOption('0')
    await compare.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForFunction(() => document.querySelectorAll('.compare .move').length >= 4)
    await shot(page, 'file-compare')
    await page.context().close()
  })
  await test('the user can end a long search in a file', async () => {
    const page = await quiet(tools)
    await gotoGame(page, url('cage-6'), 'cage-6')
    const play = page.locator('.play')
    await play.getByLabel('Strength', { exact: true }).selectOption('seconds')
    await play.getByLabel('Seconds', { exact: true }).fill('50')
    await play.getByLabel('Seconds', { exact: true }).press('Enter')
    await play.getByLabel('You play', { exact: true }).selectOption('second')
    await untilState(page, 'thinking')
    await named(page, 'Move now').click()
    await untilState(page, 'yours')
    await page.context().close()
  })
}

async function testLinks(tools, url) {
  const { test, folder } = tools
  await test('a link to a position opens it, and hostile links are refused', async () => {
    const page = await quiet(tools)
    await gotoGame(page, url('tic-tac-toe'), 'tic-tac-toe')
    await page.getByText('Position and files').click()
    await named(page, 'Copy link').click()
    await page.getByText('Link to this position copied.').waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied.startsWith(`${url('tic-tac-toe')}#at/tic-tac-toe/`), copied)
    const place = actions => `${url('tic-tac-toe')}#at/tic-tac-toe/${encodeURIComponent(JSON.stringify([null, actions, null]))}`
    await page.goto(place(['b2', 'a1']))
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 2)
    for (const hostile of [
      place(['b2', 'b2']), place(['<img src=x onerror=alert(1)>']), `${url('tic-tac-toe')}#at/phage/${encodeURIComponent('[null,[],null]')}`,
      `${url('tic-tac-toe')}#at/tic-tac-toe/%E0%A4%A`, `${url('tic-tac-toe')}#at/tic-tac-toe/${encodeURIComponent('{"__proto__":1}')}`,
      `${url('tic-tac-toe')}#at/tic-tac-toe/${'['.repeat(19000)}`,
    ]) {
      await page.goto(hostile)
      await page.waitForFunction(() => !document.getElementById('alert').hidden)
      expect(await page.locator('img').count() === 0, 'markup from the address is on the page')
      await page.keyboard.press('Shift')
    }
    expect((await moves(page)).length === 2, 'the game is gone')
    await page.context().close()
  })
  await test('games are saved and loaded in a file, and a hostile one is refused', async () => {
    const page = await quiet(tools)
    await page.goto(`${url('tic-tac-toe')}#at/tic-tac-toe/${encodeURIComponent(JSON.stringify([null, ['b2', 'a1', 'c3'], null]))}`)
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 3)
    await page.getByText('Position and files').click()
    const saved = path.join(folder, 'saved.json')
    if (tools.isFirefox) {
      // Firefox does not report this download
      await page.evaluate(() => {
        const make = URL.createObjectURL.bind(URL)
        URL.createObjectURL = file => {
          file.text().then(text => (window.saved = text))
          return make(file)
        }
      })
      await named(page, 'Save game').click()
      fs.writeFileSync(saved, await page.waitForFunction(() => window.saved).then(text => text.jsonValue()))
    } else {
      const [download] = await Promise.all([page.waitForEvent('download'), named(page, 'Save game').click()])
      await download.saveAs(saved)
    }
    const load = async file => {
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Load games' }).click()])
      await chooser.setFiles(file)
    }
    const game = JSON.parse(fs.readFileSync(saved, 'utf8'))
    const hostile = path.join(folder, 'hostile.json')
    for (const wrong of [{ ...game, game: 'phage' }, { ...game, actions: ['b2', 'b2'] }, { ...game, actions: 5 }, { ...game, options: { text: 'game X' } }, 'x'.repeat(1e6)]) {
      fs.writeFileSync(hostile, typeof wrong === 'string' ? wrong : JSON.stringify(wrong))
      await load(hostile)
      await page.waitForFunction(() => !document.getElementById('alert').hidden)
      await page.keyboard.press('Shift')
    }
    await load(saved)
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length >= 3)
    expect(!page.asked.length, `requests: ${page.asked.join(', ')}`)
    await page.context().close()
  })
}

const NOT_STARTED = /could not start here[^]*Download the file/
const NOT_RUN = /does not allow it to run its program[^]*Download the file/
const INLINE = "default-src 'self' 'unsafe-inline'"
const policy = text => ['content-security-policy', text]

/** Where people put a page: a host's header or a surrounding frame, and the expected message if the page cannot play there. */
const PLACES = [
  { name: 'a host that forbids inline scripts', header: policy("default-src 'self'"), says: NOT_STARTED },
  { name: 'a host without scripts', header: policy('sandbox'), says: NOT_STARTED },
  { name: 'a host without workers of blobs', header: policy(`${INLINE} 'wasm-unsafe-eval'`) },
  { name: 'a host with workers and no WebAssembly', header: policy(`${INLINE}; worker-src blob:`), says: NOT_RUN },
  { name: 'a host with neither', header: policy(INLINE), says: NOT_RUN },
  { name: 'a host that names another charset', header: ['content-type', 'text/html; charset=iso-8859-1'] },
  { name: 'a sandboxed frame of a blob', frame: "f.src = URL.createObjectURL(new Blob([text], { type: 'text/html' }))", sandbox: 'sandbox="allow-scripts"' },
  { name: 'a sandboxed frame of a text', frame: 'f.srcdoc = text', sandbox: 'sandbox="allow-scripts"' },
  { name: 'a frame of a text', frame: 'f.srcdoc = text' },
]

async function testPlaces({ test, open, folder, isFirefox }, file) {
  let place
  const server = http.createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    if (request.url === '/frame') {
      return response.end(`<!doctype html><iframe id="f" ${place.sandbox ?? ''} style="width:1200px;height:800px"></iframe>
<script>fetch('/game').then(answer => answer.text()).then(text => { ${place.frame} })</script>`)
    }
    if (place.header) response.setHeader(...place.header)
    response.end(fs.readFileSync(file))
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${server.address().port}`
  /** A page whose console may have errors, because browsers report in the console what they forbid. */
  const opened = async url => {
    const page = await open({ settings: QUIET })
    page.expectsErrors = true
    await page.goto(url, { waitUntil: 'commit' })
    return page
  }
  for (const each of PLACES) {
    await test(`a page in a file in ${each.name} ${each.says ? 'says why it cannot play' : 'plays'}`, async () => {
      place = each
      const page = await opened(`${base}/${each.frame ? 'frame' : 'game'}`)
      if (each.frame) await page.waitForFunction(() => frames.length === 1 && (f.src || f.srcdoc))
      const within = each.frame ? page.frames()[1] : page
      if (each.says) {
        await untilSaid(page, each.says)
      } else {
        await oneAction(page, within)
        await told(page, within, each, isFirefox)
      }
      await page.context().close()
    })
  }
  server.close()
  await test('a page saved by the browser plays', async () => {
    const page = await opened(pathToFileURL(file).href)
    await oneAction(page, page)
    // Chromium saves templates without their contents
    const text = await page.evaluate(() => {
      for (const template of document.querySelectorAll('template')) template.content.replaceChildren()
      return `<!doctype html>\n${document.documentElement.outerHTML}`
    })
    const copy = path.join(folder, 'copy.html')
    fs.writeFileSync(copy, text)
    await page.goto(pathToFileURL(copy).href)
    await oneAction(page, page)
    fs.writeFileSync(copy, text.replace(/(id="program-code" value=")[^"]*/, '$1'))
    await page.reload()
    await page.getByText('lacks its program: download the file itself').waitFor()
    await page.context().close()
  })
}

/** Waits for text on the page. Also works without scripts, where the browser cannot wait by itself. */
async function untilSaid(page, words) {
  let said
  for (let wait = 0; wait < 75; wait++) {
    said = await page.evaluate(() => document.querySelector('#main')?.innerText)
    if (words.test(said)) return
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  throw new Error(`the page says "${said}"`)
}

/** Plays an action by clicks, and waits for the agent's answer. */
async function oneAction(page, within) {
  await within.locator('.play').getByLabel('Strength', { exact: true }).selectOption('level-3')
  for (const kind of ['from', 'target']) {
    const place = await within.locator(`.play .square.${kind}`).first().getAttribute('data-place')
    const { x, y, width, height } = await within.locator(`.play [data-place="${place}"]`).first().boundingBox()
    await page.mouse.click(x + width / 2, y + height / 2)
  }
  await within.waitForFunction(() => document.querySelectorAll('.play .move').length >= 2)
}

/** Checks that "Copy link" and "Save game" report what they did. */
async function told(page, within, { frame, sandbox }, isFirefox) {
  await within.getByText('Position and files').click()
  await within.getByRole('button', { name: 'Copy link', exact: true }).click()
  await within.getByText(frame ? 'the text of the position was copied instead' : 'Link to this position copied.').waitFor()
  if (!isFirefox) {
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(frame ? / [wb] /.test(copied) : copied.startsWith('http://127.0.0.1'), copied)
  }
  await within.getByRole('button', { name: 'Save game', exact: true }).click()
  await within.getByText(sandbox ? 'If your browser did not save phage-' : 'Game saved as phage-').waitFor()
  const given = within.locator('.files textarea')
  expect(await given.isVisible() === Boolean(sandbox), 'the text of the game is visible where it should not be, or missing')
  if (sandbox) expect(JSON.parse(await given.inputValue()).game === 'phage', 'the field does not contain a game')
}
