import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import {
  ALSO_IN_EXPRESS,
  ALSO_ON_MONGODB,
  NOT_ON_MONGODB,
  ON_FERRETDB,
  ONLY_IN_TORTURE,
  ONLY_IN_TORTURE_ON_MONGODB,
  ONLY_ON_MONGODB,
} from './scripts/test-tiers.mjs'

/** `npm run torture` draws and repeats far more. */
const torture = process.env.STRESS === 'full'

/** `npm test` is the quick tier, `npm run test:slow` the slow one. Without a tier both are there. */
const tier = process.env.TIER

const project = (name: string, include: string[], timeout = 20_000, exclude: string[] = []) => ({
  extends: true as const,
  test: {
    name,
    include: tier === 'slow' ? include.map((path) => path.replace('*.test.ts', '*.slow.test.ts')) : include,
    exclude: [
      '**/node_modules/**',
      ...(tier === 'quick' ? ['**/*.slow.test.ts'] : []),
      ...(torture ? [] : ONLY_IN_TORTURE),
      ...exclude,
    ],
    testTimeout: timeout * (torture ? 30 : 1),
    hookTimeout: timeout * (torture ? 30 : 1),
  },
})

/** Each project starts its own processes, which load what they need: one for what is too small for that. */
const SMALL_PARTS = [
  ...['audit-log', 'contract', 'engine', 'permit', 'testkit'].map((name) => `packages/${name}/{src,test}/**/*.test.ts`),
  'packages/dashboard/src/**/*.test.ts',
  'scripts/**/*.test.ts',
]

/** Its cases wait for answers that never come: all at once. */
const lostAnswers = project('lost-answers', ['tools/lost-answers/test/**/*.test.ts'], 60_000)
Object.assign(lostAnswers.test, { maxConcurrency: 60 })

/** What runs on both stores is quick on the other one, and shares processes as there. */
function onMongodb() {
  const isSlow = (path: string) => path.includes('.slow.')
  const slow = ALSO_ON_MONGODB.map((path) => path.replace('*.test.ts', '*.slow.test.ts')).filter(isSlow)
  const quick = project('on-both-stores', [...ALSO_ON_MONGODB], 180_000, ['**/*.slow.test.ts', ...NOT_ON_MONGODB])
  Object.assign(quick.test, { isolate: false })
  const excluded = [...NOT_ON_MONGODB, ...(torture ? [] : ONLY_IN_TORTURE_ON_MONGODB)]
  return [project('mongodb', [...ONLY_ON_MONGODB, ...slow], 180_000, excluded), quick]
}

/** Quick tests once more, with each request through an application of Express. */
function inExpress() {
  const again = project('in-express', [], 60_000)
  Object.assign(again.test, { include: ALSO_IN_EXPRESS, env: { IN_EXPRESS: 'true' }, isolate: false })
  return again
}

export default defineConfig({
  test: {
    // Many tests wait: files beyond the number of processors use them meanwhile. Slow ones start processes themselves.
    maxWorkers: availableParallelism() + (tier === 'quick' ? 2 : 1),
    // A process for each file costs more than most quick files: those of a project share what was loaded.
    isolate: tier !== 'quick',
    // What is built is loaded as it is shipped, and not transformed once more for each file of tests.
    server: { deps: { external: [/\/dist\//] } },
    reporters: ['default'],
    // A condition is waited for as long as a busy machine needs; one second is the default.
    expect: { poll: { timeout: 15_000 } },
    setupFiles: torture ? ['scripts/torture-setup.ts'] : [],
    projects: [
      project('small-parts', SMALL_PARTS, 120_000),
      project('client', ['packages/client/{src,test}/**/*.test.ts']),
      project('integrations', ['integrations/*/{src,test}/**/*.test.ts'], 60_000),
      lostAnswers,
      ...(process.env.BROWSER === 'true'
        ? [project('browser', ['packages/dashboard/test/**/*.browser.test.ts'], 60_000)]
        : []),
      project('server', ['server/{src,test}/**/*.test.ts'], 60_000, [...ONLY_ON_MONGODB, ...ON_FERRETDB]),
      ...(tier === 'slow' ? [inExpress()] : []),
      ...(process.env.STORE === 'mongodb' ? onMongodb() : []),
      ...(process.env.STORE === 'ferretdb' ? [project('ferretdb', ON_FERRETDB, 60_000)] : []),
    ],
  },
})
