/** `npm run torture`: the run of `npm test` with far more of everything that the suites draw at random or repeat. */
import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'
import { becomeVitest } from './vitest.mjs'

process.env.STRESS = 'full'
process.env.SEED ??= `${randomInt(2 ** 31)}`
console.log(`SEED=${process.env.SEED} (set it to draw the same again)`)

await prepare(fileURLToPath(new URL('..', import.meta.url)))
await becomeVitest(process.argv.slice(2))
