import { SEED, seededRandom } from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import { bedOf, CREATED, FaultyFeed, idsOf, receiverOf } from './test-bed.js'

describe('nothing is lost', () => {
  it('when the store fails now and then, receivers fail, and processes end at any point', async () => {
    const random = seededRandom(SEED)
    for (let run = 0; run < 2; run += 1) {
      const bed = await bedOf()
      const receiver = await receiverOf((_, res) => void res.writeHead(random() < 0.2 ? 500 : 200).end())
      let faulty = new FaultyFeed(bed.feed, () => random() < 0.05)
      await bed.takeOver({ store: faulty.feed, random })
      const webhooks = [await bed.addWebhook(receiver.url, { events: CREATED }), await bed.addWebhook(receiver.url)]
      const ids = [...(await bed.decide(100))]
      let turns = 0
      await bed.drive(
        `all events (SEED=${SEED})`,
        async () => {
          turns += 1
          if (turns % 5 === 0 && ids.length < 200) ids.push(...(await bed.decide(10)))
          if (turns % 15 === 0) {
            faulty.isGone = true
            faulty = new FaultyFeed(bed.feed, () => turns < 400 && random() < 0.05)
            await bed.takeOver({ store: faulty.feed, random })
          }
          if (ids.length < 200 || new Set(idsOf(receiver.received)).size < ids.length) return
          for (const { id } of webhooks) if ((await bed.feed.deliveries.pendingOf(id)) !== null) return
          const deliveries = (await Promise.all(webhooks.map((webhook) => bed.deliveries(webhook)))).flat()
          return (
            (deliveries.length === 2 * ids.length && deliveries.every((one) => one.status === 'delivered')) || undefined
          )
        },
        20_000,
      )
      expect(new Set(idsOf(receiver.received))).toEqual(new Set(ids))
      for (const webhook of webhooks) {
        const deliveries = await bed.deliveries(webhook)
        const events = deliveries.map(({ event }) => event.id)
        expect(events.sort()).toEqual([...ids].sort())
        // No attempt is written twice.
        for (const { attempts } of deliveries) expect(new Set(attempts.map(({ at }) => at)).size).toBe(attempts.length)
      }
    }
  })
})

describe('an end', () => {
  it('comes in 2 seconds where there is no answer, and sends that once more later', async () => {
    const bed = await bedOf()
    let isHanging = true
    const receiver = await receiverOf((_, res) => void (isHanging || res.end()))
    const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
    await bed.decide(1)
    await bed.drive('the request', () => receiver.received.length === 1 || undefined)
    const startMs = performance.now()
    await bed.webhooks.close()
    expect(performance.now() - startMs).toBeLessThan(4000)
    expect(await bed.deliveries(webhook)).toMatchObject([{ status: 'pending', attempt_count: 0 }])
    isHanging = false
    await bed.takeOver()
    await bed.drive('the event', () => receiver.received.length === 2 || undefined)
  })
})
