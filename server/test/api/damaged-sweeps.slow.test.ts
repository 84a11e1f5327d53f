/** Rows that somebody edited in the database hold up none of the work that the server does by itself. */
import { LIMITS } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import type { Store } from '#server/ports/store/store'
import { type EditedStore, editedStore } from '../edited-store.js'
import { type Receiver, startReceiver } from '../feed/webhooks/receiver.js'
import { openTestStore } from '../open-test-store.js'
import { AGENT, DAY_MS, Desk, MINUTE_MS } from './desk.js'
import { everyItem, succeed } from './refunds.js'

let desk: Desk
let store: EditedStore
afterEach(async () => {
  await store.close()
  await desk.stop()
})

async function openDesk(options: Parameters<typeof Desk.open>[0]) {
  desk = await Desk.open(options)
  store = editedStore(desk.server.dataDir)
}

/** The sweep takes 256 at a time. */
const MORE_THAN_A_BATCH = 260
const OTHER = 'dec_01kagx3v5ne8sr6w1y6gqk4t2h'

// biome-ignore lint/suspicious/noExplicitAny: documents are whatever the store holds
const DAMAGES: Readonly<Record<string, (document: any) => void>> = {
  'another id': (document) => Object.assign(document, { id: OTHER }),
  'another status': (document) => Object.assign(document, { status: 'confirmed' }),
  'an end that is no time': (document) => Object.assign(document, { expires_at: '1' }),
  'no postings': (document) => Object.assign(document, { postings: null }),
}

it('expires what follows more damaged decisions than a sweep takes at a time', async () => {
  await openDesk({ parts: { expireEveryMs: 20 } })
  const ids = await Promise.all(Array.from({ length: MORE_THAN_A_BATCH }, async () => (await desk.decide(1)).id))
  const damages = Object.values(DAMAGES)
  for (const [i, id] of ids.entries())
    await store.document('decisions', [id], (document) => damages[i % damages.length]?.(document))
  desk.clock.advance(1000)
  const sound = await desk.decide(10)
  desk.clock.advance(5 * MINUTE_MS)
  await until('the sound decision to expire', async () =>
    (await everyItem(desk.server, '/v1/audit?type=decision.expired')).find(({ subject }) => subject === sound.id),
  )
  // The others can still ask for what their budget has left.
  await desk.decide(20)
  const told = await until('the operator to be told', () =>
    desk.server.logged.find(({ message }) => message.includes('overdue decisions cannot be expired')),
  )
  expect(told.fields).toMatchObject({ decisions: MORE_THAN_A_BATCH / damages.length })
})

it('erases the requests of an agent behind damaged ones, and says that these are left', async () => {
  await openDesk({})
  const damaged = await desk.decide(10)
  await store.document('decisions', [damaged.id], (document) => Object.assign(document, { id: OTHER }))
  desk.clock.advance(1)
  const sound = await desk.decide(11)
  const answer = await desk.server.call('DELETE', `/v1/audit/requests?agent_id=${AGENT}`)
  expect([answer.status, answer.body.code]).toEqual([503, 'store_unavailable'])
  const told = desk.server.logged.map(({ fields }) => String((fields as { err?: unknown }).err))
  expect(told.join()).toContain(`the row of decision ${damaged.id}`)
  expect((await desk.get(sound.id)).request_erased_at).toBeDefined()
})

it('delivers what is due behind more damaged deliveries than an endpoint takes at a time, and erases past them', async () => {
  let isUp = false
  const receiver = await startReceiver((_, res) => {
    res.statusCode = isUp ? 200 : 503
    res.end('an answer')
  })
  await openDesk({ settings: { webhookAllowPrivate: true } })
  const body = { url: receiver.url, events: ['decision.created'] }
  const webhook = await succeed(desk.server.call('POST', '/v1/webhooks', { body }))
  const deliveries = () => everyItem(desk.server, `/v1/webhooks/${webhook.id}/deliveries`)
  const decisions = await Promise.all(Array.from({ length: 3 }, () => desk.decide(1)))
  const waiting = await until('an attempt of each', async () => {
    const all = await deliveries()
    return all.length === 3 && all.every(({ attempt_count }) => attempt_count > 0) ? all : undefined
  })
  const [first, second] = waiting
  for (const { id } of [first, second])
    await store.document('deliveries', [id], (document) => Object.assign(document, { id: 'dlv_of_another' }))
  isUp = true
  const attempts = receiver.received.length
  desk.clock.advance(DAY_MS)
  const sound = waiting.at(-1)
  const delivered = () => receiver.received.slice(attempts).map(({ headers }) => headers['webhook-id'])
  await until('the sound delivery', () => delivered().includes(sound.event_id) || undefined)
  for (const { id } of decisions) await succeed(desk.server.call('DELETE', `/v1/audit/requests/${id}`))
  expect((await deliveries()).map(({ id }) => id)).toEqual([sound.id])
  await receiver.close()
})

