import { expect } from 'vitest'
import type { StoredDelivery } from '#server/ports/store/documents'
import type { DeliveryFilter } from '#server/ports/store/feed'
import type { Store } from '#server/ports/store/store'
import { deliveryOf, idOf, instant } from './documents.js'
import { batchOf, held } from './readers.js'
import { type StoreCase, WHOLE, walk } from './store-case.js'

const WEBHOOK = idOf('whk', 1)
const OTHER = idOf('whk', 2)

function deliveredOf(number: number, over: Partial<StoredDelivery> = {}): StoredDelivery {
  return deliveryOf(number, { status: 'delivered', next_attempt_at: null, attempt_count: 1, ...over })
}

async function add(store: Store, deliveries: readonly StoredDelivery[]): Promise<void> {
  await store.readers.save(batchOf(await held(store, 'reader'), { deliveries }))
}

/** Of both webhooks, some of one instant, of every status. */
function mixture(): readonly StoredDelivery[] {
  const kinds = [
    (n: number) => deliveryOf(n),
    (n: number) => deliveredOf(n),
    (n: number) => deliveredOf(n, { status: 'failed' }),
    (n: number) => deliveredOf(n, { created_at: instant(n - (n % 8)) }),
    (n: number) => deliveryOf(n, { webhook_id: OTHER }),
  ]
  return [...Array(60).keys()].map((i) => (kinds[i % kinds.length] as (n: number) => StoredDelivery)(i + 1))
}

