/** What becomes of the feed when a process dies, freezes or writes late, and what the ends of logs cost. */
import { randomBytes } from 'node:crypto'
import type { HeldReader, StoredCount } from '@countersign/store-port/feed'
import { StoreUnavailableError } from '@countersign/store-port/store'
import { deliveryOf, LogPen } from '@countersign/testkit/store-suite'
import type { Collection } from 'mongodb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { auditDocumentOf } from '#store-mongodb/collections/audit'
import { Database } from '#store-mongodb/connection/database'
import { MongoFeed } from '#store-mongodb/feed/feed'
import { openMongoStore } from '#store-mongodb/open'
import { openMongoFeedStore } from '#store-mongodb/open-feed'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'
import { change, DONE } from './sabotages.js'

const LONG_MS = 600_000
const SERIES = { series: 'series', from_ms: 0, to_ms: 1 }

let name: string
let url: string
let databases: Database[]
beforeEach(async () => {
  name = `countersign-feed-${randomBytes(6).toString('hex')}`
  url = mongoUrl(name)
  databases = []
  await (await openMongoStore({ url })).close()
})
afterEach(async () => {
  for (const database of databases) await database.close()
  await dropDatabase(name)
})

async function openDatabase(): Promise<Database> {
  const database = await Database.open(url)
  databases.push(database)
  return database
}

/** As a process has it whose clock may be ahead. */
async function openFeed(aheadMs = 0): Promise<{ feed: MongoFeed; database: Database }> {
  const database = await openDatabase()
  return { feed: new MongoFeed(database, () => Date.now() + aheadMs), database }
}

async function held(feed: MongoFeed, holder: string, forMs = LONG_MS): Promise<HeldReader> {
  const reader = await feed.holdReader('reader', holder, forMs)
  expect(reader).not.toBeNull()
  return reader as HeldReader
}

function countOf(number: number): StoredCount {
  return { id: 'count', series: 'series', starts_ms: 0, document: { number } }
}

function batchOf({ name, fence }: HeldReader, number: number) {
  return {
    reader: { name, fence },
    positions: { log: number },
    state: {},
    deliveries: [deliveryOf(number)],
    counts: [countOf(number)],
    nodes: [],
    checkpoints: [],
  }
}

/** Resolves with what is asked of a collection next, which waits until it is let go. */
function hold(database: Database, collection: 'counts' | 'readers', method: 'bulkWrite' | 'updateOne') {
  let letGo = () => {}
  const gate = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const asked = new Promise<void>((resolve) => {
    change(database, collection, (own) => ({
      [method]: async (...parameters: never[]) => {
        resolve()
        await gate
        return (own[method] as (...parameters: never[]) => unknown)(...parameters)
      },
    }))
  })
  return { asked, letGo: () => letGo() }
}

