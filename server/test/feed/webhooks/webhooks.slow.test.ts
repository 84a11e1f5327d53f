import { SEED, seededRandom } from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import type { StoredWebhook } from '#server/ports/store/documents'
import type { Answer, Received } from './receiver.js'
import {
  attempted,
  bedOf,
  CREATED,
  idsOf,
  observed,
  receiverOf,
  secretOf,
  settled,
  status,
  verify,
} from './test-bed.js'

describe('the events of the log', () => {
  it('reach an endpoint once each, signed: 1,000 of 1,000', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf()
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    const ids = await bed.decide(1000)
    // The library refuses what comes from far ahead: the clock goes slowly.
    const deliveries = await settled(bed, webhook, 1000, 10)
    expect(deliveries.every((one) => one.status === 'delivered' && one.attempt_count === 1)).toBe(true)
    expect(receiver.received).toHaveLength(1000)
    expect(new Set(idsOf(receiver.received))).toEqual(new Set(ids))
    for (const received of receiver.received) {
      expect(verify(received, secretOf(webhook))).toMatchObject({ type: 'decision.created', sequence: 1 })
      expect(received.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Countersign' })
    }
    expect(receiver.connectionCount()).toBeLessThanOrEqual(4)
  })

  it('cost nothing where nobody wants them, and are made once for all who do', async () => {
    let found = 0
    let saves = 0
    const bed = await bedOf()
    const receiver = await receiverOf()
    const counting = observed(bed.feed, (name) => {
      if (name === 'decisions.get') found += 1
      if (name === 'readers.save') saves += 1
    })
    await bed.takeOver({ store: counting })
    const wanting: StoredWebhook[] = []
    for (let i = 0; i < 10; i += 1) wanting.push(await bed.addWebhook(receiver.url, { events: CREATED }))
    for (let i = 0; i < 3; i += 1) await bed.addWebhook(receiver.url, { events: ['policy.created'] })
    await bed.decide(30)
    for (const webhook of wanting) await settled(bed, webhook, 30, 0)
    expect(found).toBe(30)
    saves = 0
    for (let i = 0; i < 20; i += 1) {
      await bed.pen.commit({ kind: 'entry.only' })
      await bed.webhooks.turn()
    }
    await bed.drive('all to be saved', async () => {
      const readers = await Promise.all(wanting.map(({ id }) => bed.feed.readers.get(`webhook/${id}`)))
      const [{ next_index = -1 } = {}] = await bed.feed.audit.listLogs()
      return readers.every((reader) => reader?.positions?.[bed.pen.log] === next_index) || undefined
    })
    expect(saves).toBeLessThanOrEqual(3 * 20)
  })
})

describe('an endpoint that fails', () => {
  it('3 times in 10 gets every event, each time the same bytes', async () => {
    const random = seededRandom(SEED)
    const bed = await bedOf({ random })
    // Ten failures in a row would be a delivery that failed, and one in some hundred runs has one.
    const timesOf = (received: Received) =>
      idsOf(receiver.received).filter((id) => id === received.headers['webhook-id']).length
    const failing: Answer = (received, res) =>
      void (random() < 0.3 && timesOf(received) < 9 ? status(500)(received, res) : res.end())
    const receiver = await receiverOf(failing)
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    const ids = await bed.decide(300)
    const deliveries = await settled(bed, webhook, 300, 600_000)
    expect(deliveries.filter((one) => one.status !== 'delivered')).toEqual([])
    expect(new Set(idsOf(receiver.received))).toEqual(new Set(ids))
    expect(receiver.received.length).toBeGreaterThan(300)
    const bodies = new Map<string, string>()
    for (const { headers, body } of receiver.received) {
      const id = headers['webhook-id'] as string
      expect(bodies.get(id) ?? body.toString()).toBe(body.toString())
      bodies.set(id, body.toString())
    }
  })

  it('for 5 days is disabled; another process knows since when', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf(status(500))
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    const startMs = bed.clock.now().getTime()
    let hours = 0
    await bed.drive(
      'the webhook to be disabled',
      async () => {
        await bed.decide(1)
        hours += 1
        if (hours % 24 === 0) await bed.takeOver()
        return bed.disabled[0]
      },
      3_600_000,
    )
    expect(bed.disabled).toEqual([{ id: webhook.id, reason: 'failing' }])
    const days = (bed.clock.now().getTime() - startMs) / 86_400_000
    expect(days).toBeGreaterThanOrEqual(5)
    expect(days).toBeLessThan(8)
  })

  it('is not disabled while something succeeds now and then', async () => {
    let requests = 0
    const bed = await bedOf()
    const receiver = await receiverOf((received, res) => status(requests++ % 20 === 19 ? 200 : 500)(received, res))
    await bed.addWebhook(receiver.url, { events: CREATED })
    let hours = 0
    await bed.drive(
      '8 days to pass',
      async () => {
        await bed.decide(1)
        hours += 1
        return hours >= 24 * 8 || undefined
      },
      3_600_000,
    )
    expect(requests).toBeGreaterThan(100)
    expect(bed.disabled).toEqual([])
  })

  it('for a while gets few new events until one succeeds, and then all that waited', async () => {
    let code = 500
    const bed = await bedOf()
    const receiver = await receiverOf((received, res) => status(code)(received, res))
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(1)
    await attempted(bed, webhook, 3)
    await bed.decide(400)
    bed.clock.advance(1000)
    for (let i = 0; i < 50; i += 1) await bed.drive('a turn', () => true, 100)
    expect((await bed.deliveries(webhook)).length).toBeLessThan(10)
    code = 200
    await settled(bed, webhook, 401, 10_000)
  })
})

describe('a webhook', () => {
  it('that is deleted leaves nothing behind, also when nobody saw it go', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf(status(500))
    const kept = await bed.addWebhook(receiver.url, { events: CREATED })
    const seen = await bed.addWebhook(receiver.url, { events: CREATED })
    const unseen = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(20)
    for (const webhook of [kept, seen, unseen])
      await bed.drive('deliveries', async () => ((await bed.deliveries(webhook)).length === 20 ? true : undefined))
    await bed.change(seen, { deleted_at: bed.clock.text() }, 'webhook.deleted')
    await bed.drive('all of it to go', async () => ((await bed.deliveries(seen)).length === 0 ? true : undefined))
    await bed.change(unseen, { deleted_at: bed.clock.text() }, 'webhook.deleted')
    await bed.takeOver()
    await bed.drive('all of it to go', async () => ((await bed.deliveries(unseen)).length === 0 ? true : undefined))
    await bed.drive('their readers to go', async () =>
      (await bed.feed.readers.list('')).length === 1 ? true : undefined,
    )
    expect(await bed.feed.readers.list('')).toEqual([`webhook/${kept.id}`])
    expect(await bed.deliveries(kept)).toHaveLength(20)
  })

  it('keeps its deliveries for 30 days', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf()
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(3)
    await settled(bed, webhook, 3)
    bed.clock.advance(29 * 86_400_000)
    await bed.decide(1)
    await settled(bed, webhook, 4)
    bed.clock.advance(86_400_000)
    await bed.drive('the old ones to go', async () => ((await bed.deliveries(webhook)).length === 1 ? true : undefined))
  })
})
