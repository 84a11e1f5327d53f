/** `npm run test:mongodb`: the suites of the store, of the API and of enforcement on MongoDB; arguments are vitest's. */
import { fileURLToPath } from 'node:url'
import { mongodbForTests } from './mongodb-for-tests.mjs'
import { prepare } from './prepare.mjs'
import { becomeVitest } from './vitest.mjs'

await prepare(fileURLToPath(new URL('..', import.meta.url)))
process.env.MONGODB_URL = await mongodbForTests()
process.env.STORE = 'mongodb'
await becomeVitest(
  ['--project', 'mongodb', '--project', 'on-both-stores', ...process.argv.slice(2)],
  'vitest-mongodb.json',
)
