// Measures how long an exported file takes in Chromium until it can be played, and until its agent has made its first move.
//
//   node scripts/check/file/first.mjs FILE [FILE ...] [--rounds N]
//
// Each round opens the file in a new browser with an empty cache; the agent begins, at the level that the page suggests.
// `scripts/check/page.sh` installs the required packages under target/page; CHROMIUM may name a browser. Prints medians in milliseconds.

import fs from 'node:fs'
import path from 'node:path'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { pathToFileURL } from 'node:url'

import { untilState } from '../page/hands.mjs'

const { values: options, positionals: files } = parseArgs({ allowPositionals: true, options: { rounds: { type: 'string', default: '5' } } })
const { chromium } = createRequire(`${path.resolve(process.env.PAGE_MODULES ?? 'target/page')}/`)('playwright-core')
const median = values => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]

async function once(file) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 } })
    const opened = Date.now()
    await page.goto(pathToFileURL(path.resolve(file)).href, { timeout: 120000 })
    page.setDefaultTimeout(120000)
    await untilState(page, 'yours')
    const ready = Date.now() - opened
    const begun = Date.now()
    await page.locator('.play').getByLabel('You play', { exact: true }).selectOption('second')
    const begin = page.getByRole('button', { name: 'New game' })
    if (await begin.isVisible()) await begin.click()
    await page.waitForFunction(() => document.querySelectorAll('.play .move').length === 1)
    return { ready, move: Date.now() - begun }
  } finally {
    await browser.close()
  }
}

for (const file of files) {
  const found = []
  for (let round = 0; round < Number(options.rounds); round++) found.push(await once(file))
  const [ready, move] = ['ready', 'move'].map(name => median(found.map(times => times[name])))
  console.log(`${path.basename(file)}: ${fs.statSync(file).size} bytes, can be played after ${ready}, the agent's first move after ${move} more`)
}
process.exit(0)
