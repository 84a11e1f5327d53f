import { expect } from 'vitest'
import type { FeedBatch, FeedStore, HeldReader } from '#server/ports/store/feed'
import { deliveryOf, idOf } from './documents.js'
import type { StoreCase } from './store-case.js'

/** Longer than any case takes. */
export const LONG_MS = 600_000

export function batchOf(reader: Pick<HeldReader, 'name' | 'fence'>, over: Partial<FeedBatch> = {}): FeedBatch {
  const { name, fence } = reader
  return {
    reader: { name, fence },
    positions: {},
    state: {},
    deliveries: [],
    counts: [],
    nodes: [],
    checkpoints: [],
    ...over,
  }
}

/** Holds a reader that nobody else holds. */
export async function held(
  { readers }: Pick<FeedStore, 'readers'>,
  name: string,
  holder = 'holder',
  forMs = LONG_MS,
): Promise<HeldReader> {
  const reader = await readers.hold(name, holder, forMs)
  expect(reader).not.toBeNull()
  return reader as HeldReader
}

/** Of several holders in turn: their fences rise. */
function expectRising(fences: readonly number[]): void {
  for (const [i, fence] of fences.entries()) {
    expect(Number.isSafeInteger(fence)).toBe(true)
    if (i > 0) expect(fence).toBeGreaterThan(fences[i - 1] as number)
  }
}

const POSITIONS = { 'log-b': 7, 'log.a': 0, $log: 12, '': 3, 'naïve ☃': 1 }
const STATE = { since: '2026-11-21T10:00:00.000Z', 'a.b': { $set: [1e-7, null, '\u0000'] } }

