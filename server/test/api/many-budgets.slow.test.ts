/** A decision that asks hundreds of budgets: its events stay small, and say what they leave out. */
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Received, type Receiver, startReceiver } from '../feed/webhooks/receiver.js'
import { type RunningServer, runServer } from '../running-server.js'
import { EventReader } from './event-reader.js'
import { FastClock } from './fast-clock.js'
import { createPolicy, decide, succeed } from './refunds.js'

const EVENT_BYTES = 64 * 1024
const BUDGETS = 300
const UNIT = 'a-unit-with-a-long-name-of-32-ch'

let server: RunningServer
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver((_, res) => res.end())
  server = await runServer({ settings: { rateLimitPerSecond: 0, webhookAllowPrivate: true }, clock: new FastClock() })
  const rules = [{ action: 'x.*', effect: 'allow' }]
  const budget = { limit: 1000, unit: UNIT, period: 'monthly', amount: 1 }
  for (let i = 0; i < BUDGETS; i += 1) {
    await createPolicy(server, { name: `budget ${i}`, rules, budget })
    if (i < 100) await createPolicy(server, { name: `shadow ${i}`, mode: 'shadow', rules })
  }
})
afterAll(async () => {
  await server.stop()
  await receiver.close()
})

it('has events below 64 KiB, with the budgets of the policy that decided, live and in webhooks', async () => {
  await succeed(server.call('POST', '/v1/webhooks', { body: { url: receiver.url, events: ['decision.created'] } }))
  const reader = await EventReader.begin(server)
  try {
    const ask = { agent_id: `agent:${'a'.repeat(240)}`, action: 'x.y', resource: `order:${'é'.repeat(500)}` }
    const { id, policy_id } = await decide(server, ask)
    const live = (await reader.first(1)).find(({ data }) => data.data.id === id)?.data
    const sent = await until('the webhook', () => {
      const bodies = receiver.received.map(({ body }: Received) => body)
      return bodies.find((body) => JSON.parse(body.toString()).data.id === id)
    })
    const read = await succeed(server.call('GET', `/v1/decisions/${id}`))
    expect(read.budgets).toHaveLength(BUDGETS)
    const webhook = JSON.parse(sent.toString())
    for (const { data } of [live, webhook]) {
      expect(data).toMatchObject({ budgets_omitted: BUDGETS - 64, policy_id })
      expect(data.budgets).toHaveLength(64)
      expect(data.budgets[0]).toEqual(read.budgets.find((one: { policy_id: string }) => one.policy_id === policy_id))
    }
    expect([webhook.data.shadow.length, webhook.data.shadow_omitted]).toEqual([64, 36])
    expect([live.data.shadow, live.data.shadow_omitted]).toEqual([undefined, undefined])
    expect(sent.length).toBeLessThan(EVENT_BYTES)
    for (const line of reader.text.split('\n')) expect(Buffer.byteLength(line)).toBeLessThan(EVENT_BYTES)
  } finally {
    reader.close()
  }
})