function newestFirst(deliveries: readonly StoredDelivery[], { webhook_id, status }: DeliveryFilter) {
  return deliveries
    .filter((one) => one.webhook_id === webhook_id && (status === undefined || one.status === status))
    .toSorted((one, other) => compare(other.created_at, one.created_at) || compare(other.id, one.id))
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

const FILTERS: readonly DeliveryFilter[] = [
  { webhook_id: WEBHOOK },
  { webhook_id: OTHER },
  { webhook_id: WEBHOOK, status: 'pending' },
  { webhook_id: WEBHOOK, status: 'delivered' },
  { webhook_id: WEBHOOK, status: 'failed' },
  { webhook_id: OTHER, status: 'failed' },
]

export const DELIVERY_CASES: readonly StoreCase[] = [
  {
    title: 'gives back a delivery as it was written',
    async run({ store, reopen }) {
      const test = deliveryOf(1, {
        event: { ...deliveryOf(1).event, type: 'webhook.test', subject: 'naïve ☃ 𝄞 \u0000 $a.b', entry: null },
      })
      const attempts = [{ at: instant(9), status: null, error: 'It timed out.', response: null, duration_ms: 0.1 }]
      const other = deliveredOf(2, { attempts })
      expect(await store.deliveries.get(test.id)).toBeNull()
      await store.deliveries.add(test)
      await add(store, [other])
      const feed = await reopen()
      expect(await feed.deliveries.get(test.id)).toStrictEqual(test)
      expect(await feed.deliveries.get(other.id)).toStrictEqual(other)
      expect(await feed.deliveries.get(idOf('dlv', 3))).toBeNull()
    },
  },
  {
    title: 'leaves a delivery as it is that exists already',
    async run({ store }) {
      const failed = deliveredOf(1, { version: 7, status: 'failed' })
      await store.deliveries.add(failed)
      await store.deliveries.add(deliveryOf(1))
      await add(store, [deliveryOf(1), deliveryOf(2), deliveryOf(2, { status: 'failed' })])
      expect(await store.deliveries.get(failed.id)).toStrictEqual(failed)
      expect(await store.deliveries.get(idOf('dlv', 2))).toStrictEqual(deliveryOf(2))
      expect((await store.deliveries.list({ webhook_id: WEBHOOK }, WHOLE)).items).toHaveLength(2)
      expect(await store.deliveries.listDue(WEBHOOK, instant(100), 10)).toStrictEqual([deliveryOf(2)])
    },
  },
  {
    title: 'writes deliveries back that are at the version before, and names them',
    async run({ store, reopen }) {
      await add(
        store,
        [1, 2, 3].map((number) => deliveryOf(number)),
      )
      const update = (number: number, version: number) => deliveredOf(number, { version, attempt_count: version })
      expect(await store.deliveries.update([])).toEqual([])
      expect(await store.deliveries.update([update(1, 2), update(2, 3), update(9, 2)])).toEqual([idOf('dlv', 1)])
      expect(await store.deliveries.update([update(1, 2)])).toEqual([])
      expect(await store.deliveries.update([update(1, 1)])).toEqual([])
      const written = await store.deliveries.update([update(1, 3), update(2, 2)])
      expect(written.toSorted()).toEqual([idOf('dlv', 1), idOf('dlv', 2)])
      const both = await Promise.all([3, 3].map((version) => store.deliveries.update([update(2, version)])))
      expect(both.flat()).toEqual([idOf('dlv', 2)])
      const { items } = await (await reopen()).deliveries.list({ webhook_id: WEBHOOK }, WHOLE)
      expect(items).toStrictEqual([deliveryOf(3), update(2, 3), update(1, 3)])
    },
  },
  ...FILTERS.map((filter) => ({
    title: `lists deliveries newest first, page by page, by ${JSON.stringify(filter)}`,
    async run({ store, reopen }: Parameters<StoreCase['run']>[0]) {
      const deliveries = mixture()
      await add(store, deliveries)
      const feed = await reopen()
      const expected = newestFirst(deliveries, filter)
      for (const limit of [1, 3, 200])
        expect(await walk(limit, (page) => feed.deliveries.list(filter, page))).toStrictEqual(expected)
    },
  })),
  {
    title: 'lists a delivery by the status that it was given last',
    async run({ store }) {
      const listed = async () =>
        Promise.all(
          (['pending', 'delivered', 'failed'] as const).map(
            async (status) => (await store.deliveries.list({ webhook_id: WEBHOOK, status }, WHOLE)).items.length,
          ),
        )
      await add(store, [deliveryOf(1)])
      expect(await listed()).toEqual([1, 0, 0])
      await store.deliveries.update([deliveredOf(1, { version: 2, status: 'failed' })])
      expect(await listed()).toEqual([0, 0, 1])
      await store.deliveries.update([deliveryOf(1, { version: 3 })])
      expect(await listed()).toEqual([1, 0, 0])
      await store.deliveries.update([deliveredOf(1, { version: 4 })])
      expect(await listed()).toEqual([0, 1, 0])
    },
  },
  {
    title: 'pages through deliveries without a repetition or a gap while others are written',
    async run({ store }) {
      await add(
        store,
        [...Array(9).keys()].map((i) => deliveryOf(10 + i)),
      )
      const seen: string[] = []
      let after: string | null = null
      for (let page = 0; page < 3; page += 1) {
        const found: Awaited<ReturnType<Store['deliveries']['list']>> = await store.deliveries.list(
          { webhook_id: WEBHOOK },
          { limit: 3, after },
        )
        seen.push(...found.items.map(({ id }) => id))
        after = found.next
        await add(store, [deliveryOf(50 + page)])
      }
      expect(seen).toEqual([...Array(9).keys()].map((i) => idOf('dlv', 18 - i)))
    },
  },
  {
    title: 'ends a page of deliveries by bytes as well',
    async run({ store }) {
      const attempt = { at: instant(9), status: null, error: '.'.repeat(20_000), response: null, duration_ms: 1 }
      const large = (number: number) => deliveryOf(number, { attempts: [attempt] })
      await add(store, [1, 2, 3, 4, 5].map(large))
      const page = await store.deliveries.list({ webhook_id: WEBHOOK }, { ...WHOLE, maxBytes: 50_000 })
      expect(page.items).toStrictEqual([5, 4].map(large))
      const rest = await store.deliveries.list({ webhook_id: WEBHOOK }, { ...WHOLE, maxBytes: 100, after: page.next })
      expect(rest.items).toStrictEqual([large(3)])
    },
  },
  {
    title: 'lists the deliveries that are due, the longest overdue first',
    async run({ store, reopen }) {
      const due = (number: number, at: number) => deliveryOf(number, { next_attempt_at: instant(at) })
      const deliveries = [
        due(1, 50),
        due(2, 10),
        due(3, 30.001),
        due(4, 30),
        due(5, 10),
        deliveredOf(6),
        deliveredOf(7, { status: 'failed' }),
        deliveryOf(8, { webhook_id: OTHER, next_attempt_at: instant(1) }),
      ]
      await add(store, deliveries)
      const feed = await reopen()
      const numbers = async (at: number, limit = 10) =>
        (await feed.deliveries.listDue(WEBHOOK, instant(at), limit)).map(({ id }) => Number(id.slice(-2)))
      expect(await numbers(9.999)).toEqual([])
      expect((await numbers(10)).toSorted()).toEqual([2, 5])
      expect((await numbers(30)).slice(2)).toEqual([4])
      expect((await numbers(100)).slice(2)).toEqual([4, 3, 1])
      expect((await numbers(100, 3))[2]).toBe(4)
      expect(await feed.deliveries.listDue(OTHER, instant(100), 10)).toStrictEqual([deliveries[7]])
      await feed.deliveries.update([{ ...due(2, 200), version: 2 }, deliveredOf(5, { version: 2 })])
      expect(await numbers(100)).toEqual([4, 3, 1])
    },
  },
  {
    title: 'knows when the next attempt of an endpoint is, and how old its oldest pending event is',
    async run({ store, reopen }) {
      const pending = (number: number, eventAt: number, nextAt: number) =>
        deliveryOf(number, {
          event: { ...deliveryOf(number).event, at: instant(eventAt) },
          next_attempt_at: instant(nextAt),
        })
      expect(await store.deliveries.pendingOf(WEBHOOK)).toBeNull()
      await add(store, [
        pending(1, 20, 90),
        pending(2, 10.5, 80),
        pending(3, 30, 70.25),
        deliveredOf(4, { created_at: instant(0) }),
        deliveredOf(5, { status: 'failed' }),
        { ...pending(6, 1, 2), webhook_id: OTHER },
      ])
      const feed = await reopen()
      expect(await feed.deliveries.pendingOf(WEBHOOK)).toEqual({
        next_attempt_at: instant(70.25),
        oldest_event_at: instant(10.5),
      })
      expect(await feed.deliveries.pendingOf(OTHER)).toEqual({
        next_attempt_at: instant(2),
        oldest_event_at: instant(1),
      })
      await feed.deliveries.update([deliveredOf(3, { version: 2 }), { ...pending(1, 20, 75), version: 2 }])
      expect(await feed.deliveries.pendingOf(WEBHOOK)).toEqual({
        next_attempt_at: instant(75),
        oldest_event_at: instant(10.5),
      })
      await feed.deliveries.update([deliveredOf(2, { version: 2, status: 'failed' }), deliveredOf(1, { version: 3 })])
      expect(await feed.deliveries.pendingOf(WEBHOOK)).toBeNull()
    },
  },
  {
    title: 'removes the deliveries of one endpoint that were made before a time, or all',
    async run({ store, reopen }) {
      const kept = [deliveryOf(5), deliveryOf(6), deliveryOf(2, { webhook_id: OTHER })]
      await add(store, [deliveryOf(1), deliveredOf(3), deliveredOf(4, { status: 'failed' }), ...kept.slice(0, 2)])
      await store.deliveries.add({ ...kept[2]!, id: idOf('dlv', 9) })
      expect(await store.deliveries.remove(WEBHOOK, instant(1))).toBe(0)
      expect(await store.deliveries.remove(WEBHOOK, instant(5))).toBe(3)
      expect(await store.deliveries.remove(WEBHOOK, instant(5))).toBe(0)
      const feed = await reopen()
      expect((await feed.deliveries.list({ webhook_id: WEBHOOK }, WHOLE)).items.map(({ id }) => id)).toEqual(
        [6, 5].map((number) => idOf('dlv', number)),
      )
      expect(await feed.deliveries.remove(WEBHOOK, null)).toBe(2)
      expect(await feed.deliveries.pendingOf(WEBHOOK)).toBeNull()
      expect((await feed.deliveries.list({ webhook_id: OTHER }, WHOLE)).items).toHaveLength(1)
    },
  },
  {
    title: 'removes a bounded number of deliveries at a time, the oldest first',
    async run({ store }) {
      const count = 2100
      await add(
        store,
        [...Array(count).keys()].map((i) => deliveryOf(i + 1)),
      )
      let left = count
      while (left > 0) {
        const removed = await store.deliveries.remove(WEBHOOK, null)
        expect(removed).toBeGreaterThan(0)
        expect(removed).toBeLessThanOrEqual(1000)
        left -= removed
        const newest = await store.deliveries.get(idOf('dlv', count))
        expect(newest === null).toBe(left === 0)
        const oldest = await store.deliveries.listDue(WEBHOOK, instant(count + 1), 1)
        expect(oldest.map(({ id }) => id)).toEqual(left === 0 ? [] : [idOf('dlv', count - left + 1)])
      }
      expect(await store.deliveries.remove(WEBHOOK, null)).toBe(0)
    },
  },
]
