// What a user does with the page: choose, click, wait.
// Input: a page in the browser. All actions use the mouse, the keyboard, and controls found by their labels.

/** A small random number generator, so that failures can be reproduced. */
export function random(seed) {
  let state = seed >>> 0 || 1
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export const state = page => page.locator('.play').getAttribute('data-state')

export function untilState(page, ...states) {
  return page.waitForFunction(wanted => wanted.includes(document.querySelector('.play')?.dataset.state), states, { polling: 20 })
}

export async function gotoGame(page, url, id) {
  // the address of a page in a file needs no slash
  await page.goto(`${url}${url.endsWith('.html') ? '' : '/'}#play/${id}`)
  await page.waitForSelector(`.play[data-game="${id}"]`)
  await untilState(page, 'yours', 'thinking', 'over')
}

/** Opens a game against the agent whose name matches, at its weakest setting. */
export async function openGame(page, url, id, agent = /^random$/) {
  await gotoGame(page, url, id)
  await chooseOption(page.getByLabel('Opponent', { exact: true }), agent)
  const strength = page.locator('.play').getByLabel('Strength', { exact: true })
  if (await strength.isVisible()) await weakest(page, strength)
  await page.getByRole('button', { name: 'New game' }).click()
  await untilState(page, 'yours', 'thinking')
}

async function weakest(page, strength) {
  if (await strength.locator('option[value="level-1"]').count()) return strength.selectOption('level-1')
  await strength.selectOption('simulations')
  const number = page.locator('.play').getByLabel('Simulations', { exact: true })
  await number.fill('8')
  await number.press('Enter')
}

export const named = (page, name) => page.getByRole('button', { name, exact: true })

/** Begins a variation at the shown position, leaves it again, and goes to the end of the game. */
export async function leaveVariation(page) {
  await named(page, 'Play on from here').click()
  await untilState(page, 'yours')
  await named(page, 'Back to the game').click()
  await untilState(page, 'past')
  await named(page, 'To the end').click()
}

/** Expands everything that an analysis can show. */
export async function openAnalysis(page) {
  const fold = page.locator('.play .fold')
  if (!await fold.evaluate(fold => fold.open)) await fold.locator('summary').click()
}

export async function chooseOption(select, pattern) {
  const texts = await select.locator('option').allTextContents()
  const index = texts.findIndex(text => pattern.test(text))
  if (index < 0) throw new Error(`no choice matches ${pattern}: ${texts.join(', ')}`)
  const value = await select.locator('option').nth(index).getAttribute('value')
  await select.selectOption(value)
}

/** The center of a square, in window coordinates. */
export async function middle(page, place) {
  return page.locator('.play').evaluate((play, place) => {
    const square = play.querySelector(`[data-place="${place}"]`)
    square.scrollIntoView({ block: 'nearest' })
    const box = square.getBoundingClientRect()
    return [box.x + box.width / 2, box.y + box.height / 2]
  }, place)
}

export async function clickSquare(page, place) {
  await page.mouse.click(...await middle(page, place))
}

/** Everything that can be clicked: squares, by their centers, and buttons for choices. */
const OFFERS = () => {
  // a click outside the window has no effect
  document.querySelector('.play .board-row').scrollIntoView({ block: 'nearest' })
  const squares = [...document.querySelectorAll('.play .square.from, .play .square.target')]
  const selected = document.querySelector('.play .square.selected')
  const targets = squares.filter(square => square.classList.contains('target'))
  // tries captures first, so that games end sooner
  const captures = targets.filter(square => square.previousElementSibling?.classList.contains('ring'))
  const wanted = selected ? (captures.length ? captures : targets) : squares
  const centers = wanted.map(square => {
    const box = square.getBoundingClientRect()
    return { square: true, at: [box.x + box.width / 2, box.y + box.height / 2] }
  })
  const buttons = [...document.querySelectorAll('.play .choices[aria-label="Choose an action"] button:not(.quiet)')].map((_, index) => ({ index }))
  const state = document.querySelector('.play').dataset.state
  return { state, offers: selected && !wanted.length ? buttons : [...centers, ...buttons] }
}

/** Plays random legal actions by clicks until the game is over; returns the text of the status line. */
export async function playToTheEnd(page, seed, most = 4000) {
  const below = random(seed)
  for (let click = 0; click < most; click++) {
    await untilState(page, 'yours', 'over', 'failed')
    const { state, offers } = await page.evaluate(OFFERS)
    const status = () => page.locator('.play .status').textContent()
    if (state === 'over') return status()
    if (state === 'failed') throw new Error(await status())
    if (state !== 'yours') continue
    if (!offers.length) throw new Error('it is my turn, but nothing can be clicked')
    const offer = offers[below(offers.length)]
    if (offer.square) await page.mouse.click(...offer.at)
    else await page.locator('.play .choices').first().locator('button:not(.quiet)').nth(offer.index).click()
  }
  throw new Error(`the game is not over after ${most} clicks`)
}

export function expect(condition, message) {
  if (!condition) throw new Error(message)
}
