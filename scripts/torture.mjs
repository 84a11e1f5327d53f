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
if (process.argv.length === 2) for (const script of ['test-mongodb.mjs', 'test-ferretdb.mjs']) runScript(script)
await becomeVitest(process.argv.slice(2))

/**
 * The whole run is on every store; arguments choose what runs on the embedded one.
 * @param {string} name
 */
function runScript(name) {
  const script = fileURLToPath(new URL(name, import.meta.url))
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' })
  process.once('exit', (code) => {
    process.exitCode = code || process.exitCode || (status ?? 1)
  })
}
