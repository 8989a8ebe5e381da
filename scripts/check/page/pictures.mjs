// Takes the pictures for README.md and the guides, in light and dark: the page with a finished game, the tops of a balance page and
// of a report, and a page in a file on a phone. Arguments: the folder for the pictures, the balance page, and the report.

import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import { createRequire } from 'node:module'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { execFileSync, spawn } from 'node:child_process'

import { untilState } from './hands.mjs'

const [folder, balance, report] = process.argv.slice(2).map(argument => path.resolve(argument))
const { chromium } = createRequire(`${process.env.PAGE_MODULES}/`)('playwright-core')

/** A game with a visible mistake. */
const GAME = 'phage'
const ACTIONS = `a1-f1 d6-c5 e3-h6 h8-e8 h6-f4 b5-e2 c2-c3 f7-f6 c3-a3 f6-f5 f4-e5 f5-h5 g4-h4 e2-g2 a3-a4 c5-a7 h4-g5 a7-b6 a4-a5 e8-e7
  e5-d4 e7-b7 f1-c1 b6-d8 g5-g6 g2-f3 g6-g8 f3-d5 g8-f8 d5-c4 f8-g7 b7-d7 a5-a6 c4-b4 g7-h7 d7-c7 c1-e1 c7-c8 e1-d1 c8-a8 d1-d3 b4-b3 d3-d2`

/** `petteia serve`, and its address. */
async function serve() {
  const server = spawn(path.resolve(process.env.PETTEIA), ['serve', '--port', '0', '--folder', 'nowhere'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(createInterface(server.stdout), 'line')
  return { server, url: line.match(/http:\/\/[\d.:]+/)[0] }
}

/** The game on the page, after a review. */
async function drawGame(page, url, file) {
  await page.goto(url)
  const record = { game: GAME, options: {}, start: null, actions: ACTIONS.split(/\s+/), id: 'x', own: true }
  const kept = { record, side: 'first', opponent: { name: 'shipped', strength: 'usual' } }
  await page.evaluate(([game, kept]) => sessionStorage.setItem(`petteia.play.${game}`, JSON.stringify(kept)), [GAME, kept])
  await page.goto(`${url}/#play/${GAME}`)
  await page.reload()
  await untilState(page, 'over')
  await page.getByText('How to play').click()
  await page.getByRole('button', { name: 'Look at the game', exact: true }).click()
  await page.waitForFunction(() => /Judged by the searches/.test(document.querySelector('.play .review .words').textContent))
  await page.mouse.move(0, 0)
  // cuts off the buttons below the board
  await page.screenshot({ path: file, clip: { x: 0, y: 0, width: 1120, height: 750 } })
}

async function drawTop(page, file, picture) {
  await page.goto(`file://${file}`)
  await page.screenshot({ path: picture })
}

/** A page in a file, as shown on a phone, at a position of the same game. */
async function drawFile(page, picture) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'petteia-picture-')), `${GAME}.html`)
  execFileSync(path.resolve(process.env.PETTEIA), ['export', GAME, '--format', 'html', '--out', file])
  await page.goto(`file://${file}#at/${GAME}/${encodeURIComponent(JSON.stringify([null, ACTIONS.split(/\s+/).slice(0, 16), null]))}`)
  await untilState(page, 'yours')
  await page.screenshot({ path: picture })
  fs.rmSync(path.dirname(file), { recursive: true })
}

const { server, url } = await serve()
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--hide-scrollbars'] })
try {
  for (const colorScheme of ['light', 'dark']) {
    const open = (width, height) => browser.newPage({ viewport: { width, height }, colorScheme })
    const named = name => path.join(folder, colorScheme === 'dark' ? `${name}-dark.png` : `${name}.png`)
    await drawGame(await open(1120, 790), url, named('page'))
    await drawTop(await open(620, 815), balance, named('balance'))
    await drawTop(await open(620, 815), report, named('report'))
    await drawFile(await open(390, 760), named('file'))
  }
} finally {
  await browser.close()
  server.kill('SIGTERM')
}
