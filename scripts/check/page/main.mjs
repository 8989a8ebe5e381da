// Starts a training run, the program, and a browser, runs all tests, stops what it started, and reports which tests failed.
// Options: --screenshots DIR, --only PART (first, play, review, seats, told, kept, games, watch, compare, write, file, site, network,
// looks, hostile), --url URL (of a running program), --firefox (pages in a file only).

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { execFileSync, spawn } from 'node:child_process'

import { testCompare } from './compare.mjs'
import { testFile } from './file.mjs'
import { testFirst } from './first.mjs'
import { testGames } from './games.mjs'
import { testHostile } from './hostile.mjs'
import { testKept } from './kept.mjs'
import { testLooks } from './looks.mjs'
import { testNetwork } from './network.mjs'
import { testPlay } from './play.mjs'
import { testReview } from './review.mjs'
import { testSeats } from './seats.mjs'
import { testSite } from './site.mjs'
import { testTold } from './told.mjs'
import { testWatch } from './watch.mjs'
import { testWrite } from './write.mjs'

const { values: options } = parseArgs({
  options: { screenshots: { type: 'string' }, only: { type: 'string' }, url: { type: 'string' }, firefox: { type: 'boolean', default: false } },
})
const { chromium, firefox } = createRequire(`${process.env.PAGE_MODULES}/`)('playwright-core')
const program = path.resolve(process.env.PETTEIA)
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'petteia-page-'))
const children = []
const failures = []
const pages = []
let passed = 0

function start(args, name) {
  const log = fs.openSync(path.join(folder, `${name}.log`), 'w')
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', log, log] })
  children.push(child)
  return path.join(folder, `${name}.log`)
}

/** Runs one test and records its result. */
async function test(name, body) {
  const begin = Date.now()
  try {
    await body()
    passed++
    console.log(`ok    ${name} (${((Date.now() - begin) / 1000).toFixed(1)} s)`)
  } catch (error) {
    failures.push(name)
    console.log(`FAIL  ${name}: ${error.stack ?? error}`)
    for (const [index, page] of pages.entries()) {
      if (!page.isClosed()) await page.screenshot({ path: path.join(folder, `failure-${failures.length}-${index}.png`) }).catch(() => {})
    }
  }
}

/** The address that the program prints. */
async function addressIn(log) {
  for (let wait = 0; wait < 100; wait++) {
    const found = fs.readFileSync(log, 'utf8').match(/http:\/\/127\.0\.0\.1:\d+/)
    if (found) return found[0]
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`petteia serve printed no address:\n${fs.readFileSync(log, 'utf8')}`)
}

/** Makes small runs (one finished, one still training) and a match of the finished one. */
function prepare() {
  const config = path.resolve('configs/tic-tac-toe.toml')
  const small = ['selfplay.games=64', 'selfplay.bootstrap_games=64', 'net.filters=8', 'net.blocks=1', 'search.simulations=16', 'arena.games=10', 'arena.final_games=20']
  const settings = small.flatMap(setting => ['--set', setting])
  const run = (...args) => execFileSync(program, args, { cwd: folder, stdio: 'ignore' })
  run('train', config, '--run', 'runs/done', ...settings, '--generations', '2', '--threads', '2')
  run('arena', 'tic-tac-toe', 'runs/done:16', 'rollout:16', '--games', '4', '--save', 'match.jsonl')
  // a run so long that it is still training while the tests look at the page
  start(['train', config, '--run', 'runs/live', ...settings, '--set', 'selfplay.games=256', '--generations', '100000', '--threads', '1'], 'train')
}

function browserOf(browser, errors) {
  /** Opens a page in a new context; errors in its console are collected. */
  return async function open({ width = 1280, height = 860, dark = false, settings = {}, touch = false } = {}) {
    const context = await browser.newContext({
      viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', hasTouch: touch, acceptDownloads: true,
      // Firefox does not ask for permission
      permissions: options.firefox ? [] : ['clipboard-read', 'clipboard-write'],
    })
    await context.addInitScript(text => {
      // empty pages have no storage
      if (/^(file|http)/.test(location.protocol)) localStorage.getItem('petteia.settings') ?? localStorage.setItem('petteia.settings', text)
    }, JSON.stringify(settings))
    const page = await context.newPage()
    pages.push(page)
    page.setDefaultTimeout(15000)
    page.on('console', message => message.type() === 'error' && !page.expectsErrors && errors.push(`console: ${message.text()}`))
    page.on('response', async response => {
      if (response.status() < 400 || page.expectsErrors) return
      const answer = await response.text().catch(() => '')
      errors.push(`${response.url()}: ${response.status()} ${answer.slice(0, 300)} for ${response.request().postData()?.slice(0, 500)}`)
    })
    page.on('pageerror', error => !page.expectsErrors && errors.push(`page: ${error.stack}`))
    return page
  }
}

async function all() {
  const errors = []
  let { url } = options
  if (!url && !options.firefox) {
    prepare()
    url = await addressIn(start(['serve', '--folder', 'runs', '--port', '0'], 'serve'))
  }
  const browser = options.firefox
    ? await firefox.launch({ executablePath: process.env.FIREFOX, channel: 'moz-firefox' })
    : await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] })
  const screenshots = options.screenshots && path.resolve(options.screenshots)
  if (screenshots) fs.mkdirSync(screenshots, { recursive: true })
  const shot = async (page, name, more = {}) => screenshots && page.screenshot({ path: path.join(screenshots, `${name}.png`), ...more })
  const tools = { url, open: browserOf(browser, errors), test, shot, match: path.join(folder, 'match.jsonl'), folder, program, start, addressIn, isFirefox: options.firefox }
  const parts = {
    first: testFirst, play: testPlay, review: testReview, seats: testSeats, told: testTold, kept: testKept, games: testGames, watch: testWatch,
    compare: testCompare, write: testWrite, file: testFile, site: testSite, network: testNetwork, looks: testLooks, hostile: testHostile,
  }
  for (const [name, part] of Object.entries(parts)) {
    if (options.firefox ? name === 'file' : !options.only || options.only === name) await part(tools)
  }
  await test('no error in the console', () => {
    if (errors.length) throw new Error([...new Set(errors)].join('\n'))
  })
  await browser.close()
}

try {
  await all()
} catch (error) {
  failures.push('the tests themselves')
  console.log(`FAIL  ${error.stack}`)
} finally {
  for (const child of children) child.kill('SIGTERM')
  if (failures.length) console.log(`logs are in ${folder}`)
  else fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 300 })
}
console.log(failures.length ? `${failures.length} failed: ${failures.join(', ')}` : `all ${passed} passed`)
process.exit(failures.length ? 1 : 0)
