/** A guarded job over a crash, with the data in MongoDB. The same on the embedded store: process/guard.slow.test.ts. */
import { randomBytes } from 'node:crypto'
import { afterEach, expect, it } from 'vitest'
import { endChildren } from '../process/child.js'
import { runTwice } from '../process/crashing-job.js'
import { newDirectory, removeDirectories, ShippedServer } from '../process/shipped-server.js'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'

const name = `countersign-guard-${randomBytes(6).toString('hex')}`
afterEach(async () => {
  await endChildren()
  removeDirectories()
  await dropDatabase(name)
})

it.each([
  ['at-least-once', 2, 'paid', { status: 'confirmed', spent: 60, reserved: 0 }],
  ['at-most-once', 1, 'DeniedError permit_already_used', { status: 'authorized', spent: 0, reserved: 60 }],
] as const)('a job that is killed and started again runs its action %s', async (runs, times, outcome, money) => {
  const server = await ShippedServer.start({ dataDir: newDirectory(), env: { MONGODB_URL: mongoUrl(name) } })
  const { id, said, ...known } = await runTwice(server, runs)
  expect(said).toEqual([...Array.from({ length: times }, () => ({ began: id })), { outcome }])
  expect(known).toEqual(money)
})
