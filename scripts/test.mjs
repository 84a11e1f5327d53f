/** `npm test`: prepares the checkout, then becomes one vitest run; arguments are vitest's (`npm test -- --project engine`). */
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'
import { becomeVitest } from './vitest.mjs'

await prepare(fileURLToPath(new URL('..', import.meta.url)))
await becomeVitest(process.argv.slice(2))
