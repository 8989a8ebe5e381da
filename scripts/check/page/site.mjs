// A folder of pages for a web host, as `petteia site` writes it, opened from disk: every page is valid HTML, every link works, and
// nothing is requested from elsewhere.

import fs from 'node:fs'
import path from 'node:path'
import { createRequire } from 'node:module'
import { execFileSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'

import { expect } from './hands.mjs'

const { FileSystemConfigLoader, HtmlValidate } = createRequire(`${process.env.PAGE_MODULES}/`)('html-validate')

/** The errors in the HTML of a file. */
async function wrongIn(file) {
  const validate = new HtmlValidate(new FileSystemConfigLoader({ root: true, extends: ['html-validate:standard'] }))
  const { results } = await validate.validateFile(file)
  return results.flatMap(({ messages }) => messages.map(({ line, column, message }) => `${path.basename(file)}:${line}:${column}: ${message}`))
}

export async function testSite({ program, folder, open, test, shot }) {
  const site = path.join(folder, 'site')
  const brandubh = path.resolve('rules/brandubh.game')
  const pages = () => fs.readdirSync(site).filter(name => name.endsWith('.html')).sort()
  await test('a site has a playable page, rules, balance, and a report for each game', () => {
    execFileSync(program, ['site', site, 'runs/done', 'konane', brandubh, '--title', 'Four in a folder'], { cwd: folder })
    execFileSync(program, ['balance', 'tic-tac-toe', '--out', path.join(site, 'tic-tac-toe-balance.html')], { cwd: folder })
    execFileSync(program, ['site', site, 'runs/done', 'konane', brandubh, '--title', 'Three in a folder'], { cwd: folder, stdio: 'pipe' })
    expect(pages().length === 9, pages().join(', '))
  })
  await test('every page of a site is valid HTML', async () => {
    const wrong = (await Promise.all(pages().map(name => wrongIn(path.join(site, name))))).flat()
    expect(!wrong.length, wrong.join('\n'))
    const broken = path.join(folder, 'broken.html')
    fs.writeFileSync(broken, '<!doctype html>\n<html lang="en"><head><title>x</title></head><body><p><div></div></p></body></html>\n')
    expect((await wrongIn(broken)).length, 'the check finds nothing in a broken page')
  })
  await test('the links of a site lead to its pages', async () => {
    const page = await open()
    const asked = []
    page.on('request', request => /^(file|blob|data):/.test(request.url()) || asked.push(request.url()))
    for (const name of pages()) {
      await page.goto(pathToFileURL(path.join(site, name)).href)
      const links = await page.locator('a[href]').evaluateAll(links => links.map(link => link.getAttribute('href')))
      for (const link of links.filter(link => !link.startsWith('#') && !/^https:/.test(link))) {
        expect(fs.existsSync(path.join(site, link)), `${name}: ${link}`)
      }
    }
    await page.goto(pathToFileURL(path.join(site, 'index.html')).href)
    await shot(page, 'site', { fullPage: true })
    await page.getByRole('link', { name: 'Play' }).first().click()
    await page.waitForSelector('.play[data-game="tic-tac-toe"]')
    expect(!asked.length, asked.join(', '))
    await page.context().close()
  })
}
