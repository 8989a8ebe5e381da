// Compares the search speed of an exported file with that of the program that exported it, with and without wide vector instructions.
//
//   node scripts/check/file/speed.mjs PROGRAM GAME [GAME ...] [--simulations N] [--rounds N]
//
// Each search uses the shipped agent at the start position, on one thread. The three variants take turns; medians are reported. The last
// line is JSON.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'

import { engineOf } from './engine.mjs'
import { serverOf } from './server.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true, options: { simulations: { type: 'string', default: '1000' }, rounds: { type: 'string', default: '5' } },
})
const [program, ...games] = positionals
const [simulations, rounds] = [options.simulations, options.rounds].map(Number)
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'petteia-file-'))
const median = values => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]

const servers = []
const found = {}
try {
  const plain = await serverOf(program, folder, [], { PETTEIA_PLAIN: '1' })
  const best = await serverOf(program, folder)
  servers.push(plain, best)
  for (const game of games) {
    const file = path.join(folder, `${game}.html`)
    execFileSync(program, ['export', game, '--format', 'html', '--out', file])
    const begun = performance.now()
    const inFile = await engineOf(file)
    const opened = performance.now() - begun
    const times = { file: [], plain: [], best: [] }
    // loading is not timed, except for the file's first answer
    const question = seed => ({ game, options: {}, actions: [], agent: 'shipped', simulations, seed, page: 'speed' })
    const first = performance.now()
    await inFile('search', { ...question(0), simulations: 100 })
    const firstMove = performance.now() - first
    for (const { ask } of servers) await ask('search', question(0))
    for (let round = 1; round <= rounds; round++) {
      for (const [name, ask] of [['file', inFile], ['plain', plain.ask], ['best', best.ask]]) {
        const before = performance.now()
        await ask('search', question(round))
        times[name].push((performance.now() - before) / simulations)
      }
    }
    const milliseconds = Object.fromEntries(Object.entries(times).map(([name, values]) => [name, Number(median(values).toFixed(4))]))
    found[game] = { bytes: fs.statSync(file).size, opened: Math.round(opened), firstMove: Math.round(firstMove), milliseconds }
    console.log(`${game}: ${JSON.stringify(found[game])}`)
  }
} finally {
  servers.forEach(server => server.end())
  fs.rmSync(folder, { recursive: true, force: true })
}
console.log(JSON.stringify(found))
// without this call, the files' workers would keep the process waiting
process.exit()
