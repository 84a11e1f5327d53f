/** What endpoints have answered to events of a decision is erased with its request, also when the answer comes later. */
import type { ServerResponse } from 'node:http'
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Receiver, startReceiver } from '../feed/webhooks/receiver.js'
import { type RunningServer, runServer } from '../running-server.js'
import { FastClock } from './fast-clock.js'
import { createPolicy, decide, everyItem, succeed } from './refunds.js'

/** A spelling of the resource that the server does not look for. */
const ANSWER = Buffer.from('order:8812').toString('hex')

let server: RunningServer
let receiver: Receiver
let webhook: string
let held: ServerResponse[] | null
beforeEach(async () => {
  held = null
  receiver = await startReceiver((_, res) => void (held === null ? res.end(ANSWER) : held.push(res)))
  server = await runServer({ settings: { rateLimitPerSecond: 0, webhookAllowPrivate: true }, clock: new FastClock() })
  await createPolicy(server, { name: 'p', rules: [{ action: 'pay.create', effect: 'allow' }] })
  const body = { url: receiver.url, events: ['decision.created'] }
  webhook = (await succeed(server.call('POST', '/v1/webhooks', { body }))).id
})
afterEach(async () => {
  await server.stop()
  await receiver.close()
})

const ask = (agent_id: string) =>
  decide(server, { agent_id, action: 'pay.create', resource: 'order:8812', context: {} })
const erase = async (path: string) => expect((await server.call('DELETE', path)).status).toBeLessThan(300)
const deliveries = () => everyItem(server, `/v1/webhooks/${webhook}/deliveries`)
const responseTo = async (id: string) =>
  (await deliveries()).find(({ subject }) => subject === id)?.attempts[0].response
const delivered = (count: number) =>
  until(`${count} deliveries`, async () => {
    const all = await deliveries()
    return (all.length === count && all.every(({ status }) => status === 'delivered')) || undefined
  })

it('of one request, of an agent, and of no other', async () => {
  const [one, other, kept] = [await ask('agent:a'), await ask('agent:b'), await ask('agent:c')]
  await delivered(3)
  for (const { id } of [one, other, kept]) expect(await responseTo(id)).toBe(ANSWER)
  await erase(`/v1/audit/requests/${one.id}`)
  await erase('/v1/audit/requests?agent_id=agent:b')
  for (const { id } of [one, other]) expect(await responseTo(id)).toBeNull()
  expect(await responseTo(kept.id)).toBe(ANSWER)
})

it('also when it comes after the erasure, and at the next attempt', async () => {
  held = []
  const { id } = await ask('agent:a')
  await until('a delivery that waits for its answer', () => receiver.received.length > 0 || undefined)
  await erase(`/v1/audit/requests/${id}`)
  const answers = held
  held = null
  for (const res of answers) res.end(ANSWER)
  await delivered(1)
  expect(await responseTo(id)).toBeNull()
  const [delivery] = await deliveries()
  await succeed(server.call('POST', `/v1/webhooks/${webhook}/deliveries/${delivery.id}/retry`))
  const again = await until('the retry', async () => {
    const [found] = await deliveries()
    return found.attempt_count === 2 ? found : undefined
  })
  expect(again.attempts).toMatchObject([{ response: null }, { status: 200, response: null }])
})
