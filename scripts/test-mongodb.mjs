/** `npm run test:mongodb`: the suites of the store, of the API and of enforcement on MongoDB; arguments are vitest's. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mongodbForTests } from './mongodb-for-tests.mjs'
import { prepare, prepareFolder } from './prepare.mjs'
import { LOST_ANSWERS } from './test-tiers.mjs'
import { becomeVitest } from './vitest.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
await prepare(root, 'tests')
await prepareFolder(join(root, LOST_ANSWERS))
process.env.MONGODB_URL = await mongodbForTests()
process.env.STORE = 'mongodb'
await becomeVitest(
  ['--project', 'mongodb', '--project', 'on-both-stores', ...process.argv.slice(2)],
  'vitest-mongodb.json',
)
