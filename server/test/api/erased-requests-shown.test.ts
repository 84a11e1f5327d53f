/** What was erased is shown nowhere any more: no route, stream, webhook, delivery log or line of the server's log has it. */
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Receiver, startReceiver } from '../feed/webhooks/receiver.js'
import { FROZEN, type RunningServer, runServer } from '../running-server.js'
import { EventReader } from './event-reader.js'
import { FastClock } from './fast-clock.js'
import { createPolicy, decide, everyItem, makeKey, succeed } from './refunds.js'

const MARKER = 'marker_7q3zé"x'
const AGENT = 'agent:shown'
const REQUEST = {
  agent_id: AGENT,
  resource: `order:${MARKER}`,
  context: { amount: 12, [MARKER]: 1, to: MARKER, deep: { list: [{ [`k${MARKER}`]: `v${MARKER}v` }] } },
}

let server: RunningServer
let receiver: Receiver
/** Made before the erasure. */
let decisions: { readonly id: string; readonly request_hash: string }[]
let webhook: string
let lastId: string
const readers: EventReader[] = []

const read = async (path: string) => JSON.stringify(await succeed(server.call('GET', path)))
const deliveries = () => everyItem(server, `/v1/webhooks/${webhook}/deliveries`)

/** Nothing is on its way any more. */
const delivered = (count: number) =>
  until(`${count} deliveries`, async () => {
    const all = await deliveries()
    return (all.length === count && all.every(({ status }) => status === 'delivered')) || undefined
  })

/** Whether a text has what was asked, in any spelling that JSON has, or its hash. */
function expectNothingOf(text: string, where: string): void {
  for (const part of ['marker_7q3z', ...decisions.map(({ request_hash }) => request_hash)])
    expect(text.includes(part), `${where}: ${text}`).toBe(false)
}

async function begin(lastEventId?: string): Promise<EventReader> {
  const headers = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId }
  const reader = await EventReader.begin(server, { headers })
  readers.push(reader)
  return reader
}

beforeAll(async () => {
  // It sends back what it got: as it was, and as a program in another language spells it.
  receiver = await startReceiver(({ body }, res) => {
    const { resource, request_hash } = JSON.parse(body.toString()).data
    const ascii = JSON.stringify(resource).replace('é', '\\u00e9')
    res.end(JSON.stringify({ resource, request_hash }) + ascii)
  })
  server = await runServer({ settings: { rateLimitPerSecond: 0, webhookAllowPrivate: true }, clock: new FastClock() })
  const rules = [
    { action: 'pay.create', effect: 'allow' },
    { action: 'pay.ask', effect: 'review' },
  ]
  await createPolicy(server, { name: 'p', rules, budget: { limit: 1000, unit: 'EUR', period: 'monthly' } })
  const events = ['decision.created', 'decision.confirmed']
  webhook = (await succeed(server.call('POST', '/v1/webhooks', { body: { url: receiver.url, events } }))).id

  const open = await begin()
  lastId = open.lastId as string
  const asked = ['pay.create', 'pay.ask', 'pay.none'].map((action) => decide(server, { ...REQUEST, action }))
  const ids = (await Promise.all(asked)).map(({ id }) => id)
  decisions = await Promise.all(ids.map((id) => succeed(server.call('GET', `/v1/decisions/${id}`))))
  expect(JSON.stringify(decisions)).toContain('marker_7q3z')
  await open.first(3)
  expect(open.text).toContain('marker_7q3z')
  await delivered(3)
  expect(receiver.received.map(({ body }) => body.toString()).join()).toContain('marker_7q3z')

  for (const { id } of decisions) expect((await server.call('DELETE', `/v1/audit/requests/${id}`)).status).toBe(204)
})
afterAll(async () => {
  for (const reader of readers) reader.close()
  await server.stop()
  await receiver.close()
})

describe('after the answer', () => {
  it('no event has it: of a stream that was there, of one that goes on from before, and of one that is new', async () => {
    const [open] = readers
    const [one, other] = [await begin(lastId), await begin(lastId)]
    await succeed(server.call('POST', `/v1/decisions/${decisions[0]?.id}/confirm`, { body: { amount: 11.5 } }))
    for (const reader of [one, other]) {
      const told = await reader.first(4)
      expectNothingOf(reader.text, 'a stream')
      expect(told.map(({ data }) => data.data.id).sort()).toEqual(
        [...decisions.map(({ id }) => id), decisions[0]?.id].sort(),
      )
      for (const { data } of told)
        expect(data.data).toMatchObject({
          resource: null,
          request_hash: null,
          request_erased_at: expect.any(String),
        })
    }
    const [last] = (await open?.first(4))?.slice(3) ?? []
    expect(last?.data.data).toMatchObject({ status: 'confirmed', resource: null })
    const filtered = await EventReader.begin(server, {
      query: `?resource=${encodeURIComponent(REQUEST.resource)}`,
      headers: { 'Last-Event-ID': lastId },
    })
    readers.push(filtered)
    await decide(server, { ...REQUEST, resource: REQUEST.resource, action: 'pay.none', context: {} })
    expect((await filtered.first(1))[0]?.data.data).toMatchObject({ action: 'pay.none', resource: REQUEST.resource })
    await delivered(5)
    await succeed(server.call('DELETE', `/v1/audit/requests?agent_id=${AGENT}`))
  })

  it('no webhook sends it again, and no delivery has kept what the receiver sent back', async () => {
    const before = receiver.received.length
    const [first] = await deliveries()
    expect(first?.attempts[0]).toMatchObject({ status: 200, response: null })
    const since = FROZEN.toISOString()
    await succeed(server.call('POST', `/v1/webhooks/${webhook}/replay`, { body: { since } }))
    await succeed(server.call('POST', `/v1/webhooks/${webhook}/deliveries/${first?.id}/retry`))
    const again = await until('what is sent again', () => {
      const sent = receiver.received.slice(before).map(({ body }) => body.toString())
      return sent.length >= 5 ? sent : undefined
    })
    for (const sent of again) expectNothingOf(sent, 'a webhook')
    expectNothingOf(JSON.stringify(await deliveries()), 'the deliveries')
  })

  it('no route that reads has it', async () => {
    const routes = server.started.composed.routes.filter(({ method, isUnbounded }) => method === 'GET' && !isUnbounded)
    const [policy] = await everyItem(server, '/v1/policies')
    const { id: key } = await makeKey(server, ['audit:read'])
    const ids: Readonly<Record<string, string>> = { agents: AGENT, policies: policy.id, keys: key, webhooks: webhook }
    const queries: Readonly<Record<string, (id: string) => string>> = {
      '/v1/audit/consistency': () => '?from=1',
      '/v1/audit/records': (id) => `?kind=decision&id=${id}`,
      '/v1/audit/proof': (id) => `?decision_id=${id}`,
    }
    for (const { path } of routes)
      for (const { id } of decisions) {
        const place = path.replace('{name}', encodeURIComponent(policy.name))
        const where = place.replace('{id}', ids[path.split('/')[2] as string] ?? id) + (queries[path]?.(id) ?? '')
        const { status, body } = await server.call('GET', where)
        expect(status, where).toBe(path.endsWith('/explanation') ? 404 : 200)
        expectNothingOf(JSON.stringify(body), where)
      }
    expectNothingOf(await read(`/v1/decisions?agent_id=${AGENT}&limit=200`), 'the list')
  })

  it('no line of the log has it', () => {
    expect(server.logged.length).toBeGreaterThan(20)
    expectNothingOf(JSON.stringify(server.logged), 'the log')
  })
})
