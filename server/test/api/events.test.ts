/** Live events: what happens to decisions, as server-sent events. */
import { LiveEventSchema } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { RawConnection } from '../process/raw-connection.js'
import { type RunningServer, runServer } from '../running-server.js'
import { EventReader, type ReadEvent, type ReaderOptions } from './event-reader.js'
import { ALLOWED, allowing, createPolicy, DENIED, decide, makeKey, REFUNDS, REVIEWED, succeed } from './refunds.js'

let server: RunningServer
let reviewer: string
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, REFUNDS)
  await createPolicy(server, allowing('mail.*'))
  reviewer = (await makeKey(server, ['reviews:write'])).key
})
afterAll(() => server.stop())

const readers: EventReader[] = []
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close()
})

async function begin(options?: ReaderOptions, on = server): Promise<EventReader> {
  const reader = await EventReader.begin(on, options)
  readers.push(reader)
  return reader
}

const move = (id: string, verb: string, options: object = {}) =>
  succeed(server.call('POST', `/v1/decisions/${id}/${verb}`, options))

describe('GET /v1/events', () => {
  it('answers at once, with the headers of a stream that no proxy holds back', async () => {
    const reader = await begin()
    expect(reader.res).toMatchObject({
      statusCode: 200,
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
        'transfer-encoding': 'chunked',
        'x-request-id': expect.stringMatching(/^req_/),
        'x-content-type-options': 'nosniff',
      },
    })
    expect(reader.res.headers).not.toHaveProperty('content-length')
    expect(reader.text).toMatch(/^: connected\nretry: 2000\nid: \S+\n\n$/)
  })

  it('tells every change of a decision once, in order, with its state as of the change', async () => {
    const reader = await begin()
    const { id } = await decide(server, ALLOWED)
    await move(id, 'confirm')
    const { key } = await makeKey(server, ['decisions:settle'])
    await move(id, 'correct', { key, body: { result: 'rejected' } })
    const denied = await decide(server, DENIED)
    const review = await decide(server, REVIEWED)
    await move(review.id, 'approve', { key: reviewer })
    const { permit_token } = await move(review.id, 'claim', { body: { holder: 'run-1' } })
    await succeed(server.call('POST', '/v1/permits/redeem', { body: { permit_token } }))
    const declined = await decide(server, REVIEWED)
    await move(declined.id, 'decline', { key: reviewer })
    const told = await reader.first(10)
    expect(told.map(({ event, data }) => [event, data.data.id, data.data.status, data.sequence])).toEqual([
      ['decision.created', id, 'authorized', 1],
      ['decision.confirmed', id, 'confirmed', 2],
      ['decision.corrected', id, 'rejected', 3],
      ['decision.created', denied.id, 'denied', 1],
      ['decision.created', review.id, 'awaiting_review', 1],
      ['decision.approved', review.id, 'approved', 2],
      ['decision.claimed', review.id, 'authorized', 3],
      ['decision.redeemed', review.id, 'authorized', 4],
      ['decision.created', declined.id, 'awaiting_review', 1],
      ['decision.declined', declined.id, 'declined', 2],
    ])
    expect(new Set(told.map((one) => one.id)).size).toBe(10)
    for (const { event, data } of told) {
      expect(LiveEventSchema.parse(data)).toEqual(data)
      expect(data.type).toBe(event)
    }
    // Ids and hashes can contain any letters by chance.
    const read = reader.text.replaceAll(/^id:.*$|"request_hash":"[^"]*"/gm, '')
    expect(read).not.toMatch(/eyJ|permit_token|"context"|"shadow"|EUR/)
  })

  it('has nothing of what was before, and nothing of what is no decision', async () => {
    await decide(server, ALLOWED)
    const reader = await begin()
    await createPolicy(server, allowing('calendar.read'))
    const { id } = await decide(server, { agent_id: 'agent:a', action: 'mail.send' })
    expect((await reader.first(1)).map(({ data }) => data.data.id)).toEqual([id])
  })

  it.each<[string, (id: string) => ReaderOptions]>([
    ['the header', (id) => ({ headers: { 'Last-Event-ID': id } })],
    ['the parameter', (id) => ({ query: `?last_event_id=${id}` })],
    ['the header, before the parameter', (id) => ({ query: '?last_event_id=x', headers: { 'Last-Event-ID': id } })],
  ])('goes on behind the last event that a reader had: %s', async (_, options) => {
    const reader = await begin()
    const made = [await decide(server, ALLOWED), await decide(server, ALLOWED), await decide(server, ALLOWED)]
    const [first] = await reader.first(3)
    reader.close()
    made.push(await decide(server, ALLOWED))
    const resumed = await begin(options(first?.id as string))
    made.push(await decide(server, ALLOWED))
    expect((await resumed.first(4)).map(({ data }) => data.data.id)).toEqual(made.slice(1).map(({ id }) => id))
  })

  it('goes on for other keys and other filters, too', async () => {
    const reader = await begin()
    const { id } = await decide(server, { agent_id: 'agent:other', action: 'mail.send' })
    await decide(server, ALLOWED)
    await reader.first(2)
    const { key } = await makeKey(server, ['decisions:read'])
    const start = /id: (\S+)/.exec(reader.text)?.[1]
    const resumed = await begin({ key, query: `?agent_id=agent:other&last_event_id=${start}` })
    expect((await resumed.first(1)).map(({ data }) => data.data.id)).toEqual([id])
  })

  it('has the events of its filters alone', async () => {
    const filters: Record<string, string> = {
      '?agent_id=agent:f': 'agent',
      '?action=mail.filtered': 'action',
      '?resource=mail:7': 'resource',
      '?effect=deny': 'denied',
      '?status=confirmed': 'confirmed',
      '?type=decision.confirmed': 'confirmed',
      '?type=decision.confirmed,decision.declined': 'confirmed',
      '?policy_id=pol_default': 'denied',
    }
    const opened = await Promise.all(Object.keys(filters).map((query) => begin({ query })))
    const made: Record<string, string> = {}
    const mail = { agent_id: 'agent:a', action: 'mail.send' }
    made.agent = (await decide(server, { ...mail, agent_id: 'agent:f' })).id
    made.action = (await decide(server, { ...mail, action: 'mail.filtered' })).id
    made.resource = (await decide(server, { ...mail, resource: 'mail:7' })).id
    made.denied = (await decide(server, { ...mail, action: 'none.such' })).id
    made.confirmed = (await decide(server, mail)).id
    await move(made.confirmed as string, 'confirm')
    for (const reader of opened) await reader.first(1)
    const all = await begin({ query: `?last_event_id=${/id: (\S+)/.exec(opened[0]?.text ?? '')?.[1]}` })
    expect((await all.first(6)).length).toBe(6)
    for (const [i, name] of Object.values(filters).entries())
      expect(opened[i]?.events.map(({ data }) => data.data.id)).toEqual([made[name]])
    const [{ data }] = (await all.first(1)) as [ReadEvent]
    const { request_hash } = data.data
    const query = `?request_hash=${request_hash}&last_event_id=${/id: (\S+)/.exec(all.text)?.[1]}`
    expect((await (await begin({ query })).first(1))[0]?.data.data.request_hash).toBe(request_hash)
  })

  it('of a key that is bound to agents has nothing of others', async () => {
    const { key } = await makeKey(server, ['decisions:read'], { agents: ['agent:bound-*'] })
    const reader = await begin({ key })
    const start = reader.lastId
    await decide(server, ALLOWED)
    const { id } = await decide(server, { agent_id: 'agent:bound-1', action: 'mail.send' })
    expect((await reader.first(1)).map(({ data }) => data.data.id)).toEqual([id])
    const named = await begin({ key, query: `?agent_id=agent:support-7&last_event_id=${start}` })
    const resumed = await begin({ key, query: `?last_event_id=${start}` })
    expect((await resumed.first(1)).map(({ data }) => data.data.id)).toEqual([id])
    expect(named.events).toEqual([])
  })

  it('has ids that tell a key that is bound to agents nothing of what others do', async () => {
    const { key } = await makeKey(server, ['decisions:read'], { agents: ['agent:quiet'] })
    const begins = async () => (await begin({ key })).lastId as string
    const before = [await begins(), await begins()]
    for (let i = 0; i < 12; i += 1) await decide(server, ALLOWED)
    const after = await begins()
    const all = [...before, after]
    expect([new Set(all).size, new Set(all.map((id) => id.length)).size]).toEqual([3, 1])
    const { log } = (await succeed(server.call('GET', '/v1/audit?limit=1'))).data[0]
    for (const id of all)
      for (const encoding of ['base64url', 'hex'] as const)
        for (const text of [id, ...id.split('.')])
          expect(Buffer.from(text, encoding).toString('latin1')).not.toMatch(log ?? /log_|\[\[/)
    // They still say where to go on.
    const { id } = await decide(server, { agent_id: 'agent:quiet', action: 'mail.send' })
    const resumed = await begin({ key, headers: { 'Last-Event-ID': before[0] as string } })
    expect((await resumed.first(1)).map(({ data }) => data.data.id)).toEqual([id])
  })

  it('answers HEAD with the headers alone', async () => {
    const answer = await server.call('HEAD', '/v1/events')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    await until('no stream', () => server.started.composed.liveEvents.size === 0 || undefined)
  })

  it('does not look at Accept', async () => {
    expect((await begin({ headers: { Accept: 'application/json' } })).res.statusCode).toBe(200)
  })
})

describe('a request that is refused', () => {
  const listCursor = async () => {
    await decide(server, ALLOWED)
    await decide(server, ALLOWED)
    return (await succeed(server.call('GET', '/v1/decisions?limit=1'))).next_cursor
  }
  const ownCursor = async () => (await begin()).lastId as string

  it.each<[string, () => Promise<string> | string]>([
    ['none', () => ''],
    ['nonsense', () => 'nonsense'],
    ['a cursor of a list', listCursor],
    ['one with another end', async () => `${(await ownCursor()).slice(0, -1)}!`],
    ['one with other positions', async () => (await ownCursor()).replace(/^[^.]*/, btoa('[]'))],
  ])('is 400 invalid_cursor for an id that is no id: %s', async (_, cursorOf) => {
    const cursor = await cursorOf()
    const detail = expect.stringMatching(/^`Last-Event-ID` or `last_event_id` is not an event id/)
    const expected = { status: 400, body: { code: 'invalid_cursor', detail } }
    const query = `?last_event_id=${encodeURIComponent(cursor)}`
    expect(await server.call('GET', `/v1/events${query}`)).toMatchObject(expected)
    const headers = { 'Last-Event-ID': cursor }
    expect(await server.call('GET', '/v1/events', { headers })).toMatchObject(expected)
  })

  it.each(['caf\u00e9', 'a, b', '\u00ff', 'x'.repeat(8000)])('is 400 invalid_cursor for a header of %s', async (id) => {
    const answer = await server.call('GET', '/v1/events', { headers: { 'Last-Event-ID': id } })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  })

  it.each([
    ['type=decision.denied', '/type'],
    ['type=', '/type'],
    ['type=decision.created,', '/type'],
    ['effect=maybe', '/effect'],
    ['status=done', '/status'],
    ['agent_id=', '/agent_id'],
    ['limit=1', '/limit'],
  ])('is 400 for %s', async (query, pointer) => {
    const answer = await server.call('GET', `/v1/events?${query}`)
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.errors[0].pointer).toMatch(new RegExp(`^${pointer}`))
  })

  it('is 429 for the 101st stream of a key, and no stream of another key is', async () => {
    const { key } = await makeKey(server, ['decisions:read'])
    const opened = await Promise.all(Array.from({ length: 100 }, () => begin({ key })))
    const refused = await server.call('GET', '/v1/events', { key })
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    await begin()
    opened[0]?.close()
    await until('room', async () => (await server.call('GET', '/v1/events', { key })).status === 200 || undefined)
  })
})

