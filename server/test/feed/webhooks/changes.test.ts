/** Changes of a webhook while an attempt is under way to its connection. */

import { until } from '@countersign/testkit'
import { expect, it, onTestFinished } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { generateWebhookSecret } from '#server/webhook-secret'
import { altered } from '../../store-suite/index.js'
import { bedOf, CREATED, idsOf, receiverOf, secretOf, settled, TestBed, verify } from './test-bed.js'

/** A door that is shut until it is opened. */
function door() {
  let open = (): void => {}
  let reached = 0
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const pass = async (): Promise<void> => {
    reached += 1
    await opened
  }
  return { pass, open, isReached: () => reached > 0 || undefined }
}

const freshSecret = () => ({ secrets: [{ text: generateWebhookSecret(), expires_at: null }] })

it('between the start of an attempt and its body: it is signed with the new secret', async () => {
  const body = door()
  let isShut = false
  const bed = await TestBed.open()
  onTestFinished(() => bed.close())
  const { audit } = bed.feed
  const feed = altered(bed.feed, {
    audit: {
      // The attempt alone reads one entry.
      async read(log, index, limit, ...bytes) {
        if (isShut && limit === 1) await body.pass()
        return audit.read(log, index, limit, ...bytes)
      },
    },
  })
  await bed.takeOver({ store: feed })
  const receiver = await receiverOf()
  const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
  // Found in the store, so that its event has to be read from there.
  const [id] = await bed.decide(1)
  const failing = await receiverOf((_, res) => res.writeHead(500).end())
  const away = await bed.change(webhook, { url: failing.url })
  // The clock stands until the failed attempt is recorded: a second one would put the next off by five minutes.
  await bed.drive('a failed attempt', () => failing.received[0], 0)
  await bed.drive('its record', async () => (await bed.deliveries(webhook))[0]?.attempts[0], 0)
  isShut = true
  await bed.takeOver({ store: feed })
  await bed.drive('the attempt to be at its body', body.isReached, 60_000)
  const changed = await bed.change(away, { url: receiver.url, ...freshSecret() })
  await bed.webhooks.changed()
  const before = failing.received.length
  body.open()
  await settled(bed, changed, 1)
  expect(idsOf(receiver.received)).toEqual([id])
  verify(receiver.received[0] as (typeof receiver.received)[number], secretOf(changed))
  expect(failing.received).toHaveLength(before)
})

it('between the name and the connection: it goes to the new URL, and counts as no attempt', async () => {
  const name = door()
  const old = await receiverOf()
  const bed = await bedOf({
    resolve: async (host) => {
      if (host === 'old.example') await name.pass()
      return [{ address: '127.0.0.1', family: 4 }]
    },
  })
  const webhook = await bed.addWebhook(`http://old.example:${old.port}/hook`, { events: CREATED })
  const [id] = await bed.decide(1)
  await bed.drive('a look', () => true)
  await until('the resolver to be asked', name.isReached)
  const next = await receiverOf()
  const changed = await bed.change(webhook, { url: next.url, ...freshSecret() })
  await bed.webhooks.changed()
  name.open()
  const [delivery] = await settled(bed, changed, 1)
  expect(delivery?.attempts).toMatchObject([{ status: 200 }])
  expect(idsOf(next.received)).toEqual([id])
  verify(next.received[0] as (typeof next.received)[number], secretOf(changed))
  expect(old.received).toEqual([])
})

it('that cannot be read holds everything back until it can', async () => {
  let isAway = false
  const bed = await TestBed.open()
  onTestFinished(() => bed.close())
  const { webhooks } = bed.feed
  const feed = altered(bed.feed, {
    webhooks: {
      async load(...onDamaged) {
        if (isAway) throw new StoreUnavailableError('away')
        return webhooks.load(...onDamaged)
      },
    },
  })
  await bed.takeOver({ store: feed })
  const receiver = await receiverOf()
  const webhook = await bed.addWebhook(receiver.url, { events: CREATED })
  const [first] = await bed.decide(1)
  await settled(bed, webhook, 1)
  isAway = true
  const changed = await bed.change(webhook, freshSecret())
  await expect(bed.webhooks.changed()).rejects.toThrow('away')
  const [second] = await bed.decide(1)
  await bed.drive('the delivery', async () => (await bed.deliveries(webhook)).length === 2 || undefined)
  for (let turns = 0; turns < 5; turns += 1) await bed.drive('a turn', () => true)
  expect(idsOf(receiver.received)).toEqual([first])
  isAway = false
  await settled(bed, changed, 2)
  expect(idsOf(receiver.received)).toEqual([first, second])
  verify(receiver.received[1] as (typeof receiver.received)[number], secretOf(changed))
})
