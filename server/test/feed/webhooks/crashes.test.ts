import { describe, expect, it } from 'vitest'
import { bedOf, CREATED, FaultyFeed, receiverOf } from './test-bed.js'

describe('a store that is gone', () => {
  it('is told of once, and what waits goes on when it is back', async () => {
    const bed = await bedOf()
    const receiver = await receiverOf()
    const faulty = new FaultyFeed(bed.feed, () => false)
    await bed.takeOver({ store: faulty.feed })
    for (let i = 0; i < 3; i += 1) await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(1)
    await bed.drive('the first event', () => receiver.received.length === 3 || undefined)
    faulty.isGone = true
    await bed.decide(1)
    for (let i = 0; i < 10; i += 1) await bed.drive('a turn', () => true)
    expect(bed.lines).toEqual([{ level: 'warn', message: 'webhooks wait for the store' }])
    faulty.isGone = false
    await bed.drive('the second event', () => receiver.received.length >= 6 || undefined)
    expect(bed.lines).toHaveLength(1)
  })
})

describe('an end', () => {
  it('waits for what is being sent', async () => {
    const bed = await bedOf()
    const waiting: (() => void)[] = []
    const receiver = await receiverOf((_, res) => void waiting.push(() => res.end()))
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(10)
    await bed.drive('four requests', () => waiting.length === 4 || undefined)
    const closed = bed.webhooks.close()
    for (const answer of waiting.splice(0)) answer()
    await closed
    const statuses = (await bed.deliveries(webhook)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 'delivered')).toHaveLength(4)
    expect(statuses.filter((status) => status === 'pending')).toHaveLength(6)
    expect(receiver.received).toHaveLength(4)
  })
})
