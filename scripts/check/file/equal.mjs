// Compares positions and searches of an exported file with those of `petteia serve`: the answers must be equal byte for byte.
//
//   node scripts/check/file/equal.mjs PROGRAM GAME [GAME ...] [--positions N]
//
// A GAME is an id or a file NAME.game. The program computes the same way as the file (PETTEIA_PLAIN=1).

import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'

import { random } from '../page/hands.mjs'
import { engineOf } from './engine.mjs'
import { serverOf } from './server.mjs'

const { values: options, positionals } = parseArgs({ allowPositionals: true, options: { positions: { type: 'string', default: '200' } } })
const [program, ...games] = positionals
const positions = Number(options.positions)
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'petteia-file-'))

/** Asks both the same questions: positions from random games, and searches at those positions. */
async function compare(name, server, file) {
  const [home, theirs] = [await file('home'), await server('home')]
  const id = home.games[0].id
  const known = theirs.games.find(game => game.id === id)
  const text = known.options.find(option => option.name === 'text')?.default
  const place = text ? { game: id, options: { text } } : { game: id, options: {} }
  const agents = home.agents[id].filter(({ kind }) => kind !== 'random')
  const chance = random(games.indexOf(name) + 1)
  let searches = 0
  const both = async (path, data) => {
    const mine = await file(path, { ...data, options: {} })
    assert.equal(JSON.stringify(mine), JSON.stringify(await server(path, data)), `${name}: ${path} ${JSON.stringify(data)}`)
    return mine
  }
  await both('rules', { ...place, actions: [] })
  for (let seen = 0, actions = []; seen < positions; seen++) {
    const position = await both('position', { ...place, actions })
    if (position.over) {
      actions = []
      continue
    }
    const agent = agents[seen % agents.length]
    const strength = agent.levels && seen % 3 === 0 ? { level: 1 + chance(9) } : { simulations: 8 + chance(40) }
    const asked = { ...place, actions, agent: agent.key, seed: seen, page: 'equal', vary: seen % 2 === 0, ...strength }
    if (agent.kind !== 'perfect' || agent.levels || id === 'tic-tac-toe') {
      await both('search', asked)
      searches++
    }
    actions = [...actions, position.legal[chance(position.legal.length)].text]
  }
  console.log(`${name}: ${positions} positions and ${searches} searches match`)
}

let server
try {
  const texts = games.filter(game => game.endsWith('.game')).map(game => path.resolve(game))
  server = await serverOf(program, folder, texts, { PETTEIA_PLAIN: '1' })
  for (const game of games) {
    const file = path.join(folder, `${path.basename(game)}.html`)
    execFileSync(program, ['export', game, '--format', 'html', '--out', file])
    await compare(game, server.ask, await engineOf(file))
  }
} finally {
  server?.end()
  fs.rmSync(folder, { recursive: true, force: true })
}
// without this call, the files' workers would keep the process waiting
process.exit()
