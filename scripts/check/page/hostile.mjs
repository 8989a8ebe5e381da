// Sends requests over raw sockets that the program's own page never sends. The program must refuse them and keep answering.

import net from 'node:net'

import { expect } from './hands.mjs'

const MANY = 1000
const BIG = 100 * 1024 * 1024

export async function testHostile({ url, test }) {
  const { hostname, port } = new URL(url)
  const host = `${hostname}:${port}`
  const token = (await (await fetch(url)).text()).match(/name="token" content="([^"]+)"/)[1]
  const home = () => fetch(`${url}/api/home`, { headers: { 'x-petteia-token': token } })

  /** Sends bytes; resolves to the response received until the other side closes the socket or the time is up. */
  const send = (bytes, { wait = 3000, then = () => {} } = {}) => new Promise(resolve => {
    let answer = ''
    const socket = net.connect(Number(port), hostname, () => {
      socket.write(bytes)
      then(socket)
    })
    const end = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer)
    }
    const timer = setTimeout(end, wait)
    socket.on('data', data => {
      answer += data.toString('latin1')
      if (answer.length > 1e6) end()
    })
    socket.on('error', end)
    socket.on('close', end)
  })
  const status = answer => Number(answer.match(/^HTTP\/1\.1 (\d+)/)?.[1] ?? 0)
  const request = (line, headers = {}, body = '') => {
    const all = { host, connection: 'close', ...headers }
    const lines = Object.entries(all).filter(([, value]) => value != null).map(([name, value]) => `${name}: ${value}\r\n`)
    return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
  }
  const post = (path, body, headers = {}) =>
    request(`POST ${path}`, { 'x-petteia-token': token, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers }, body)
  const refused = async (name, bytes, options) => {
    const answer = await send(bytes, options)
    const code = status(answer)
    expect(code === 0 || (code >= 400 && code < 500) || code === 501 || code === 505, `${name}: ${answer.slice(0, 200)}`)
    expect(!answer.includes(token), `${name}: the token is in the answer`)
    return code
  }
  const alive = async () => expect((await home()).status === 200, 'the program no longer answers')
  const suite = (name, body) => test(`hostile: ${name}`, async () => {
    await body()
    await alive()
  })

  await suite('another Host', async () => {
    for (const other of ['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, '', null, `${host}\r\nhost: evil.example`, `${host}\r\nhost: ${host}`]) {
      await refused(`Host ${other}`, request('GET /', { host: other }))
      await refused(`Host ${other}`, request('GET /api/home', { host: other, 'x-petteia-token': token }))
    }
  })
  await suite('another Origin', async () => {
    for (const origin of ['http://evil.example', 'http://127.0.0.1:1', 'null', `http://evil.example:${port}`, `https://${host}`]) {
      await refused(`Origin ${origin}`, post('/api/position', '{"game":"phage","actions":[]}', { origin }))
      await refused(`Origin ${origin}`, request('GET /api/home', { origin, 'x-petteia-token': token }))
    }
  })
  await suite('no token, a wrong one, a preflight', async () => {
    expect(await refused('none', request('GET /api/home')) > 0, 'no answer')
    await refused('wrong', request('GET /api/home', { 'x-petteia-token': `${token.slice(0, -1)}x` }))
    await refused('empty', request('GET /api/home', { 'x-petteia-token': '' }))
    const preflight = await send(request('OPTIONS /api/home', { origin: 'http://evil.example', 'access-control-request-method': 'GET' }))
    expect(!/access-control-allow/i.test(preflight), 'a preflight is permitted')
  })
  await suite('traversal', async () => {
    const paths = ['/assets/../Cargo.toml', '/assets/..%2f..%2fCargo.toml', '/assets/%2e%2e/%2e%2e/etc/passwd', '/../../etc/passwd', '//etc/passwd',
      '/assets//etc/passwd', '/assets/..\\..\\Cargo.toml', '/assets/', '/assets/app.js/', '/api/runs/../home', '/api/runs/-1', '/api/runs/99999999999999999999']
    for (const path of paths) await refused(path, request(`GET ${path}`, { 'x-petteia-token': path.startsWith('/api') ? token : null }))
  })
  await suite('NUL and other invalid bytes', async () => {
    for (const line of ['GET /\0', 'GET /assets/app.js\0.css', 'G\0T /', 'GET /%00', 'GET /\xff\xfe', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03']) {
      await refused(JSON.stringify(line), Buffer.from(request(line), 'latin1'))
    }
    await refused('NUL in a header', request('GET /', { 'x-a': 'a\0b' }))
    await refused('NUL in a body', post('/api/position', '{"game":"phage\0","actions":["\0"]}'))
    await refused('NUL escaped', post('/api/position', '{"game":"phage\\u0000","actions":["\\u0000"]}'))
  })
  await suite('methods, versions, lengths', async () => {
    for (const method of ['PUT', 'DELETE', 'TRACE', 'CONNECT', 'get', 'X'.repeat(5000)]) await refused(method, request(`${method} /`))
    await refused('absolute form', request('GET http://evil.example/', { host: 'evil.example' }))
    await refused('HTTP/3.7', `GET / HTTP/3.7\r\nhost: ${host}\r\n\r\n`)
    await refused('two lengths', post('/api/position', '{}', { 'content-length': '2\r\ncontent-length: 3' }))
    await refused('negative length', post('/api/position', '{}', { 'content-length': '-1' }))
    await refused('endless length', post('/api/position', '{}', { 'content-length': '99999999999999999999999' }))
    await refused('chunked', post('/api/position', '', { 'content-length': null, 'transfer-encoding': 'chunked' }) + 'ffffffff\r\n{')
    await refused('long header', request('GET /', { 'x-a': 'a'.repeat(200000) }))
    await refused('many headers', request('GET /', Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`x-${index}`, '1']))))
    await refused('long path', request(`GET /${'a'.repeat(100000)}`))
  })
  await suite('bodies that are not valid requests', async () => {
    const bodies = ['', '{', 'null', '[]', '"x"', '['.repeat(100000), '{"game":7}', '{"game":"no-such-game","actions":[]}', 
      '{"game":"phage","actions":"a1"}', `{"game":"phage","actions":[${'"a1-a2",'.repeat(20000)}"a1"]}`, '{"game":"phage","options":{"x":1},"actions":[]}',
      '{"game":"phage","start":"8/8 w","actions":[]}', '{"game":"phage","actions":[],"weights":[["a1",1e999]]}', '{"game":"../../etc","actions":[]}']
    for (const path of ['position', 'search', 'save', 'rules']) {
      for (const body of bodies) {
        // fields that a request does not need are ignored
        if (path === 'rules' && body.includes('phage') && !body.includes('"x"')) continue
        if (path !== 'position' && body.includes('weights')) continue
        await refused(`${path} ${body.slice(0, 60)}`, post(`/api/${path}`, body))
      }
    }
    await refused('load', post('/api/load', '{"text":"\\u0000{}"}'))
    await refused('search without agent', post('/api/search', '{"game":"phage","actions":[],"agent":"nobody","simulations":1,"page":"x","seed":1}'))
    await refused('search, endless', post('/api/search', '{"game":"phage","actions":[],"agent":"nobody","seconds":1e9,"page":"x","seed":1}'))
  })
  await suite('a body of 100 MB', async () => {
    const begin = Date.now()
    const bytes = post('/api/load', '', { 'content-length': BIG })
    const flood = socket => {
      const chunk = Buffer.alloc(1 << 20, 'a')
      let sent = 0
      const more = () => {
        while (sent < BIG && !socket.destroyed) {
          sent += chunk.length
          if (!socket.write(chunk)) return
        }
      }
      socket.on('drain', more)
      more()
    }
    await refused('100 MB', bytes, { wait: 20000, then: flood })
    expect(Date.now() - begin < 15000, 'the whole body was read')
  })
  await suite('broken WebSockets', async () => {
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }
    const frames = Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x81, 0x7f])
    for (const path of ['/ws', '/api/home']) {
      const answer = await send(request(`GET ${path}`, headers), { wait: 1000, then: socket => socket.write(frames) })
      expect(status(answer) !== 101, 'it speaks WebSocket')
      expect(!answer.includes(token), 'the token is in the answer')
    }
  })
  await suite(`${MANY} silent sockets`, async () => {
    const sockets = await Promise.all(Array.from({ length: MANY }, () => new Promise(resolve => {
      const socket = net.connect(Number(port), hostname, () => resolve(socket))
      socket.on('error', () => resolve(socket))
    })))
    sockets.forEach((socket, index) => index % 2 && !socket.destroyed && socket.write('GET / HT'))
    const begin = Date.now()
    const during = await Promise.race([home().then(answer => answer.status, () => 'closed'), new Promise(resolve => setTimeout(resolve, 8000, 'none'))])
    const seconds = ((Date.now() - begin) / 1000).toFixed(1)
    console.log(`      with ${MANY} sockets open: ${during} after ${seconds} s`)
    sockets.forEach(socket => socket.destroy())
    for (let wait = 0; wait < 40; wait++) {
      const after = await home().then(answer => answer.status, () => 0)
      if (after === 200) return
      await new Promise(resolve => setTimeout(resolve, 250))
    }
    expect(false, 'no answer after the sockets are closed')
  })
}
