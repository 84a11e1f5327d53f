/** `npm run torture`: the tests of every tier with far more of everything that the suites draw at random or repeat. */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare, prepareFolder } from './prepare.mjs'
import { LOST_ANSWERS } from './test-tiers.mjs'
import { becomeVitest } from './vitest.mjs'

process.env.STRESS = 'full'
process.env.SEED ??= `${randomInt(2 ** 31)}`
console.log(`SEED=${process.env.SEED} (set it to draw the same again)`)

const root = fileURLToPath(new URL('..', import.meta.url))
await prepare(root, 'packages')
await prepareFolder(join(root, LOST_ANSWERS))
if (process.argv.length === 2) runOnMongodb()
await becomeVitest(process.argv.slice(2))

/** The whole run is on both stores; arguments choose what runs on the embedded one. */
function runOnMongodb() {
  const script = fileURLToPath(new URL('test-mongodb.mjs', import.meta.url))
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' })
  process.once('exit', (code) => {
    process.exitCode = code || (status ?? 1)
  })
}
