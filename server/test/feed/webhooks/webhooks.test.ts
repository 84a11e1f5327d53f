import { describe, expect, it } from 'vitest'
import { ATTEMPT_DELAYS_MS } from '#server/feed/webhooks/schedule'
import type { StoredWebhook } from '#server/ports/store/documents'
import type { Received } from './receiver.js'
import { attempted, bedOf, CREATED, idsOf, receiverOf, secretOf, settled, status, verify } from './test-bed.js'

describe('the events of the log', () => {
  it('are as the API shows the objects, with nothing of a context or a secret', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf()
    const webhook = await bed.addWebhook(receiver.url)
    await bed.decide(1, { effect: 'deny', status: 'denied' })
    await settled(bed, webhook, 2)
    const bodies = receiver.received.map((received) => verify(received, secretOf(webhook)))
    expect(bodies).toMatchObject([{ type: 'decision.created' }, { type: 'decision.denied' }])
    expect(Object.keys(bodies[0] as object)).toEqual(['type', 'timestamp', 'sequence', 'data'])
    expect(JSON.stringify(bodies)).not.toMatch(/secret|context|permit/)
  })

  it('are those that the webhook asks for, from when it was enabled on', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf()
    await bed.decide(3, { effect: 'deny', status: 'denied' })
    bed.clock.advance(1000)
    const webhook = await bed.addWebhook(receiver.url, { events: ['decision.denied', 'webhook.disabled'] })
    await bed.decide(3)
    await bed.decide(2, { effect: 'deny', status: 'denied' })
    await bed.decide(2, { effect: 'review', status: 'awaiting_review' })
    const other = await bed.addWebhook(receiver.url, { events: ['key.created'] })
    await bed.change(other, { disabled: { at: bed.clock.text(), reason: 'requested' } }, 'webhook.disabled')
    const deliveries = await settled(bed, webhook, 3)
    expect(deliveries.map(({ event }) => event.type).sort()).toEqual([
      'decision.denied',
      'decision.denied',
      'webhook.disabled',
    ])
  })
})

describe('an endpoint that hangs', () => {
  it('keeps nobody else waiting', async () => {
    const bed = await bedOf({ timeoutMs: 60_000 })
    const hanging = await receiverOf(() => {})
    const healthy = await receiverOf()
    const stuck = await bed.addWebhook(hanging.url, { events: CREATED })
    const others: StoredWebhook[] = []
    for (let i = 0; i < 3; i += 1) others.push(await bed.addWebhook(healthy.url, { events: CREATED }))
    await bed.decide(120)
    for (const webhook of others) await settled(bed, webhook, 120)
    expect(hanging.received).toHaveLength(4)
    expect(hanging.connectionCount()).toBe(4)
    // What is beyond the window waits in the log.
    expect((await bed.deliveries(stuck)).length).toBeLessThanOrEqual(110)
  })
})

