/** The trace of a request: what is kept of `traceparent`, who finds it, and what it cannot do. */
import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { json } from 'node:stream/consumers'
import { leafHash } from '@countersign/audit-log'
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningServer } from '../running-server.js'
import { AGENT, DAY_MS, Desk } from './desk.js'
import { EventReader } from './event-reader.js'
import { everyItem, makeKey, succeed } from './refunds.js'

const SPAN = '00f067aa0ba902b7'

let desk: Desk
let server: RunningServer
beforeAll(async () => {
  desk = await Desk.open()
  server = desk.server
})
afterAll(() => desk.stop())

let traces = 0
const newTrace = () => (++traces).toString(16).padStart(32, 'a')
const headerOf = (trace: string) => `00-${trace}-${SPAN}-01`
const of = (trace: string) => ({ traceparent: headerOf(trace) })
const BODY = { agent_id: AGENT, action: 'pay.create', resource: 'order:8812', context: { amount: 1 } }

const ask = (headers: Record<string, string>, over: object = {}, key = desk.keyOf('asker')) =>
  succeed(server.call('POST', '/v1/decisions', { key, body: { ...BODY, ...over }, headers }))
const move = (id: string, verb: string, role: 'asker' | 'reviewer', headers: Record<string, string>) =>
  succeed(server.call('POST', `/v1/decisions/${id}/${verb}`, { key: desk.keyOf(role), body: {}, headers }))
/** Oldest first. */
const entriesOf = async (id: string) => (await everyItem(server, `/v1/audit?subject=${id}`)).reverse()
const tracesOf = async (id: string) => (await entriesOf(id)).map(({ type, trace_id }) => [type, trace_id])
const listed = async (trace: string, more = '') =>
  (await everyItem(server, `/v1/decisions?trace_id=${trace}${more}`)).map(({ id }) => id)

describe('a decision', () => {
  it('has the trace of its request, wherever it is shown', async () => {
    const trace = newTrace()
    const decision = await ask(of(trace))
    expect(decision.trace_id).toBe(trace)
    expect((await desk.get(decision.id)).trace_id).toBe(trace)
    const [one] = await everyItem(server, `/v1/decisions?trace_id=${trace}`)
    expect(one).toMatchObject({ id: decision.id, trace_id: trace })
    expect(await tracesOf(decision.id)).toEqual([['decision.created', trace]])
  })

  it('has none without the header', async () => {
    const decision = await ask({})
    expect(decision.trace_id).toBeNull()
    expect((await desk.get(decision.id)).trace_id).toBeNull()
    expect(await tracesOf(decision.id)).toEqual([['decision.created', null]])
  })

  it.each([
    ['of another form', 'a-trace'],
    ['of the version ff', `ff-${newTrace()}-${SPAN}-01`],
    ['in upper case', `00-${newTrace().toUpperCase()}-${SPAN}-01`],
    ['of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['without a span', `00-${newTrace()}-${'0'.repeat(16)}-01`],
    ['with more than its version has', `00-${newTrace()}-${SPAN}-01-more`],
    ['that is long', `01-${newTrace()}-${SPAN}-01-${'x'.repeat(8000)},`],
    ['that is empty', ''],
  ])('is made as without the header for one %s', async (_, traceparent) => {
    const decision = await ask({ traceparent })
    expect(decision).toMatchObject({ effect: 'allow', trace_id: null })
    expect(JSON.stringify(await entriesOf(decision.id))).not.toContain(SPAN)
  })

  it('has the trace of a header of a later version', async () => {
    const trace = newTrace()
    expect((await ask({ traceparent: `01-${trace}-${SPAN}-01-more` })).trace_id).toBe(trace)
  })

  it('has none when the header was sent twice', async () => {
    const headers = {
      ...{ Authorization: `Bearer ${desk.keyOf('asker')}`, 'Content-Type': 'application/json' },
      traceparent: [headerOf(newTrace()), headerOf(newTrace())],
    }
    const sent = send(`${server.url}/v1/decisions`, { method: 'POST', headers })
    sent.end(JSON.stringify(BODY))
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    expect(await json(answer)).toMatchObject({ effect: 'allow', trace_id: null })
  })

  it('is the first one for a repeated call of another trace', async () => {
    const [first, second] = [newTrace(), newTrace()]
    const key = { 'Idempotency-Key': `run/${first}` }
    const decision = await ask({ ...of(first), ...key })
    const again = await server.call('POST', '/v1/decisions', {
      ...{ key: desk.keyOf('asker'), body: BODY, headers: { ...of(second), ...key } },
    })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.body).toMatchObject({ id: decision.id, trace_id: first })
    expect(await listed(second)).toEqual([])
  })
})