it('sends what comes after a decision of which no event can be made', async () => {
  const receiver = await startReceiver()
  await openDesk({ settings: { webhookAllowPrivate: true } })
  const edited = await desk.decide(1)
  await store.document('decisions', [edited.id], (document) => Object.assign(document, { shadow: null }))
  desk.clock.advance(1)
  const sound = await desk.decide(2)
  desk.clock.advance(1)
  const body = { url: receiver.url, events: ['decision.created'] }
  const { id } = await succeed(desk.server.call('POST', '/v1/webhooks', { body }))
  desk.clock.advance(1)
  await succeed(desk.server.call('POST', `/v1/webhooks/${id}/replay`, { body: { since: edited.evaluated_at } }))
  await numberAt(receiver, 1)
  expect(receiver.received.map((one) => JSON.parse(one.body.toString()).data.id)).toEqual([sound.id])
  await receiver.close()
})

const OTHER_WEBHOOK = 'whk_01kagx3v5ne8sr6w1y6gqk4t2h'
const UNAVAILABLE = { status: 503, body: { code: 'store_unavailable' } }

const typesAt = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body.toString()).type)
const numberAt = (receiver: Receiver, number: number) =>
  until(`${number} deliveries`, () => receiver.received.length >= number || undefined)

it('goes on with the other webhooks, and keeps what the damaged one has', async () => {
  const [sound, edited] = [await startReceiver(), await startReceiver()]
  const gone = await startReceiver((_, res) => res.writeHead(410).end())
  await openDesk({ settings: { webhookAllowPrivate: true } })
  const post = ({ url }: Receiver, events = ['decision.created']) =>
    desk.server.call('POST', '/v1/webhooks', { body: { url, events } })
  const events = ['decision.created', 'webhook.disabled']
  const { id } = await succeed(post(sound, events))
  const damaged = await succeed(post(edited))
  const ending = await succeed(post(gone, ['agent.suspended']))
  await desk.decide(1)
  await numberAt(sound, 1)
  await numberAt(edited, 1)
  await store.document('webhooks', [damaged.id], (document) => Object.assign(document, { id: OTHER_WEBHOOK }))

  const body = { url: sound.url, events, description: 'changed' }
  expect(await desk.server.call('PUT', `/v1/webhooks/${id}`, { body })).toMatchObject({ status: 200, body })
  expect(await desk.server.call('GET', `/v1/webhooks/${damaged.id}`)).toMatchObject(UNAVAILABLE)
  expect(await desk.server.call('PUT', `/v1/webhooks/${damaged.id}`, { body })).toMatchObject(UNAVAILABLE)
  expect(await desk.server.call('DELETE', `/v1/webhooks/${damaged.id}`)).toMatchObject(UNAVAILABLE)
  expect((await everyItem(desk.server, '/v1/webhooks')).map((webhook) => webhook.id)).toEqual([ending.id, id])

  // An endpoint that is gone is disabled, and the others are told.
  const put = { url: gone.url, events: ['decision.created'] }
  await succeed(desk.server.call('PUT', `/v1/webhooks/${ending.id}`, { body: put }))
  await desk.decide(2)
  await numberAt(sound, 3)
  expect(typesAt(sound).sort()).toEqual(['decision.created', 'decision.created', 'webhook.disabled'])
  expect(await succeed(desk.server.call('GET', `/v1/webhooks/${ending.id}`))).toMatchObject({
    disabled: { reason: 'gone' },
  })
  const told = desk.server.logged.filter(({ message }) => message === 'the row of a webhook is damaged')
  expect(told.map(({ fields }) => fields)).toMatchObject([{ webhook_id: damaged.id }])

  await numberAt(edited, 2)
  desk.server = await desk.server.restart()
  await desk.decide(3)
  await numberAt(sound, 4)
  expect(edited.received).toHaveLength(2)
  await store.undo()
  desk.clock.advance(1000)
  await numberAt(edited, 3)
  expect(await everyItem(desk.server, `/v1/webhooks/${damaged.id}/deliveries`)).toHaveLength(3)
  await Promise.all([sound, edited, gone].map((receiver) => receiver.close()))
})

it('counts a damaged webhook among those that there may be', async () => {
  await openDesk({})
  const body = { url: 'https://example.com/hooks' }
  const create = () => desk.server.call('POST', '/v1/webhooks', { body })
  const { id } = await succeed(create())
  await store.document('webhooks', [id], (document) => Object.assign(document, { version: 7 }))
  for (let number = 1; number < LIMITS.webhooks; number += 1) await succeed(create())
  expect((await create()).body.code).toBe('limit_reached')
})

it('takes no damaged approval for the first that ends', async () => {
  let held: Store | undefined
  const openStore = async (dataDir: string) => {
    held = await openTestStore(dataDir)
    return held
  }
  await openDesk({ parts: { openStore }, budget: { limit: 10_000 } })
  const damage = (id: string) =>
    store.document('decisions', [id], (document) => Object.assign(document, { status: 'authorized' }))
  for (let number = 0; number < 10; number += 1) {
    await damage((await desk.approved(101)).id)
    desk.clock.advance(1)
  }
  const sound = await desk.approved(101)
  expect(await held?.decisions.firstApprovalEnd()).toBe(sound.expires_at)
  await damage(sound.id)
  expect(await held?.decisions.firstApprovalEnd()).toBeNull()
})