describe('an endpoint that fails', () => {
  it('is attempted 10 times, after the stated delays, and then no more', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf(status(500))
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(1)
    bed.clock.advance(1000)
    for (let count = 1; count <= 10; count += 1) {
      const delivery = await attempted(bed, webhook, count, 0)
      const last = delivery.attempts.at(-1)
      expect(last).toMatchObject({ status: 500, error: 'The endpoint responded with 500.', response: '' })
      if (count === 10) {
        expect(delivery).toMatchObject({ status: 'failed', attempt_count: 10, next_attempt_at: null })
        break
      }
      const next = delivery.next_attempt_at as string
      expect(Date.parse(next) - Date.parse(last?.at as string)).toBe(ATTEMPT_DELAYS_MS[count])
      expect(delivery).toMatchObject({ status: 'pending', attempt_count: count })
      expect(await bed.feed.deliveries.listDue(webhook.id, new Date(Date.parse(next) - 1).toISOString(), 10)).toEqual(
        [],
      )
      bed.clock.set(next)
    }
    bed.clock.advance(10 * 86_400_000)
    await bed.webhooks.turn()
    expect(receiver.received).toHaveLength(10)
    const stamps = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect(new Set(idsOf(receiver.received)).size).toBe(1)
    expect((stamps.at(-1) as number) - (stamps[0] as number)).toBe((75 * 60 + 35) * 60 + 5)
  })

  it('is attempted again when somebody asks for it', async () => {
    let code = 500
    const bed = await bedOf()
    const receiver = await receiverOf((received, res) => status(code)(received, res))
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(1)
    const delivery = await attempted(bed, webhook, 2)
    const retried = {
      ...delivery,
      version: delivery.version + 1,
      scheduled_count: 0,
      next_attempt_at: bed.clock.text(),
    }
    expect(await bed.feed.deliveries.update([retried])).toEqual([delivery.id])
    code = 200
    expect(await attempted(bed, webhook, 3)).toMatchObject({
      status: 'delivered',
      scheduled_count: 1,
      next_attempt_at: null,
    })
  })

  it('is left alone for as long as it asks', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf(status(503, { 'retry-after': '7200' }))
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(1)
    const delivery = await attempted(bed, webhook, 1, 0)
    const [attempt] = delivery.attempts
    expect(Date.parse(delivery.next_attempt_at as string) - Date.parse(attempt?.at as string)).toBe(7_200_000)
  })

  it('with 410 is disabled at once, and gets nothing more', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf(status(410))
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(50)
    await bed.drive('the webhook to be disabled', () => bed.disabled[0])
    expect(bed.disabled).toEqual([{ id: webhook.id, reason: 'gone' }])
    await bed.drive('a look', () => true)
    await bed.decide(5)
    for (let i = 0; i < 10; i += 1) {
      bed.clock.advance(60_000)
      await bed.webhooks.turn()
    }
    // One request on each connection: what was under way already.
    expect(receiver.received.length).toBeLessThanOrEqual(4)
    expect(bed.disabled).toHaveLength(1)
  })
})

describe('an event', () => {
  it('that cannot be made any more fails, and says so', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf(status(500))
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(1, { status: 'denied', effect: 'deny' })
    const delivery = await attempted(bed, webhook, 1, 0)
    await bed.takeOver()
    expect(await bed.store.decisions.remove([{ id: delivery.event.subject, version: 1 }], bed.clock.text())).toBe(1)
    const failed = await attempted(bed, webhook, 2)
    expect(failed).toMatchObject({ status: 'failed', next_attempt_at: null })
    expect(failed.attempts.at(-1)).toMatchObject({
      status: null,
      error: 'The event can no longer be created: its object was removed.',
    })
    expect(receiver.received).toHaveLength(1)
  })

  it('of a test is the webhook itself', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf()
    const webhook = await bed.addWebhook(receiver.url, { events: ['key.created'] })
    const delivery = await bed.addTest(webhook)
    await settled(bed, webhook, 1)
    const body = verify(receiver.received[0] as Received, secretOf(webhook))
    expect(idsOf(receiver.received)).toEqual([delivery.event.id])
    expect(body).toMatchObject({ type: 'webhook.test', sequence: null, data: { id: webhook.id, url: webhook.url } })
    expect(JSON.stringify(body)).not.toContain('whsec_')
  })
})

describe('a secret', () => {
  it('that was rotated away signs too, until its grace is over', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf()
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    const [old] = webhook.secrets
    const fresh = { text: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', expires_at: null }
    const expires_at = new Date(bed.clock.now().getTime() + 120_000).toISOString()
    await bed.change(webhook, { secrets: [fresh, { text: old?.text as string, expires_at }] })
    await bed.decide(1)
    await settled(bed, webhook, 1, 0)
    const [during] = receiver.received as [Received]
    expect(verify(during, old?.text as string)).toEqual(verify(during, fresh.text))
    bed.clock.set(expires_at)
    await bed.decide(1)
    await settled(bed, webhook, 2, 0)
    const [, after] = receiver.received as [Received, Received]
    verify(after, fresh.text)
    expect(() => verify(after, old?.text as string)).toThrow('No matching signature')
  })

  it('is in no record of a delivery, also when the receiver sends back all that it got', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf(({ headers, body }, res) => {
      res.writeHead(500).end(`${webhook.secrets[0]?.text} ${JSON.stringify(headers)} ${body}\u0000\n`)
    })
    const webhook: StoredWebhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(1)
    const delivery = await attempted(bed, webhook, 1)
    const [attempt] = delivery.attempts
    expect(attempt?.response).toMatch(/^whsec_… \{/)
    expect([...(attempt?.response ?? '')]).toHaveLength(256)
    const text = JSON.stringify(await bed.deliveries(webhook)) + JSON.stringify(bed.lines)
    expect(text).not.toContain(secretOf(webhook))
    expect(text).not.toContain(secretOf(webhook).slice('whsec_'.length))
  })
})

