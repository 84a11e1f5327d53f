/** An export that waits for the trees, which another server keeps, longer than what was known of keys before may be used. */

import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { openMongoStore } from '#server/stores/mongodb/open'
import { done, newDatabase, removeReplicas, startReplica } from './replicas.js'

afterEach(removeReplicas)

it('is answered while keys change all the time', async () => {
  const url = newDatabase()
  const first = await startReplica({ url })
  const checkpoints = () => first.call('GET', '/v1/audit/checkpoints')
  await until('a checkpoint', async () => (await checkpoints()).body.root !== null || undefined)
  await first.stop()
  const store = await openMongoStore({ url })
  // As one that was killed a moment ago.
  expect(await store.readers.hold('trees', 'another server', 600_000)).not.toBeNull()
  await store.close()
  const server = await startReplica({ url })
  let isOver = false
  const changing = (async () => {
    while (!isOver) await done(server.call('POST', '/v1/keys', { body: { name: 'k', scopes: ['agents:read'] } }))
  })()
  try {
    const { status, body } = await server.call('GET', '/v1/audit/export')
    expect([status, body?.code]).toEqual([200, undefined])
  } finally {
    isOver = true
    await changing
  }
})
