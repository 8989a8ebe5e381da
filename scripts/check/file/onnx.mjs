// Runs an exported ONNX network in ONNX Runtime Web, as someone building a custom page would: checks that it gives the same answers as
// Petteia's own forward pass, and measures its time per position.
//
//   petteia export phage --format onnx --out phage.onnx
//   petteia bench net --game phage --checkpoint shipped --seconds 0.01 --save outputs
//   node scripts/check/file/onnx.mjs phage.onnx outputs/outputs.json
//
// Needs onnxruntime-web (npm install --prefix target/file onnxruntime-web@1.30.0). The last line is JSON: the largest differences in
// policy logits and in result probabilities, and milliseconds per position in batches of one and eight.

import fs from 'node:fs'
import path from 'node:path'
import { createRequire } from 'node:module'

const MOST = 1e-4
const SECONDS = 1

const modules = process.env.FILE_MODULES ?? path.resolve('target/file')
const ort = createRequire(`${modules}/`)('onnxruntime-web')
ort.env.wasm.numThreads = 1

const probabilities = logits => {
  const top = Math.max(...logits)
  const shares = logits.map(logit => Math.exp(logit - top))
  const sum = shares.reduce((sum, share) => sum + share, 0)
  return shares.map(share => share / sum)
}
const furthest = (one, other) => one.reduce((most, value, index) => Math.max(most, Math.abs(value - other[index])), 0)
const tensor = (planes, shape) => new ort.Tensor('float32', Float32Array.from(planes), shape)

const [model, outputs] = process.argv.slice(2)
const session = await ort.InferenceSession.create(new Uint8Array(fs.readFileSync(model)), { executionProviders: ['wasm'] })
let positions = 0
let policy = 0
let wdl = 0
let last
for (const line of fs.readFileSync(outputs, 'utf8').trim().split('\n')) {
  last = JSON.parse(line)
  const [count] = last.shape
  const found = await session.run({ planes: tensor(last.planes, last.shape) })
  policy = Math.max(policy, furthest(Array.from(found.policy.data), last.policy))
  for (let row = 0; row < count; row++) {
    wdl = Math.max(wdl, furthest(Array.from(found.wdl.data.slice(3 * row, 3 * row + 3)), probabilities(last.wdl.slice(3 * row, 3 * row + 3))))
  }
  positions += count
}

/** Milliseconds per position in batches of this size. */
async function timed(batch) {
  const cells = last.shape.slice(1).reduce((product, size) => product * size, 1)
  const planes = Array.from({ length: batch * cells }, (_, index) => last.planes[index % last.planes.length])
  const input = { planes: tensor(planes, [batch, ...last.shape.slice(1)]) }
  let best = Infinity
  for (const end = performance.now() + 1000 * SECONDS; performance.now() < end;) {
    const before = performance.now()
    await session.run(input)
    best = Math.min(best, performance.now() - before)
  }
  return best / batch
}

console.log(JSON.stringify({ positions, policy, wdl, milliseconds: { 1: await timed(1), 8: await timed(8) } }))
if (!positions || policy > MOST || wdl > MOST) process.exit(1)