describe('a webhook', () => {
  it('that is disabled gets nothing; enabled again, what happens from then on', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf()
    const created = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(2)
    await settled(bed, created, 2)
    const disabled = await bed.change(created, { disabled: { at: bed.clock.text(), reason: 'requested' } })
    // What the other one gets says that the change was seen; until then an event may still be sent.
    const other = await bed.addWebhook((await receiverOf()).url, { events: CREATED })
    await bed.decide(1)
    await settled(bed, other, 1)
    const before = (await bed.deliveries(created)).length
    const missed = await bed.decide(3)
    let turns = 0
    await bed.drive('turns', () => (turns++ < 5 ? undefined : true))
    bed.clock.advance(1000)
    await bed.change(disabled, { disabled: null, enabled_at: bed.clock.text() })
    const ids = await bed.decide(2)
    await settled(bed, created, before + 2)
    expect(idsOf(receiver.received)).toEqual(expect.arrayContaining([...ids]))
    for (const id of missed) expect(idsOf(receiver.received)).not.toContain(id)
  })

  it('gets nothing once more when it is disabled, and of two processes one sees that later', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf()
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(20)
    await settled(bed, webhook, 20)
    const second = bed.startSecond()
    await second.turn()
    bed.clock.advance(500)
    // The first one looks now, and so a little later than the second one again.
    await bed.drive('a look', () => true, 500)
    const disabled = await bed.change(webhook, { disabled: { at: bed.clock.text(), reason: 'requested' } })
    bed.clock.advance(450)
    await second.turn()
    await bed.decide(1)
    let turns = 0
    await bed.drive('turns of the first one', () => (turns++ < 9 ? undefined : true), 40)
    bed.clock.advance(1000)
    await bed.change(disabled, { disabled: null, enabled_at: bed.clock.text() })
    const ids = await bed.decide(1)
    await bed.drive('the new event', () => (idsOf(receiver.received).includes(ids[0] ?? '') ? true : undefined))
    // What happened before the first one saw it may have been sent.
    expect(receiver.received.length).toBeLessThanOrEqual(22)
    expect(new Set(idsOf(receiver.received)).size).toBe(receiver.received.length)
  })

  it('gets its events at its new URL', async () => {
    const bed = await bedOf()
    const [former, next] = [await receiverOf(), await receiverOf()]
    const webhook = await bed.addWebhook(former.url, { events: CREATED })
    await bed.decide(1)
    await settled(bed, webhook, 1)
    await bed.change(webhook, { url: next.url })
    await bed.drive('a turn', () => true)
    await bed.decide(1)
    await settled(bed, webhook, 2)
    expect([former.received.length, next.received.length]).toEqual([1, 1])
  })
})

describe('a replay', () => {
  it('sends the events of its span once more, beside what happens, and is over then', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf()
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(5)
    bed.clock.advance(1000)
    const since = bed.clock.text()
    const again = await bed.decide(60)
    bed.clock.advance(1000)
    const until = bed.clock.text()
    await bed.decide(5)
    await settled(bed, webhook, 70)
    const name = `replay/${webhook.id}/${since}/${until}/abc`
    const held = await bed.feed.readers.hold(name, 'the API', 0)
    const reader = { name, fence: held?.fence as number }
    await bed.feed.readers.save({
      reader,
      positions: {},
      state: { since, until },
      deliveries: [],
      counts: [],
      nodes: [],
      checkpoints: [],
    })
    const fresh = await bed.decide(3)
    await settled(bed, webhook, 70 + 60 + 3)
    expect(idsOf(receiver.received).slice(70).sort()).toEqual([...again, ...fresh].sort())
    await bed.drive('the replay to be over', async () =>
      (await bed.feed.readers.list('replay/')).length === 0 ? true : undefined,
    )
    for (let i = 0; i < 10; i += 1) await bed.drive('a turn', () => true)
    expect(receiver.received).toHaveLength(133)
  })
})
