/** Events of the largest policies, agents and keys stay below 64 KiB, and say what they leave out. */
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Receiver, startReceiver } from '../feed/webhooks/receiver.js'
import { type RunningServer, runServer } from '../running-server.js'
import { FastClock } from './fast-clock.js'
import { createPolicy, succeed } from './refunds.js'

const EVENT_BYTES = 64 * 1024

let server: RunningServer
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver((_, res) => res.end())
  server = await runServer({ settings: { rateLimitPerSecond: 0, webhookAllowPrivate: true }, clock: new FastClock() })
  await succeed(server.call('POST', '/v1/webhooks', { body: { url: receiver.url, events: null } }))
})
afterAll(async () => {
  await server.stop()
  await receiver.close()
})

/** The event of a type about an object. */
async function eventOf(type: string, id: string) {
  const body = await until(`${type} of ${id}`, () => {
    const bodies = receiver.received.map((one) => ({ size: one.body.length, ...JSON.parse(one.body.toString()) }))
    return bodies.find((one) => one.type === type && one.data.id === id)
  })
  expect(body.size).toBeLessThan(EVENT_BYTES)
  return body.data
}

/** As many items as a body can hold. */
const many = <T>(count: number, item: (i: number) => T) => Array.from({ length: count }, (_, i) => item(i))
const pad = (i: number, length: number) => `${i}`.padStart(length, 'x')

it('shows the first rules, agents and warnings of a policy', async () => {
  const policy = await createPolicy(server, {
    name: '\u0001'.repeat(128),
    description: '\u0001'.repeat(1024),
    agents: many(300, (i) => `agent:${pad(i, 200)}`),
    // The later ones are never reached, which is a warning each.
    rules: many(600, (i) => ({ action: `a.${pad(i % 2, 100)}`, effect: 'allow', reason: pad(i, 150) })),
  })
  const data = await eventOf('policy.created', policy.id)
  for (const member of ['rules', 'agents', 'warnings']) {
    expect(data[member].length).toBeGreaterThan(10)
    expect(data[member]).toEqual(policy[member].slice(0, data[member].length))
    expect(data[`${member}_omitted`]).toBe(policy[member].length - data[member].length)
  }
  // What leaves nothing out is as GET answers it.
  const small = await createPolicy(server, { name: 'small', rules: [{ action: 'a.b', effect: 'allow' }] })
  expect(await eventOf('policy.created', small.id)).toEqual(small)
})

it('shows no rule of a policy whose first one is too large', async () => {
  const conditions = { 'context.name': { $in: many(900, (i) => pad(i, 100)) } }
  const policy = await createPolicy(server, { name: 'p', rules: [{ action: 'a.c', effect: 'allow', conditions }] })
  expect(await eventOf('policy.created', policy.id)).toMatchObject({ rules: [], rules_omitted: 1 })
})

it('shows the first metadata of an agent, and the first agents of a key', async () => {
  const id = 'agent:large'
  const metadata = Object.fromEntries(many(500, (i) => [`m${i}`, pad(i, 300)]))
  await succeed(server.call('POST', '/v1/agents', { body: { id, metadata } }))
  await succeed(server.call('POST', `/v1/agents/${id}/suspend`, { body: {} }))
  const shown = await eventOf('agent.suspended', id)
  expect(shown.metadata_omitted).toBe(500 - Object.keys(shown.metadata).length)
  expect(metadata).toMatchObject(shown.metadata)
  const agents = many(800, (i) => `agent:${pad(i, 200)}`)
  const body = { name: 'bound', scopes: ['decisions:read'], agents }
  const key = await succeed(server.call('POST', '/v1/keys', { body }))
  const told = await eventOf('key.created', key.id)
  expect(told.agents).toEqual(agents.slice(0, agents.length - told.agents_omitted))
})
