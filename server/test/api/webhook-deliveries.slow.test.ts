/** What webhooks send, and what the API tells of it and does about it, with real receivers on this machine. */
import type { ServerResponse } from 'node:http'
import { until } from '@countersign/testkit'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Answer, type Received, type Receiver, startReceiver } from '../feed/webhooks/receiver.js'
import { type RunningServer, runServer } from '../running-server.js'
import { FastClock } from './fast-clock.js'
import { ALLOWED, createPolicy, decide, everyItem, makeKey, REFUNDS, succeed } from './refunds.js'

const DELIVERY = /^dlv_[0-9a-z]{26}$/
const MINUTE_MS = 60_000

let server: RunningServer
let receiver: Receiver
let answer: Answer
beforeEach(async () => {
  answer = (_, res) => res.end('thank you')
  receiver = await startReceiver((received, res) => answer(received, res))
  const settings = { rateLimitPerSecond: 0, webhookAllowPrivate: true }
  server = await runServer({ settings, clock: new FastClock() })
})
afterEach(async () => {
  await server.stop()
  await receiver.close()
})

const create = (body: object = {}) =>
  succeed(server.call('POST', '/v1/webhooks', { body: { url: receiver.url, events: ['decision.created'], ...body } }))
const post = (id: string, verb: string, body?: object) => server.call('POST', `/v1/webhooks/${id}/${verb}`, { body })
/** Puts the next attempt off for long. */
const later = (status: number) => (_: Received, res: ServerResponse) =>
  void res.writeHead(status, { 'Retry-After': '86400' }).end('later')
const deliveriesOf = (id: string, query = '') => everyItem(server, `/v1/webhooks/${id}/deliveries${query}`)
const bodyOf = ({ body }: Received) => JSON.parse(body.toString())
const headersOf = ({ headers }: Received) => headers as Record<string, string>

const received = (count: number) =>
  until(`${count} messages`, async () => (receiver.received.length >= count ? receiver.received : undefined))
/** Until all deliveries are of these statuses, newest first. */
const settled = (id: string, statuses: readonly string[]) =>
  until(`deliveries ${statuses}`, async () => {
    const all = await deliveriesOf(id)
    return JSON.stringify(all.map(({ status }) => status)) === JSON.stringify(statuses) ? all : undefined
  })
/** Until there was an attempt of the newest delivery. */
const attempted = (id: string, count = 1) =>
  until(`${count} attempts`, async () => {
    const [delivery] = await deliveriesOf(id)
    return delivery?.attempt_count >= count ? delivery : undefined
  })

describe('a test', () => {
  it('is answered with its delivery, arrives signed, and is in the list', async () => {
    const { secret, ...webhook } = await create({ url: `${receiver.url}?token=hidden` })
    const { status, body: delivery } = await post(webhook.id, 'test')
    expect(status).toBe(202)
    const at = delivery.created_at
    expect(delivery).toEqual({
      id: expect.stringMatching(DELIVERY),
      webhook_id: webhook.id,
      event_id: expect.stringMatching(/^evt_[0-9a-z]{26}$/),
      type: 'webhook.test',
      subject: webhook.id,
      event_at: at,
      status: 'pending',
      created_at: at,
      attempt_count: 0,
      attempts: [],
      next_attempt_at: at,
    })
    const [message] = (await received(1)) as readonly [Received]
    expect(bodyOf(message)).toEqual({ type: 'webhook.test', timestamp: at, sequence: null, data: webhook })
    expect(message.headers['webhook-id']).toBe(delivery.event_id)
    expect(message.path).toBe('/hook?token=hidden')
    // The library looks at the time of the machine: the one of the test is another.
    const payload = `${delivery.event_id}.${message.headers['webhook-timestamp']}.${message.body}`
    const [, id, timestamp] = /^(evt_\w+)\.(\d+)\./.exec(payload) ?? []
    expect(message.headers['webhook-signature']).toBe(
      new Webhook(secret).sign(id as string, new Date(Number(timestamp) * 1000), message.body.toString()),
    )
    const [delivered] = await settled(webhook.id, ['delivered'])
    expect(delivered).toEqual({
      ...delivery,
      status: 'delivered',
      attempt_count: 1,
      next_attempt_at: null,
      attempts: [
        { at: expect.any(String), status: 200, error: null, response: 'thank you', duration_ms: expect.any(Number) },
      ],
    })
  })

  it('is sent once, however often the same call is made', async () => {
    const { id } = await create()
    const headers = { 'Idempotency-Key': 'one-test' }
    const test = () => server.call('POST', `/v1/webhooks/${id}/test`, { headers })
    const answers = await Promise.all(Array.from({ length: 10 }, test))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1)
    await settled(id, ['delivered'])
    expect((await test()).body).toMatchObject({ id: answers[0]?.body.id, status: 'delivered' })
    expect(receiver.received).toHaveLength(1)
  })
})

