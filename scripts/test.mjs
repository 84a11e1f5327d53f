/** `npm test`: prepares the checkout, then becomes one vitest run of the quick tier; arguments are vitest's (`npm test -- --project engine`). */
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'
import { becomeVitest } from './vitest.mjs'

await prepare(fileURLToPath(new URL('..', import.meta.url)))
process.env.TIER = 'quick'
await becomeVitest(process.argv.slice(2))
