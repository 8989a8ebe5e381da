// Pictures to look at, and measurable properties of the appearance: nothing is wider than the window, texts have enough contrast with
// their background, and all controls are named and reachable.

import { expect, gotoGame, openAnalysis, openGame, playToTheEnd, untilState } from './hands.mjs'

const SHOWN = ['phage', 'cage', 'caissa', 'custodial-trap-intermediate', 'custodial-trap-advanced', 'connect-four', 'tic-tac-toe']
const WINDOWS = [
  { name: 'light', width: 1280, height: 860 },
  { name: 'dark', width: 1280, height: 860, dark: true },
  { name: 'phone', width: 360, height: 740 },
]

/** The minimum contrast of a text. */
const CONTRAST = 4.5

/** The texts of the page with too little contrast to their background, except in drawings and disabled controls. */
const FAINT = least => {
  const numbers = color => color.match(/[\d.]+/g).map(Number)
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(part => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4))
    return 0.2126 * x + 0.7152 * y + 0.0722 * z
  }
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor)
      if (color.length < 4 || color[3] > 0.99) return color
    }
    return numbers(getComputedStyle(document.documentElement).backgroundColor)
  }
  const faint = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const element = text.parentElement
    if (!text.data.trim() || element.closest('svg, :disabled, option') || !element.getClientRects().length) continue
    const [one, other] = [light(numbers(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a)
    const contrast = (one + 0.05) / (other + 0.05)
    if (contrast < least) faint.push(`${contrast.toFixed(2)}: ${text.data.trim().slice(0, 40)}`)
  }
  return faint
}

/** The page's controls without a name. The options of a control do not count as its name. */
const NAMELESS = () => {
  const labelOf = control => [...control.closest('label')?.childNodes ?? []].filter(node => !node.contains(control)).map(node => node.textContent).join('')
  const ownOf = control => (control.matches('input, select') ? '' : control.textContent)
  return [...document.querySelectorAll('button, input, select, textarea, [tabindex]')]
    .filter(control => !control.closest('[hidden]'))
    .filter(control => !`${ownOf(control)}${control.getAttribute('aria-label') ?? ''}${labelOf(control)}`.trim())
    .map(control => control.outerHTML)
}

async function expectContrast(page, place) {
  const faint = await page.evaluate(FAINT, CONTRAST)
  expect(!faint.length, `${place}: ${faint.join('; ')}`)
}

export async function testLooks({ url, open, test, shot }) {
  for (const { name, ...window } of WINDOWS) {
    const page = await open(window)
    await test(`nothing is cut off: ${name}`, async () => {
      await page.goto(url)
      await page.waitForSelector('.card svg')
      await expectWidth(page, window.width, 'the list of games')
      for (const id of SHOWN) {
        await gotoGame(page, url, id)
        const [from] = await page.locator('.play .square.from').all()
        if (from) await from.click()
        await shot(page, `${name}-${id}`, { fullPage: name === 'phone' })
        await expectWidth(page, window.width, id)
      }
      for (const place of ['watch', 'compare/phage', 'write', 'play/hex']) {
        await page.goto(`${url}/#${place}`)
        await page.waitForTimeout(1200)
        await shot(page, `${name}-${place.replace('compare/phage', 'compare').replace('/', '-')}`, { fullPage: true })
        await expectWidth(page, window.width, place)
      }
    })
    await test(`a finished game under review: ${name}`, async () => {
      await openGame(page, url, 'connect-four')
      await page.evaluate(() => scrollTo(0, 0))
      await playToTheEnd(page, 3)
      await page.getByRole('button', { name: 'Look at the game' }).click()
      await page.waitForFunction(() => /Judged by the searches/.test(document.querySelector('.play .review .words').textContent))
      await openAnalysis(page)
      for (const layer of ['Visits', 'Priors']) await page.getByLabel(layer, { exact: true }).check()
      await page.locator('.play .shares td').first().waitFor()
      await shot(page, `${name}-review`, { fullPage: name === 'phone' })
      await expectWidth(page, window.width, 'the review')
      await expectContrast(page, 'the review')
      await page.getByRole('button', { name: 'Play on from here' }).click()
      await page.getByRole('group', { name: 'Variation' }).waitFor()
      await untilState(page, 'yours')
      await shot(page, `${name}-variation`)
      await expectWidth(page, window.width, 'a variation')
      await expectContrast(page, 'a variation')
    })
    await test(`texts have enough contrast: ${name}`, async () => {
      for (const place of ['games', 'play/phage', 'play/custodial-trap-advanced', 'play/hex', 'watch', 'compare/phage', 'write']) {
        await page.goto(`${url}/#${place}`)
        await page.waitForTimeout(700)
        await expectContrast(page, place)
      }
    })
    await page.context().close()
  }
  await test('controls have names, and Tab reaches them', async () => {
    const page = await open()
    await gotoGame(page, url, 'phage')
    // a game in progress, so that there are actions to step through
    await page.getByLabel('You play', { exact: true }).selectOption('second')
    await untilState(page, 'yours')
    await page.reload()
    await untilState(page, 'yours')
    const expectNames = async place => {
      const nameless = await page.evaluate(NAMELESS)
      expect(!nameless.length, `${place}, without a name: ${nameless.join(' ')}`)
    }
    await expectNames('play')
    const reached = new Set()
    for (let step = 0; step < 40; step++) {
      await page.keyboard.press('Tab')
      reached.add(await page.evaluate(() => document.activeElement.className || document.activeElement.textContent || document.activeElement.tagName))
    }
    for (const wanted of ['board-holder', 'graph-holder', 'primary']) expect(reached.has(wanted), `Tab does not reach ${wanted}`)
    for (const place of ['games', 'play/custodial-trap-intro', 'watch', 'compare/phage', 'write']) {
      await page.goto(`${url}/#${place}`)
      await page.waitForTimeout(700)
      await expectNames(place)
    }
    await page.evaluate(() => {
      document.body.insertAdjacentHTML('beforeend', '<label><select><option>choice</option></select></label>')
    })
    expect((await page.evaluate(NAMELESS)).length === 1, 'a select without a name is not found')
    await page.context().close()
  })
}

async function expectWidth(page, width, place) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  expect(wide <= width, `${place} is ${wide} wide in a window of ${width}`)
}
