/** `npm run test:slow`: the tests that take seconds each, in files named `*.slow.test.ts`; arguments are vitest's. */
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'
import { becomeVitest } from './vitest.mjs'

await prepare(fileURLToPath(new URL('..', import.meta.url)))
process.env.TIER = 'slow'
await becomeVitest(process.argv.slice(2), 'vitest-slow.json')