describe('an event of a decision', () => {
  it('has the decision as GET answers it, without the context and the permit', async () => {
    await createPolicy(server, REFUNDS)
    await createPolicy(server, { ...REFUNDS, name: 'tried out', mode: 'shadow' })
    await create({ events: ['decision.confirmed'] })
    const { id } = await decide(server, ALLOWED)
    await succeed(server.call('POST', `/v1/decisions/${id}/confirm`))
    const { context, permit_token, ...shown } = await succeed(server.call('GET', `/v1/decisions/${id}`))
    expect(shown.shadow).toHaveLength(1)
    const [message] = await received(1)
    expect(bodyOf(message as Received).data).toEqual(shown)
  })
})

describe('the list of deliveries', () => {
  it('shows what receivers answered only to who may write webhooks', async () => {
    const { id } = await create()
    await succeed(post(id, 'test'))
    await settled(id, ['delivered'])
    const seenBy = async (scopes: readonly string[]) => {
      const { key } = await makeKey(server, scopes)
      return (await succeed(server.call('GET', `/v1/webhooks/${id}/deliveries`, { key }))).data[0].attempts[0]
    }
    expect(await seenBy(['webhooks:read'])).toMatchObject({ status: 200, error: null, response: null })
    expect(await seenBy(['webhooks:read', 'webhooks:write'])).toMatchObject({ status: 200, response: 'thank you' })
  })

  it('holds no secret, also when the receiver answers with all that it got', async () => {
    const { id, secret } = await create()
    answer = (_, res) => res.end(`secret ${secret}`)
    await succeed(post(id, 'test'))
    const [{ attempts }] = await settled(id, ['delivered'])
    expect(attempts[0].response).toBe('secret whsec_…')
    expect(JSON.stringify(server.logged)).not.toContain(secret)
  })

  it('is filtered by status, page by page, and its cursor is bound to that', async () => {
    const { id } = await create()
    for (let i = 0; i < 3; i++) await succeed(post(id, 'test'))
    await settled(id, ['delivered', 'delivered', 'delivered'])
    answer = later(500)
    await succeed(post(id, 'test'))
    await attempted(id)
    const path = `/v1/webhooks/${id}/deliveries`
    expect(await deliveriesOf(id, '?status=pending')).toMatchObject([{ status: 'pending' }])
    expect(await deliveriesOf(id, '?status=delivered')).toHaveLength(3)
    expect(await deliveriesOf(id, '?status=failed')).toEqual([])
    const first = await succeed(server.call('GET', `${path}?status=delivered&limit=2`))
    expect(first.data).toHaveLength(2)
    const rest = await succeed(server.call('GET', `${path}?status=delivered&limit=2&cursor=${first.next_cursor}`))
    expect(rest).toMatchObject({ data: [{ status: 'delivered' }], next_cursor: null })
    const other = await create()
    for (const foreign of [path, `${path}?status=failed`, `/v1/webhooks/${other.id}/deliveries?status=delivered`])
      expect(
        await server.call('GET', `${foreign}${foreign.includes('?') ? '&' : '?'}cursor=${first.next_cursor}`),
        foreign,
      ).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    for (const status of ['', 'lost', 'Pending', 'pending,failed'])
      expect(await server.call('GET', `${path}?status=${status}`)).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: '/status' }] },
      })
  })

  it('goes with its webhook', async () => {
    const { id } = await create()
    const { id: deliveryId } = await succeed(post(id, 'test'))
    await settled(id, ['delivered'])
    await succeed(server.call('DELETE', `/v1/webhooks/${id}`))
    expect((await server.call('GET', `/v1/webhooks/${id}/deliveries`)).status).toBe(404)
    expect((await post(id, `deliveries/${deliveryId}/retry`)).status).toBe(404)
  })
})

