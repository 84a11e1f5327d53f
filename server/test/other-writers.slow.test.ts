/** The embedded store is for one server: what another program writes there is said in the log. */
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createPolicy, decide, makeKey, REFUNDS, succeed } from './api/refunds.js'
import { editedStore } from './edited-store.js'
import { FastIntervals } from './fast-intervals.js'
import { type RunningServer, runServer } from './running-server.js'

let server: RunningServer
let intervals: FastIntervals
beforeEach(async () => {
  intervals = new FastIntervals()
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
})
afterEach(async () => {
  await server.stop()
  intervals.stop()
})

const told = () => server.logged.filter(({ message }) => message.startsWith('another program has written'))
const ASKED = { agent_id: 'agent:refunds', action: 'mail.send' }

it('is said once for an edit, and not for what the server itself writes', async () => {
  const policy = await createPolicy(server, REFUNDS)
  const { id } = await makeKey(server, ['decisions:read'])
  const before = (await decide(server, ASKED)).effect
  const { ticks } = intervals
  await until('many looks', async () => {
    await decide(server, ASKED)
    return intervals.ticks > ticks + 20 || undefined
  })
  expect(told()).toEqual([])

  const store = editedStore(server.dataDir)
  await store.document('policies', [policy.id, 1], ({ document }) => Object.assign(document.rules[0], { action: '*' }))
  await until('the operator to be told', () => told().length > 0 || undefined)
  // It gives nobody a right before the policies are read again.
  expect((await decide(server, ASKED)).effect).toBe(before)
  await store.document('keys', [id], (key) => Object.assign(key, { scopes: ['*'] }))
  await until('the operator to be told again', () => told().length > 1 || undefined)
  await succeed(server.call('GET', '/v1/policies'))
  const seen = intervals.ticks
  await until('more looks', () => intervals.ticks > seen + 20 || undefined)
  expect(told()).toHaveLength(2)
  expect(told()[0]).toMatchObject({ level: 'error', message: expect.stringContaining('audit verify --records') })
})
