import { expect } from 'vitest'
import type { StoredCount } from '#server/ports/store/feed'
import type { Store } from '#server/ports/store/store'
import { batchOf, held } from './readers.js'
import type { StoreCase } from './store-case.js'

const HOUR_MS = 3_600_000
const START_MS = Date.parse('2026-11-21T10:00:00.000Z')

function countOf(hour: number, group: string, over: Partial<StoredCount> = {}): StoredCount {
  const starts_ms = START_MS + hour * HOUR_MS
  return {
    id: `hour/action/${starts_ms}/${group}`,
    series: 'hour/action',
    starts_ms,
    document: { group, count: hour },
    ...over,
  }
}

const ALL = { series: 'hour/action', from_ms: 0, to_ms: Number.MAX_SAFE_INTEGER }

async function write(store: Store, counts: readonly StoredCount[]): Promise<void> {
  expect(await store.readers.save(batchOf(await held(store, 'statistics'), { counts }))).toBe(true)
}

export const COUNT_CASES: readonly StoreCase[] = [
  {
    title: 'lists counts of one series from a time to another, in the order of their starts and ids',
    async run({ store, reopen }) {
      const counts = [0, 1, 2, 3].flatMap((hour) => ['A', 'a', 'b', 'é', '☃', '𝄞'].map((group) => countOf(hour, group)))
      const other = countOf(1, 'a', { id: 'day/a', series: 'day/action' })
      const early = countOf(0, 'a', { id: 'early', starts_ms: -1 })
      await write(store, [...counts.toReversed(), other, early])
      const feed = await reopen()
      expect(await feed.counts.list(ALL, 100)).toStrictEqual(counts)
      expect(await feed.counts.list(ALL, 7)).toStrictEqual(counts.slice(0, 7))
      expect(await feed.counts.list({ ...ALL, from_ms: -1 }, 100)).toStrictEqual([early, ...counts])
      const [from_ms, to_ms] = [START_MS + HOUR_MS, START_MS + 3 * HOUR_MS]
      expect(await feed.counts.list({ ...ALL, from_ms, to_ms }, 100)).toStrictEqual(counts.slice(6, 18))
      expect(await feed.counts.list({ ...ALL, from_ms: from_ms + 1, to_ms: to_ms + 1 }, 100)).toStrictEqual(
        counts.slice(12, 24),
      )
      expect(await feed.counts.list({ ...ALL, series: 'day/action' }, 100)).toStrictEqual([other])
      expect(await feed.counts.list({ ...ALL, series: 'hour' }, 100)).toEqual([])
    },
  },
  {
    title: 'replaces the count of the same id, and no other',
    async run({ store, reopen }) {
      await write(store, [countOf(0, 'a'), countOf(0, 'b'), countOf(1, 'a')])
      const replaced = countOf(0, 'b', { document: { 'naïve.☃': '$set', deep: [{ amount: 1e-7 }, null] } })
      await write(store, [replaced, countOf(2, 'a')])
      for (let number = 1; number <= 3; number += 1) await write(store, [countOf(2, 'a', { document: { number } })])
      await write(store, [])
      expect(await (await reopen()).counts.list(ALL, 10)).toStrictEqual([
        countOf(0, 'a'),
        replaced,
        countOf(1, 'a'),
        countOf(2, 'a', { document: { number: 3 } }),
      ])
    },
  },
  {
    title: 'goes on with the counts of the holder before, and of a reader that was forgotten',
    async run({ store }) {
      const count = (by: string) => countOf(0, 'a', { document: { by } })
      for (const by of ['a', 'b', 'c']) {
        const reader = await held(store, 'statistics', by)
        expect(await store.readers.save(batchOf(reader, { counts: [count(by)] }))).toBe(true)
        expect(await store.counts.list(ALL, 10)).toStrictEqual([count(by)])
        if (by === 'b') await store.readers.remove('statistics')
        else await store.readers.release(by)
      }
    },
  },
  {
    title: 'keeps counts whose ids have as many bytes as they may have',
    async run({ store, reopen }) {
      const counts = ['a', 'b'].map((end) => countOf(0, end, { id: `${'☃'.repeat(199)}..${end}` }))
      await write(store, counts)
      expect(await (await reopen()).counts.list(ALL, 10)).toStrictEqual(counts)
    },
  },
  {
    title: 'removes the counts of one series that start before a time, a bounded number at a time',
    async run({ store, reopen }) {
      const many = [...Array(1500).keys()].map((i) => countOf(0, String(i).padStart(4, '0')))
      const others = [countOf(0, 'a', { id: 'other', series: 'day/action' }), countOf(1, 'a')]
      await write(store, [...many, ...others])
      expect(await store.counts.remove(ALL.series, START_MS)).toBe(0)
      for (let left = many.length; left > 0; ) {
        const removed = await store.counts.remove(ALL.series, START_MS + HOUR_MS)
        expect(removed).toBeGreaterThan(0)
        expect(removed).toBeLessThanOrEqual(1000)
        left -= removed
      }
      expect(await store.counts.remove(ALL.series, START_MS + HOUR_MS)).toBe(0)
      const feed = await reopen()
      expect(await feed.counts.list(ALL, 10)).toStrictEqual([countOf(1, 'a')])
      expect(await feed.counts.list({ ...ALL, series: 'day/action' }, 10)).toHaveLength(1)
    },
  },
]