describe('a reader', () => {
  it('of a process that dies behind its positions has its counts when the next one holds it', async () => {
    const dying = await openFeed()
    const reader = await held(dying.feed, 'dying', 0)
    expect(await dying.feed.save(batchOf(reader, 1))).toBe(true)
    change(dying.database, 'counts', () => ({
      bulkWrite: () => Promise.reject(new StoreUnavailableError('It died.')),
    }))
    await expect(dying.feed.save(batchOf(reader, 2))).rejects.toThrow('It died.')
    const { feed } = await openFeed()
    expect(await feed.listCounts(SERIES, 10)).toEqual([countOf(1)])
    expect((await held(feed, 'next')).positions).toEqual({ log: 2 })
    expect(await feed.listCounts(SERIES, 10)).toEqual([countOf(2)])
  })

  it('has its counts when the same holder goes on behind a failure', async () => {
    const { feed, database } = await openFeed()
    const reader = await held(feed, 'holder')
    const own = database.counts
    change(database, 'counts', () => ({ bulkWrite: () => Promise.reject(new StoreUnavailableError('It is away.')) }))
    await expect(feed.save(batchOf(reader, 1))).rejects.toThrow('It is away.')
    Object.assign(database, { counts: own })
    expect(await held(feed, 'holder')).toEqual({ ...reader, positions: { log: 1 } })
    expect(await feed.listCounts(SERIES, 10)).toEqual([countOf(1)])
    expect(await feed.save(batchOf(reader, 2))).toBe(true)
    expect(await feed.listCounts(SERIES, 10)).toEqual([countOf(2)])
  })

  it('keeps the counts of its holder from one that was frozen before it wrote its own', async () => {
    const frozen = await openFeed()
    const reader = await held(frozen.feed, 'frozen', 0)
    const { asked, letGo } = hold(frozen.database, 'counts', 'bulkWrite')
    const saved = frozen.feed.save(batchOf(reader, 1))
    await asked
    const { feed } = await openFeed()
    const next = await held(feed, 'next')
    expect(next.positions).toEqual({ log: 1 })
    expect(await feed.save(batchOf(next, 2))).toBe(true)
    letGo()
    expect(await saved).toBe(true)
    expect(await feed.listCounts(SERIES, 10)).toEqual([countOf(2)])
    expect(await frozen.feed.save(batchOf(reader, 3))).toBe(false)
  })

  it('takes no save that comes through late, when a later one is there', async () => {
    const { feed, database } = await openFeed()
    const reader = await held(feed, 'holder')
    const own = database.readers as unknown as Collection<never>
    const sent: (() => Promise<{ matchedCount: number }>)[] = []
    change(database, 'readers', () => ({
      updateOne: (filter: never, update: never) => {
        sent.push(() => own.updateOne(filter, update))
        throw new StoreUnavailableError('There was no answer.')
      },
    }))
    await expect(feed.save(batchOf(reader, 1))).rejects.toThrow('There was no answer.')
    Object.assign(database, { readers: own })
    expect((await held(feed, 'holder')).positions).toBeNull()
    expect(await feed.save(batchOf(reader, 2))).toBe(true)
    expect(await sent[0]?.()).toMatchObject({ matchedCount: 0 })
    expect((await feed.findReader('reader'))?.positions).toEqual({ log: 2 })
  })

  it('is read again when a save comes through late that was given up', async () => {
    const { feed, database } = await openFeed()
    const reader = await held(feed, 'holder')
    const own = database.readers as unknown as Collection<never>
    let late = async () => {}
    change(database, 'readers', () => ({
      updateOne: (filter: never, update: never) => {
        late = async () => void (await own.updateOne(filter, update))
        throw new StoreUnavailableError('There was no answer.')
      },
    }))
    await expect(feed.save(batchOf(reader, 1))).rejects.toThrow('There was no answer.')
    Object.assign(database, { readers: own })
    expect((await held(feed, 'holder')).positions).toBeNull()
    await late()
    await expect(feed.save(batchOf(reader, 2))).rejects.toThrow('has to be read again')
    expect(await held(feed, 'holder')).toEqual({ ...reader, positions: { log: 1 } })
    expect(await feed.listCounts(SERIES, 10)).toEqual([countOf(1)])
    expect(await feed.save(batchOf(reader, 2))).toBe(true)
  })

  it('is saved once when the answer is lost', async () => {
    const { feed, database } = await openFeed()
    const reader = await held(feed, 'holder')
    const own = database.readers as unknown as Collection<never>
    change(database, 'readers', () => ({
      async updateOne(filter: never, update: never) {
        await own.updateOne(filter, update)
        // As the driver tells it when it has sent the command again.
        return { ...DONE, matchedCount: 0 }
      },
    }))
    expect(await feed.save(batchOf(reader, 1))).toBe(true)
    expect(await feed.findReader('reader')).toEqual({ positions: { log: 1 }, state: {} })
  })

  it('goes to a process whose clock says that the lease is over, and the one before writes nothing more', async () => {
    const [slow, ahead] = [await openFeed(), await openFeed(2 * LONG_MS)]
    const reader = await held(slow.feed, 'slow')
    const next = await held(ahead.feed, 'ahead')
    expect(next.fence).toBeGreaterThan(reader.fence)
    expect(await slow.feed.save(batchOf(reader, 1))).toBe(false)
    expect(await slow.feed.holdReader('reader', 'slow', LONG_MS)).toBeNull()
    expect(await ahead.feed.save(batchOf(next, 2))).toBe(true)
  })
})