describe('a secret', () => {
  it('that was rotated away signs too while its grace lasts, and at most five do', async () => {
    const { id, secret } = await create()
    const secrets: string[] = [secret]
    const signed = async (): Promise<readonly string[]> => {
      const { event_id } = await succeed(post(id, 'test'))
      const message = await until('the test', async () =>
        receiver.received.find(({ headers }) => headers['webhook-id'] === event_id),
      )
      const { 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headersOf(message)
      const at = new Date(Number(timestamp) * 1000)
      const bySecret = secrets.map((one) => new Webhook(one).sign(event_id, at, message.body.toString()))
      return String(signatures)
        .split(' ')
        .map((signature) => secrets[bySecret.indexOf(signature)] ?? 'nobody')
    }
    for (let i = 0; i < 6; i++) secrets.unshift((await succeed(post(id, 'rotate-secret'))).secret)
    server.clock.advance(MINUTE_MS)
    expect(await signed()).toEqual(secrets.slice(0, 5))
    secrets.unshift((await succeed(post(id, 'rotate-secret', { grace_seconds: 0 }))).secret)
    server.clock.advance(MINUTE_MS)
    expect(await signed()).toEqual(secrets.slice(0, 1))
  })
})

describe('a retry', () => {
  it('202 sends a delivery again at once, whatever its status, with a new schedule', async () => {
    const { id } = await create()
    answer = later(503)
    const { id: deliveryId, event_id } = await succeed(post(id, 'test'))
    const failed = await attempted(id)
    expect(failed).toMatchObject({
      status: 'pending',
      attempts: [{ status: 503, error: 'The endpoint responded with 503.', response: 'later' }],
    })
    expect(Date.parse(failed.next_attempt_at)).toBeGreaterThan(server.clock.now().getTime())
    answer = (_, res) => res.end()
    const retry = () => post(id, `deliveries/${deliveryId}/retry`)
    for (let attempts = 2; attempts <= 3; attempts++) {
      server.clock.advance(MINUTE_MS)
      // The second time it is one that was delivered.
      const before = server.clock.now().toISOString()
      const { status, body } = await retry()
      expect({ status, body }).toMatchObject({ status: 202, body: { id: deliveryId, status: 'pending' } })
      expect(body.next_attempt_at >= before && body.next_attempt_at <= server.clock.now().toISOString()).toBe(true)
      const [delivery] = await settled(id, ['delivered'])
      expect(delivery).toMatchObject({ id: deliveryId, attempt_count: attempts, next_attempt_at: null })
    }
    expect(receiver.received.map((one) => one.headers['webhook-id'])).toEqual([event_id, event_id, event_id])
  })

  it('404 is told of a delivery of another webhook, and of none', async () => {
    const [one, other] = [await create(), await create()]
    const { id } = await succeed(post(one.id, 'test'))
    for (const deliveryId of [id, 'dlv_01kagx3v5ne8sr6w1y6gqk4t2h', 'x', '%24ne', '%00'])
      expect(await post(other.id, `deliveries/${deliveryId}/retry`), deliveryId).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      })
    expect((await post(one.id, `deliveries/${id}/retry`)).status).toBe(202)
  })

  it('409 is told while the webhook is disabled, after 404', async () => {
    const { id } = await create()
    const { id: deliveryId } = await succeed(post(id, 'test'))
    await settled(id, ['delivered'])
    const body = { url: receiver.url, events: ['decision.created'], enabled: false }
    await succeed(server.call('PUT', `/v1/webhooks/${id}`, { body }))
    expect(await post(id, `deliveries/${deliveryId}/retry`)).toMatchObject({
      status: 409,
      body: { code: 'webhook_disabled' },
    })
    expect((await post(id, 'deliveries/dlv_01kagx3v5ne8sr6w1y6gqk4t2h/retry')).status).toBe(404)
    expect(await deliveriesOf(id)).toMatchObject([{ status: 'delivered', attempt_count: 1 }])
  })
})

describe('a replay', () => {
  it('202 sends the events of its span once more, with the ids that they had', async () => {
    await createPolicy(server, REFUNDS)
    const { id } = await create()
    server.clock.advance(MINUTE_MS)
    const since = server.clock.now().toISOString()
    const { id: inside } = await decide(server, ALLOWED)
    server.clock.advance(MINUTE_MS)
    const end = server.clock.now().toISOString()
    await decide(server, ALLOWED)
    await settled(id, ['delivered', 'delivered'])
    expect((await post(id, 'replay', { since, until: end })).body).toEqual({ webhook_id: id, since, until: end })
    await settled(id, ['delivered', 'delivered', 'delivered'])
    const of = (decisionId: string) => receiver.received.filter((one) => bodyOf(one).data.id === decisionId)
    const [first, again] = of(inside)
    expect(of(inside)).toHaveLength(2)
    expect(again?.body).toEqual(first?.body)
    expect(headersOf(again as Received)['webhook-id']).toBe(headersOf(first as Received)['webhook-id'])
    expect(receiver.received).toHaveLength(3)
  })
})

describe('a webhook', () => {
  it('whose receiver answers 410 is disabled by the server, and that is written down', async () => {
    const { id } = await create()
    answer = (_, res) => res.writeHead(410).end()
    await succeed(post(id, 'test'))
    const gone = await until('a disabled webhook', async () => {
      const { body } = await server.call('GET', `/v1/webhooks/${id}`)
      return body.enabled ? undefined : body
    })
    expect(gone).toMatchObject({ disabled: { at: gone.updated_at, reason: 'gone' } })
    expect(gone.updated_at > gone.created_at).toBe(true)
    const [entry] = await everyItem(server, '/v1/audit?type=webhook.disabled')
    expect(entry).toMatchObject({ actor: null, agent_id: null, subject: id, data: { reason: 'gone' } })
    // Enabled again by its owner.
    answer = (_, res) => res.end()
    const body = { url: receiver.url, events: ['decision.created'] }
    expect((await server.call('PUT', `/v1/webhooks/${id}`, { body })).body).toMatchObject({ disabled: null })
    expect((await post(id, 'test')).status).toBe(202)
  })

  it('that was deleted gets nothing more', async () => {
    await createPolicy(server, REFUNDS)
    const [deleted, kept] = [await create(), await create({ url: `${receiver.url}/kept` })]
    await succeed(server.call('DELETE', `/v1/webhooks/${deleted.id}`))
    await decide(server, ALLOWED)
    await settled(kept.id, ['delivered'])
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook/kept'])
  })
})