describe('a stream ends', () => {
  it('within a second or so when its key is revoked', async () => {
    const { id, key } = await makeKey(server, ['decisions:read'])
    const [reader, other] = [await begin({ key }), await begin()]
    await succeed(server.call('DELETE', `/v1/keys/${id}`))
    await decide(server, ALLOWED)
    expect(await reader.ended()).toBe('whole')
    await other.first(1)
    expect([reader.events, other.end]).toEqual([[], null])
  })

  it('when its key has expired', async () => {
    const expires_at = new Date(server.clock.now().getTime() + 60_000).toISOString()
    const { key } = await makeKey(server, ['decisions:read'], { expires_at })
    const reader = await begin({ key })
    server.clock.advance(60_000)
    expect(await reader.ended()).toBe('whole')
  })

  it('not while the old text of a rotated key still counts', async () => {
    const { id, key } = await makeKey(server, ['decisions:read'])
    const reader = await begin({ key })
    await succeed(server.call('POST', `/v1/keys/${id}/rotate`, { body: { grace_seconds: 60 } }))
    await decide(server, ALLOWED)
    await reader.first(1)
    server.clock.advance(60_000)
    expect(await reader.ended()).toBe('whole')
  })

  it('at once when the server stops, and goes on after its restart', async () => {
    const own = await runServer()
    await createPolicy(own, allowing('mail.*'))
    const reader = await begin({}, own)
    const ask = (on: RunningServer) => decide(on, { agent_id: 'agent:a', action: 'mail.send' })
    await ask(own)
    await reader.first(1)
    const kept = await RawConnection.open(own.url)
    await kept.send(`GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own.key}\r\n\r\n`)
    await until('a stream on a connection that stays open', () => kept.received.includes('id: ') || undefined)
    const draining = performance.now()
    const drained = own.started.composed.drain()
    expect(await reader.ended()).toBe('whole')
    await drained
    expect(performance.now() - draining).toBeLessThan(1000)
    expect(await kept.answer()).toMatch(/0\r\n\r\n$/)
    const restarted = await own.restart()
    try {
      const made = await ask(restarted)
      const resumed = await begin({ headers: { 'Last-Event-ID': reader.lastId as string } }, restarted)
      expect((await resumed.first(1)).map(({ data }) => data.data.id)).toEqual([made.id])
    } finally {
      await restarted.stop()
    }
  })
})

it('is logged when it ends, and is no duration of a request', async () => {
  const reader = await begin({ headers: { 'X-Request-Id': 'a-stream-of-mine' } })
  const counted = async () => await (await fetch(`${server.url}/metrics`)).text()
  expect(await counted()).toMatch(/^countersign_live_streams [1-9]/m)
  reader.close()
  const line = await until('its line', () =>
    server.logged.find(({ fields }) => (fields as { request_id?: string }).request_id === 'a-stream-of-mine'),
  )
  expect(line).toMatchObject({ message: 'a stream has ended', fields: { status: 200, path: '/v1/events' } })
  expect(await counted()).not.toMatch(/route="\/v1\/events",method="GET",status="200"/)
})
