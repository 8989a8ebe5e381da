// Pictures to look at, and what can be measured of looks: nothing wider than the window, all controls reachable and named.

import { expect, gotoGame, untilState } from './hands.mjs'

const SHOWN = ['phage', 'cage', 'caissa', 'custodial-trap-intermediate', 'custodial-trap-advanced', 'connect-four', 'tic-tac-toe']
const WINDOWS = [
  { name: 'light', width: 1280, height: 860 },
  { name: 'dark', width: 1280, height: 860, dark: true },
  { name: 'phone', width: 360, height: 740 },
]

export async function testLooks({ url, open, test, shot }) {
  for (const { name, ...window } of WINDOWS) {
    const page = await open(window)
    await test(`nothing is cut off: ${name}`, async () => {
      for (const id of SHOWN) {
        await gotoGame(page, url, id)
        const [from] = await page.locator('.play .square.from').all()
        if (from) await from.click()
        await shot(page, `${name}-${id}`, { fullPage: name === 'phone' })
        await expectWidth(page, window.width, id)
      }
      for (const place of ['watch', 'compare/phage']) {
        await page.goto(`${url}/#${place}`)
        await page.waitForTimeout(1200)
        await shot(page, `${name}-${place.split('/')[0]}`, { fullPage: true })
        await expectWidth(page, window.width, place)
      }
    })
    await page.context().close()
  }
  await test('controls have names, and Tab reaches them', async () => {
    const page = await open()
    await page.goto(`${url}/#play/phage`)
    await untilState(page, 'yours')
    const nameless = await page.evaluate(() => [...document.querySelectorAll('button, input, select, [tabindex]')]
      .filter(control => !(control.textContent.trim() || control.getAttribute('aria-label') || control.closest('label')))
      .map(control => control.outerHTML))
    expect(!nameless.length, `without a name: ${nameless.join(' ')}`)
    const reached = new Set()
    for (let step = 0; step < 40; step++) {
      await page.keyboard.press('Tab')
      reached.add(await page.evaluate(() => document.activeElement.className || document.activeElement.textContent || document.activeElement.tagName))
    }
    for (const wanted of ['board-holder', 'graph-holder', 'primary']) expect(reached.has(wanted), `Tab does not reach ${wanted}`)
    await page.context().close()
  })
}

async function expectWidth(page, width, place) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  expect(wide <= width, `${place} is ${wide} wide in a window of ${width}`)
}