describe('an entry', () => {
  it('has the trace of the request that made the change, and the decision keeps its own', async () => {
    const [asked, approved, claimed, confirmed] = [newTrace(), newTrace(), newTrace(), newTrace()]
    const { id } = await ask(of(asked), { context: { amount: 400 } })
    await move(id, 'approve', 'reviewer', of(approved))
    await move(id, 'claim', 'asker', of(claimed))
    await move(id, 'confirm', 'asker', of(confirmed))
    expect(await tracesOf(id)).toEqual([
      ['decision.created', asked],
      ['decision.approved', approved],
      ['decision.claimed', claimed],
      ['decision.confirmed', confirmed],
    ])
    expect((await desk.get(id)).trace_id).toBe(asked)
    expect(await listed(confirmed)).toEqual([])
  })

  it('has no trace of another request: not of an older one, and not for what the server does', async () => {
    const [asked, settled] = [newTrace(), newTrace()]
    const rejected = await ask(of(asked))
    await move(rejected.id, 'reject', 'asker', {})
    expect((await tracesOf(rejected.id)).at(-1)).toEqual(['decision.rejected', null])
    const late = await ask(of(asked))
    desk.clock.advance(DAY_MS)
    await move(late.id, 'confirm', 'asker', of(settled))
    expect(await tracesOf(late.id)).toEqual([
      ['decision.created', asked],
      ['decision.expired', null],
      ['decision.confirmed', settled],
    ])
  })

  it('of any change has it', async () => {
    const trace = newTrace()
    const headers = of(trace)
    const post = (path: string, body: object) => succeed(server.call('POST', path, { body, headers }))
    const policy = await post('/v1/policies', { name: trace, rules: [{ action: 'trace.none', effect: 'deny' }] })
    const agent = await post('/v1/agents', { id: 'agent:traced' })
    const key = await post('/v1/keys', { name: trace, scopes: ['decisions:read'] })
    const webhook = await post('/v1/webhooks', { url: 'https://example.com/hook' })
    await succeed(server.call('DELETE', `/v1/keys/${key.id}`, { headers }))
    await succeed(server.call('DELETE', `/v1/webhooks/${webhook.id}`, { headers }))
    for (const { id } of [policy, agent, key, webhook])
      for (const entry of await entriesOf(id)) expect(entry, entry.type).toMatchObject({ trace_id: trace })
  })

  it('is bound by its leaf hash, with the trace or without', async () => {
    for (const headers of [of(newTrace()), {}]) {
      const [entry] = await entriesOf((await ask(headers)).id)
      expect(leafHash(entry)).toBe(entry.leaf)
      expect(leafHash({ ...entry, trace_id: newTrace() })).not.toBe(entry.leaf)
    }
  })
})

describe('the list', () => {
  it('has the decisions of a trace alone, newest first, also with other filters', async () => {
    const [trace, other] = [newTrace(), newTrace()]
    const first = await ask(of(trace))
    await ask(of(other))
    desk.clock.advance(1000)
    const second = await ask(of(trace), { action: 'pay.refuse' })
    expect(await listed(trace)).toEqual([second.id, first.id])
    expect(await listed(trace, '&action=pay.create')).toEqual([first.id])
    expect(await listed(trace, `&agent_id=${AGENT}&effect=deny`)).toEqual([second.id])
    expect(await listed(newTrace())).toEqual([])
  })

  it('shows a key that is bound to agents only theirs, also where another agent has the same trace', async () => {
    const trace = newTrace()
    const own = await ask(of(trace))
    const others = await ask(of(trace), { agent_id: 'agent:of-others' })
    const { key } = await makeKey(server, ['decisions:read'], { agents: [AGENT] })
    const { data, next_cursor } = await succeed(server.call('GET', `/v1/decisions?trace_id=${trace}`, { key }))
    expect(data.map(({ id }: { id: string }) => id)).toEqual([own.id])
    expect(next_cursor).toBeNull()
    expect((await listed(trace)).sort()).toEqual([own.id, others.id].sort())
  })

  it.each([
    ['upper case', 'A'.repeat(32)],
    ['zeros', '0'.repeat(32)],
    ['too few digits', 'a'.repeat(31)],
    ['too many digits', 'a'.repeat(33)],
    ['a line break', `${'a'.repeat(32)}%0A`],
    ['a whole header', headerOf('a'.repeat(32))],
    ['nothing', ''],
  ])('refuses %s as a trace', async (_, text) => {
    const detail = 'must be 32 lowercase hexadecimal digits, not all of them 0'
    expect(await server.call('GET', `/v1/decisions?trace_id=${text}`)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ pointer: '/trace_id', detail }] },
    })
  })
})

it('an erased request keeps its trace, and the entry of the erasure has that of the call', async () => {
  const [asked, erased] = [newTrace(), newTrace()]
  const { id } = await ask(of(asked))
  expect((await server.call('DELETE', `/v1/audit/requests/${id}`, { headers: of(erased) })).status).toBe(204)
  expect(await desk.get(id)).toMatchObject({ context: null, resource: null, trace_id: asked })
  expect(await listed(asked)).toEqual([id])
  expect((await tracesOf(id)).at(-1)).toEqual(['request.erased', erased])
})

it('an event has the trace of the decision', async () => {
  const [asked, settled] = [newTrace(), newTrace()]
  const reader = await EventReader.begin(server, { query: '?agent_id=agent:followed' })
  const { id } = await ask(of(asked), { agent_id: 'agent:followed' })
  await move(id, 'confirm', 'asker', of(settled))
  await until('both events', () => reader.events.length === 2 || undefined)
  reader.close()
  expect(reader.events.map(({ event, data }) => [event, data.data.trace_id])).toEqual([
    ['decision.created', asked],
    ['decision.confirmed', asked],
  ])
})