export const READER_CASES: readonly StoreCase[] = [
  {
    title: 'gives a reader to one holder at a time, and the same one holds on to it',
    async run({ store }) {
      const first = await held(store, 'reader', 'a')
      expect(first).toStrictEqual({ name: 'reader', fence: first.fence, positions: null, state: {} })
      for (let round = 0; round < 3; round += 1) {
        expect(await store.readers.hold('reader', 'b', LONG_MS)).toBeNull()
        expect(await held(store, 'reader', 'a')).toStrictEqual(first)
      }
      expect((await held(store, 'reader/2', 'b')).name).toBe('reader/2')
      expect(await store.readers.hold('reader/2', 'a', LONG_MS)).toBeNull()
    },
  },
  {
    title: 'gives a new reader to one of those who ask for it at once',
    async run({ store }) {
      for (let round = 1; round <= 10; round += 1) {
        const asked = [...'abcdef'].map((holder) => store.readers.hold(`reader ${round}`, holder, LONG_MS))
        expect((await Promise.all(asked)).filter((reader) => reader !== null)).toHaveLength(1)
      }
    },
  },
  {
    title: 'gives a reader to the next holder once its lease is over, and raises the fence each time',
    async run({ store }) {
      const fences: number[] = []
      for (const holder of ['a', 'b', 'b', 'a']) fences.push((await held(store, 'reader', holder, 0)).fence)
      const last = await held(store, 'reader', 'b', 50)
      let next: HeldReader | null = null
      while (next === null) next = await store.readers.hold('reader', 'c', LONG_MS)
      expectRising([...fences, last.fence, next.fence])
      expect(await store.readers.hold('reader', 'b', LONG_MS)).toBeNull()
    },
  },
  {
    title: 'ends a lease at the time that its holder asked for last',
    async run({ store }) {
      const first = await held(store, 'reader', 'a', LONG_MS)
      expect(await held(store, 'reader', 'a', 0)).toStrictEqual(first)
      const next = await held(store, 'reader', 'b', 0)
      expect((await held(store, 'reader', 'b', LONG_MS)).fence).toBeGreaterThan(next.fence)
      expect(await store.readers.hold('reader', 'a', LONG_MS)).toBeNull()
    },
  },
  {
    title: 'gives readers that their holder released to the next one, and no others',
    async run({ store }) {
      const first = await held(store, 'one', 'a')
      const second = await held(store, 'two', 'a')
      await held(store, 'three', 'b')
      await store.readers.release('nobody')
      expect(await store.readers.hold('one', 'c', LONG_MS)).toBeNull()
      await store.readers.release('a')
      expectRising([first.fence, (await held(store, 'one', 'c')).fence])
      expectRising([second.fence, (await held(store, 'two', 'a')).fence])
      expect(await store.readers.hold('three', 'c', LONG_MS)).toBeNull()
    },
  },
  {
    title: 'keeps the positions and the state of a reader as they were saved last',
    async run({ store, reopen }) {
      const reader = await held(store, 'reader', 'a')
      expect(await store.readers.get('reader')).toBeNull()
      expect(await store.readers.save(batchOf(reader, { positions: { log: 1 }, state: { first: true } }))).toBe(true)
      expect(await store.readers.save(batchOf(reader, { positions: POSITIONS, state: STATE }))).toBe(true)
      const saved = { positions: POSITIONS, state: STATE }
      expect(await store.readers.get('reader')).toStrictEqual(saved)
      expect(await held(store, 'reader', 'a')).toStrictEqual({ ...reader, ...saved })
      expect(await store.readers.get('another')).toBeNull()
      await store.readers.release('a')
      const reopened = await reopen()
      expect(await reopened.readers.get('reader')).toStrictEqual(saved)
      const next = await held(reopened, 'reader', 'b')
      expect(next).toStrictEqual({ name: 'reader', fence: next.fence, ...saved })
      expectRising([reader.fence, next.fence])
    },
  },
  {
    title: 'writes no position and no count for a holder that has lost its reader',
    async run({ store, reopen }) {
      const old = await held(store, 'reader', 'a', 0)
      const count = { id: 'count', series: 'series', starts_ms: 0, document: { of: 'b' } }
      const reader = await held(store, 'reader', 'b')
      const batch = batchOf(reader, { positions: { log: 5 }, state: { of: 'b' }, counts: [count] })
      const stale = batchOf(old, {
        positions: { log: 9 },
        state: { of: 'a' },
        counts: [
          { ...count, document: { of: 'a' } },
          { ...count, id: 'other', document: { of: 'a' } },
        ],
      })
      const counts = { series: 'series', from_ms: 0, to_ms: 1 }
      expect(await store.readers.save(stale)).toBe(false)
      expect(await store.readers.get('reader')).toBeNull()
      expect(await store.counts.list(counts, 10)).toEqual([])
      expect(await store.readers.save(batch)).toBe(true)
      expect(await store.readers.save(stale)).toBe(false)
      expect(await store.readers.save({ ...stale, reader: { name: 'unknown', fence: old.fence } })).toBe(false)
      // The same holder, who had the reader twice.
      await store.readers.release('b')
      const again = await held(store, 'reader', 'b')
      expect(await store.readers.save({ ...batch, positions: { log: 9 } })).toBe(false)
      expect(again.positions).toEqual({ log: 5 })
      const feed = await reopen()
      expect(await feed.readers.get('reader')).toStrictEqual({ positions: { log: 5 }, state: { of: 'b' } })
      expect(await feed.counts.list(counts, 10)).toStrictEqual([count])
      expect(await feed.readers.list('')).toEqual(['reader'])
    },
  },
  {
    title: 'lets a holder save behind the end of its lease, as long as nobody else has taken the reader',
    async run({ store }) {
      const reader = await held(store, 'reader', 'a', 0)
      expect(await store.readers.save(batchOf(reader, { positions: { log: 1 } }))).toBe(true)
      await held(store, 'reader', 'b', 0)
      expect(await store.readers.save(batchOf(reader, { positions: { log: 2 } }))).toBe(false)
      expect((await store.readers.get('reader'))?.positions).toEqual({ log: 1 })
    },
  },
  {
    title: 'shows the positions of a batch never before its deliveries',
    async run({ store }) {
      const reader = await held(store, 'reader')
      for (let round = 1; round <= 20; round += 1) {
        const count = { id: 'count', series: 'series', starts_ms: 0, document: { round } }
        const deliveries = [0, 1, 2].map((i) => deliveryOf(10 * round + i))
        let isSaved = false
        const saved = store.readers
          .save(batchOf(reader, { positions: { log: round }, deliveries, counts: [count] }))
          .finally(() => {
            isSaved = true
          })
        while (!isSaved && (await store.readers.get('reader'))?.positions?.log !== round);
        const found = await Promise.all(deliveries.map(({ id }) => store.deliveries.get(id)))
        expect(await saved).toBe(true)
        expect(found).toStrictEqual(deliveries)
        expect(await store.counts.list({ series: 'series', from_ms: 0, to_ms: 1 }, 2)).toStrictEqual([count])
      }
    },
  },
  {
    title: 'changes nothing more when a batch is saved again',
    async run({ store, reopen }) {
      const reader = await held(store, 'reader')
      const deliveries = [deliveryOf(1), deliveryOf(2)]
      const counts = [{ id: 'count', series: 'series', starts_ms: 0, document: { count: 5 } }]
      const batch = batchOf(reader, { positions: { log: 2 }, state: { a: 1 }, deliveries, counts })
      expect(await store.readers.save(batch)).toBe(true)
      const delivered = deliveryOf(1, { version: 2, status: 'delivered', next_attempt_at: null })
      await store.deliveries.update([delivered])
      expect(await store.readers.save(batch)).toBe(true)
      const feed = await reopen()
      expect(await feed.deliveries.get(idOf('dlv', 1))).toStrictEqual(delivered)
      expect(await feed.deliveries.get(idOf('dlv', 2))).toStrictEqual(deliveries[1])
      expect(await feed.counts.list({ series: 'series', from_ms: 0, to_ms: 1 }, 10)).toStrictEqual(counts)
      expect(await feed.readers.get('reader')).toStrictEqual({ positions: { log: 2 }, state: { a: 1 } })
    },
  },
  {
    title: 'names a reader from its first save on',
    async run({ store }) {
      const reader = await held(store, 'reader')
      expect(await store.readers.list('')).toEqual([])
      await store.readers.save(batchOf(reader))
      expect(await store.readers.list('')).toEqual(['reader'])
    },
  },
  {
    title: 'names the readers that begin so, in order',
    async run({ store, reopen }) {
      const names = [
        'webhook/b',
        'webhook/a',
        'webhook',
        'webhook/',
        'webhoo',
        'webhook0',
        'webhook.',
        'webhook/\u{10ffff}',
        'w%',
      ]
      for (const name of names) await store.readers.save(batchOf(await held(store, name)))
      const feed = await reopen()
      expect(await feed.readers.list('webhook/')).toEqual(['webhook/', 'webhook/a', 'webhook/b', 'webhook/\u{10ffff}'])
      expect(await feed.readers.list('webhook/b')).toEqual(['webhook/b'])
      expect(await feed.readers.list('')).toEqual(names.toSorted())
      for (const prefix of ['webhook/c', 'x', 'w_', '%', '.', '^']) expect(await feed.readers.list(prefix)).toEqual([])
    },
  },
  {
    title: 'names more readers than it reads at a time',
    async run({ store }) {
      const names = [...Array(210).keys()].map((i) => `replay/${String(i).padStart(3, '0')}`)
      await Promise.all(names.map(async (name) => store.readers.save(batchOf(await held(store, name)))))
      expect(await store.readers.list('replay/')).toEqual(names)
      expect(await store.readers.list('replay/1')).toEqual(names.slice(100, 200))
    },
  },
  {
    title: 'forgets a reader whole, and its holder loses it',
    async run({ store, reopen }) {
      const reader = await held(store, 'reader', 'a')
      await store.readers.save(batchOf(await held(store, 'reader/2', 'a')))
      await store.readers.save(batchOf(reader, { positions: { log: 1 } }))
      await store.readers.remove('reader')
      await store.readers.remove('unknown')
      expect(await store.readers.list('')).toEqual(['reader/2'])
      expect(await store.readers.get('reader')).toBeNull()
      expect(await store.readers.save(batchOf(reader, { positions: { log: 2 } }))).toBe(false)
      const next = await held(store, 'reader', 'b')
      expect(next).toStrictEqual({ name: 'reader', fence: next.fence, positions: null, state: {} })
      expect(await store.readers.save(batchOf(reader, { positions: { log: 2 } }))).toBe(false)
      expect(await store.readers.save(batchOf(next, { positions: { log: 3 } }))).toBe(true)
      expect(await (await reopen()).readers.get('reader')).toStrictEqual({ positions: { log: 3 }, state: {} })
    },
  },
]