describe('the ends of logs', () => {
  /** Puts a log there that nobody writes any more: it has no document. */
  async function putLog(database: Database, log: string, length: number): Promise<void> {
    const entry = { type: 'policy.created', actor: null, subject: '', agent_id: null, data: {}, leaf: '' } as const
    const at = '2026-11-21T10:00:00.000Z'
    const entries = [...Array(length).keys()].map((index) => ({ ...entry, id: `${log} ${index}`, log, index, at }))
    await database.insertNew(database.audit, entries.map(auditDocumentOf))
  }

  /** Counts what is asked of the audit log. */
  function countLooks(database: Database): () => number {
    let looks = 0
    change(database, 'audit', (own) => ({
      find: (...parameters: never[]) => {
        looks += 1
        return (own.find as (...parameters: never[]) => unknown)(...parameters)
      },
      findOne: (...parameters: never[]) => {
        looks += 1
        return (own.findOne as (...parameters: never[]) => unknown)(...parameters)
      },
    }))
    return () => {
      const before = looks
      looks = 0
      return before
    }
  }

  it.each([1, 2, 3, 63, 64, 65, 66, 127, 128, 129, 4095, 4096, 4097, 5000])(
    'are found of a log of %i entries that nobody writes any more',
    async (length) => {
      const { feed, database } = await openFeed()
      await putLog(database, 'log-', length)
      expect(await feed.listLogs()).toEqual([{ log: 'log-', next_index: length }])
    },
  )

  it('are found between those of logs whose names are like theirs', async () => {
    const { feed, database } = await openFeed()
    const logs = ['a', 'a-b', 'a-', 'a0', 'A', 'ab', '-', '_', '0', 'zz']
    for (const [i, log] of logs.entries()) await putLog(database, log, i + 1)
    const expected = logs
      .map((log, i) => ({ log, next_index: i + 1 }))
      .sort((one, other) => (one.log < other.log ? -1 : 1))
    expect(await feed.listLogs()).toEqual(expected)
  })

  it('cost as much for many entries as for few', async () => {
    const { feed, database } = await openFeed()
    await putLog(database, 'few', 10)
    const looks = countLooks(database)
    await feed.listLogs()
    const few = looks()
    await putLog(database, 'few', 6000)
    looks()
    const { feed: fresh, database: other } = await openFeed()
    const looksOfOther = countLooks(other)
    expect(await fresh.listLogs()).toEqual([{ log: 'few', next_index: 6000 }])
    expect(looksOfOther()).toBeLessThanOrEqual(few + 3)
    await fresh.listLogs()
    expect(looksOfOther()).toBeLessThanOrEqual(few)
  })

  it('are those of the last group that is whole, while a later entry is there already', async () => {
    const store = await openMongoStore({ url })
    const pen = await LogPen.of(store)
    await pen.commit({ kind: 'entry.only' }, { kind: 'entry.only' })
    const { feed, database } = await openFeed()
    const { log } = pen
    await database.logs.updateOne({ _id: log }, { $set: { start: 2, group: [{}, {}, {}] as never } })
    const [entry] = await store.readLog(log, 1, 1)
    for (const index of [3, 4]) await database.insertNew(database.audit, [auditDocumentOf({ ...entry!, index })])
    expect(await feed.listLogs()).toEqual([{ log, next_index: 2 }])
    // Of a log that is begun while they are looked for, too: its document was not there at first.
    const other = await openFeed()
    let looks = 0
    change(other.database, 'logs', (own) => ({
      find: (...parameters: never[]) => {
        const asked = looks === 0 ? [{ _id: 'no log' } as never] : parameters
        looks += 1
        return (own.find as (...parameters: never[]) => unknown)(...asked)
      },
    }))
    expect(await other.feed.listLogs()).toEqual([{ log, next_index: 2 }])
    await database.insertNew(database.audit, [auditDocumentOf({ ...entry!, index: 2 })])
    expect(await feed.listLogs()).toEqual([{ log, next_index: 5 }])
    await store.close()
  })
})

it('the feed that a thread opens for itself holds readers, saves, and ends by itself', async () => {
  const store = await openMongoStore({ url })
  const feed = await openMongoFeedStore({ url, nowMs: Date.now })
  const reader = (await feed.holdReader('reader', 'thread', LONG_MS)) as HeldReader
  expect(await store.feed.holdReader('reader', 'store', LONG_MS)).toBeNull()
  expect(await feed.save(batchOf(reader, 1))).toBe(true)
  expect(await store.feed.findReader('reader')).toEqual({ positions: { log: 1 }, state: {} })
  await feed.releaseReaders('thread')
  await feed.close()
  await expect(feed.listLogs()).rejects.toThrow(StoreUnavailableError)
  expect(await store.feed.holdReader('reader', 'store', LONG_MS)).not.toBeNull()
  await store.close()
})
