// `petteia serve --listen`: a page for other devices, protected by a password.

import fs from 'node:fs'
import net from 'node:net'

import { expect } from './hands.mjs'

const TRIES = 10

export async function testNetwork({ open, test, shot, start, addressIn }) {
  const log = start(['serve', '--folder', 'runs', '--port', '0', '--listen', '127.0.0.1'], 'network')
  const url = await addressIn(log)
  const printed = fs.readFileSync(log, 'utf8')
  const password = printed.match(/^password: (\S+)$/m)?.[1]
  const { port } = new URL(url)
  let page

  /** The head of the response to a request with these lines. */
  const ask = (line, ...headers) => new Promise(resolve => {
    let answer = ''
    const socket = net.connect(Number(port), '127.0.0.1', () => socket.write(`${[`${line} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`))
    socket.on('data', data => (answer += data))
    socket.on('close', () => resolve(answer))
    socket.on('error', () => resolve(answer))
  })
  const host = `host: 127.0.0.1:${port}`
  const status = answer => Number(answer.match(/^HTTP\/1\.1 (\d+)/)?.[1])

  await test('without the password there is a form, and nothing else', async () => {
    expect(/^[a-z2-9]{4}(-[a-z2-9]{4}){3}$/.test(password) && printed.includes(`${url}/?password=${password}`), printed)
    for (const path of ['/', '/assets/app.js', '/api/home', '/password', '/nothing', '/?password=', `/assets/app.js?password=${password}`]) {
      const answer = await ask(`GET ${path}`, host)
      expect(status(answer) === 401 && answer.includes('<form') && !/name="token"|<script/.test(answer), `${path}: ${answer}`)
      expect(!answer.toLowerCase().includes('set-cookie'), `${path} sets a cookie`)
    }
    for (const name of ['evil.example', `evil.example:${port}`, `laptop:${port}`]) {
      expect(status(await ask('GET /', `host: ${name}`)) === 403, `${name} is answered`)
    }
    // a different numeric address of this machine
    expect(status(await ask('GET /', `host: 192.168.1.5:${port}`)) === 401, 'a numeric address is refused')
    page = await open({ width: 390, height: 844, touch: true })
    page.expectsErrors = true
    await page.goto(url)
    await shot(page, 'password')
    expect(await page.locator('input').count() === 1 && await page.locator('script').count() === 0, 'there is more than a form')
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the form is too wide')
  })

  await test('a wrong password is refused in words, the right one opens the page', async () => {
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button', { name: 'Open the page' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Password').fill(` ${password.toUpperCase().replaceAll('-', ' ')}`)
    await page.keyboard.press('Enter')
    await page.waitForSelector('.card svg')
    page.expectsErrors = false
    expect(page.url() === `${url}/`, page.url())
    const [cookie] = await page.context().cookies()
    expect(cookie.httpOnly && cookie.sameSite === 'Strict' && !cookie.value.includes(password), JSON.stringify(cookie))
    expect(await page.evaluate(() => document.cookie) === '', 'scripts can read the cookie')
    await page.locator('.card a.begin').last().tap()
    await page.waitForSelector('.play .square.target')
    // the token that is in the page is not enough by itself
    const token = await page.locator('meta[name=token]').getAttribute('content')
    expect(status(await ask('GET /api/home', host, `x-petteia-token: ${token}`)) === 401, 'the token alone is enough')
    expect(status(await ask('GET /api/home', host, `x-petteia-token: ${token}`, `cookie: ${cookie.name}=${cookie.value}`)) === 200, 'cookie and token are not enough')
    expect(status(await ask('GET /api/home', host, `cookie: ${cookie.name}=${cookie.value}`)) === 403, 'the cookie alone is enough')
    await page.context().close()
  })

  await test('the printed address opens the page, and the password does not stay in it', async () => {
    page = await open()
    // a tab that was opened earlier shows the form
    const other = await page.context().newPage()
    await other.goto(url)
    // the same holds in a browser that is already logged in
    for (const time of ['first', 'second']) {
      await page.goto(`${url}/?password=${password}`)
      await page.waitForSelector('.card svg')
      expect(page.url() === `${url}/`, `the ${time} time: ${page.url()}`)
    }
    await page.reload()
    await page.waitForSelector('.card svg')
    await other.getByLabel('Password').fill(password)
    await other.keyboard.press('Enter')
    await other.waitForSelector('.card svg')
    expect(other.url() === `${url}/`, other.url())
    await other.close()
  })

  await test('attempts are limited, and a browser that is logged in stays logged in', async () => {
    const tried = []
    for (let count = 0; count <= TRIES; count++) tried.push(status(await ask(`GET /?password=${count}`, host)))
    expect(tried.every((code, count) => code === (count < TRIES ? 401 : 429)), tried.join())
    const late = await ask(`GET /?password=${password}`, host)
    expect(status(late) === 429 && /Wait \d+ minutes/.test(late), late)
    await page.reload()
    await page.waitForSelector('.card svg')
    await page.context().close()
  })
}
