/** `npm run test:slow`: the tests that take seconds each, in files named `*.slow.test.ts`; arguments are vitest's. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepareCollector } from './otlp-collector.mjs'
import { prepare, prepareFolder } from './prepare.mjs'
import { LOST_ANSWERS } from './test-tiers.mjs'
import { becomeVitest } from './vitest.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
await prepare(root, 'packages')
await prepareFolder(join(root, LOST_ANSWERS))
await prepareCollector(root)
process.env.TIER = 'slow'
await becomeVitest(process.argv.slice(2), 'vitest-slow.json')
