/** What becomes of the feed when a process dies, freezes or writes late, and what the ends of logs cost. */
import { randomBytes } from 'node:crypto'
import type { Collection } from 'mongodb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { HeldReader, StoredCount } from '#server/ports/store/feed'
import { auditDocumentOf } from '#server/stores/mongodb/collections/audit'
import { Database } from '#server/stores/mongodb/connection/database'
import { MongoFeedStore } from '#server/stores/mongodb/feed-store'
import { openMongoStore } from '#server/stores/mongodb/open'
import { openMongoFeedStore } from '#server/stores/mongodb/open-feed'
import { deliveryOf, LogPen } from '../../store-suite/index.js'
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
async function openFeed(aheadMs = 0): Promise<{ feed: MongoFeedStore; database: Database }> {
  const database = await openDatabase()
  return { feed: new MongoFeedStore(database, () => Date.now() + aheadMs), database }
}

async function held(feed: MongoFeedStore, holder: string, forMs = LONG_MS, name = 'reader'): Promise<HeldReader> {
  const reader = await feed.readers.hold(name, holder, forMs)
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
    expect(await dying.feed.readers.save(batchOf(reader, 1))).toBe(true)
    change(dying.database, 'counts', () => ({
      bulkWrite: () => Promise.reject(new StoreUnavailableError('It died.')),
    }))
    await expect(dying.feed.readers.save(batchOf(reader, 2))).rejects.toThrow('It died.')
    const { feed } = await openFeed()
    expect(await feed.counts.list(SERIES, 10)).toEqual([countOf(1)])
    expect((await held(feed, 'next')).positions).toEqual({ log: 2 })
    expect(await feed.counts.list(SERIES, 10)).toEqual([countOf(2)])
  })

  it('has its counts when the same holder goes on behind a failure', async () => {
    const { feed, database } = await openFeed()
    const reader = await held(feed, 'holder')
    const own = database.counts
    change(database, 'counts', () => ({ bulkWrite: () => Promise.reject(new StoreUnavailableError('It is away.')) }))
    await expect(feed.readers.save(batchOf(reader, 1))).rejects.toThrow('It is away.')
    Object.assign(database, { counts: own })
    expect(await held(feed, 'holder')).toEqual({ ...reader, positions: { log: 1 } })
    expect(await feed.counts.list(SERIES, 10)).toEqual([countOf(1)])
    expect(await feed.readers.save(batchOf(reader, 2))).toBe(true)
    expect(await feed.counts.list(SERIES, 10)).toEqual([countOf(2)])
  })

  it('keeps the counts of its holder from one that was frozen before it wrote its own', async () => {
    const frozen = await openFeed()
    const reader = await held(frozen.feed, 'frozen', 0)
    const { asked, letGo } = hold(frozen.database, 'counts', 'bulkWrite')
    const saved = frozen.feed.readers.save(batchOf(reader, 1))
    await asked
    const { feed } = await openFeed()
    const next = await held(feed, 'next')
    expect(next.positions).toEqual({ log: 1 })
    expect(await feed.readers.save(batchOf(next, 2))).toBe(true)
    letGo()
    expect(await saved).toBe(true)
    expect(await feed.counts.list(SERIES, 10)).toEqual([countOf(2)])
    expect(await frozen.feed.readers.save(batchOf(reader, 3))).toBe(false)
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
    await expect(feed.readers.save(batchOf(reader, 1))).rejects.toThrow('There was no answer.')
    Object.assign(database, { readers: own })
    expect((await held(feed, 'holder')).positions).toBeNull()
    expect(await feed.readers.save(batchOf(reader, 2))).toBe(true)
    expect(await sent[0]?.()).toMatchObject({ matchedCount: 0 })
    expect((await feed.readers.get('reader'))?.positions).toEqual({ log: 2 })
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
    await expect(feed.readers.save(batchOf(reader, 1))).rejects.toThrow('There was no answer.')
    Object.assign(database, { readers: own })
    expect((await held(feed, 'holder')).positions).toBeNull()
    await late()
    await expect(feed.readers.save(batchOf(reader, 2))).rejects.toThrow('must be read again')
    expect(await held(feed, 'holder')).toEqual({ ...reader, positions: { log: 1 } })
    expect(await feed.counts.list(SERIES, 10)).toEqual([countOf(1)])
    expect(await feed.readers.save(batchOf(reader, 2))).toBe(true)
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
    expect(await feed.readers.save(batchOf(reader, 1))).toBe(true)
    expect(await feed.readers.get('reader')).toEqual({ positions: { log: 1 }, state: {} })
  })

  it('goes to a process whose clock says that the lease is over, and the one before writes nothing more', async () => {
    const [slow, ahead] = [await openFeed(), await openFeed(2 * LONG_MS)]
    const reader = await held(slow.feed, 'slow')
    const next = await held(ahead.feed, 'ahead')
    expect(next.fence).toBeGreaterThan(reader.fence)
    expect(await slow.feed.readers.save(batchOf(reader, 1))).toBe(false)
    expect(await slow.feed.readers.hold('reader', 'slow', LONG_MS)).toBeNull()
    expect(await ahead.feed.readers.save(batchOf(next, 2))).toBe(true)
  })
})

describe('the nodes and checkpoints of a save', () => {
  const nodeAt = (index: number, tree = 'log/a') => ({ tree, level: 8, index, hash: `${tree}-${index}` })
  const checkpointAt = (index: number) => ({
    index,
    log: 'a',
    size: index + 1,
    created_at: 'now',
    note: `note ${index}`,
  })
  const treesOf = (reader: HeldReader, number: number, nodes = [nodeAt(number)]) => ({
    ...batchOf(reader, number),
    ...{ counts: [], deliveries: [], nodes, checkpoints: [checkpointAt(number)] },
  })
  const places = [0, 1, 2].map((index) => ({ level: 8, index }))

  /** A process that has saved twice, and died before the second save had followed to its collections. */
  async function savedAndDied() {
    const dying = await openFeed()
    const reader = await held(dying.feed, 'dying', 0, 'trees')
    expect(await dying.feed.readers.save(treesOf(reader, 0))).toBe(true)
    change(dying.database, 'treeNodes', () => ({
      insertMany: () => Promise.reject(new StoreUnavailableError('It died.')),
    }))
    await expect(dying.feed.readers.save(treesOf(reader, 1, [nodeAt(1), nodeAt(1, 'root')]))).rejects.toThrow(
      'It died.',
    )
  }

  it('are found before they have followed to where they belong, and afterwards', async () => {
    await savedAndDied()
    const { feed, database } = await openFeed()
    const stored = async () => [await database.treeNodes.countDocuments(), await database.checkpoints.countDocuments()]
    expect(await stored()).toEqual([1, 1])
    const expectAll = async () => {
      expect(await feed.trees.getNodes('log/a', places)).toStrictEqual([nodeAt(0), nodeAt(1)])
      expect(await feed.trees.getNodes('root', places)).toStrictEqual([nodeAt(1, 'root')])
      expect(await feed.trees.getNodes('log', places)).toEqual([])
      expect(await feed.trees.listCheckpoints(0, 10)).toStrictEqual([checkpointAt(0), checkpointAt(1)])
      for (const index of [0, 1])
        expect(await feed.trees.listCheckpoints(index, 1)).toStrictEqual([checkpointAt(index)])
      expect(await feed.trees.listCheckpoints(2, 1)).toEqual([])
    }
    await expectAll()
    await held(feed, 'next', LONG_MS, 'trees')
    expect(await stored()).toEqual([3, 2])
    await expectAll()
  })

  it.each<[string, (feed: MongoFeedStore) => Promise<unknown>, unknown]>([
    ['nodes', (feed) => feed.trees.getNodes('log/a', places), [nodeAt(0), nodeAt(1), nodeAt(2)]],
    ['checkpoints', (feed) => feed.trees.listCheckpoints(0, 10), [0, 1, 2].map(checkpointAt)],
  ])('are found while the next save takes their place: %s', async (_what, read, expected) => {
    await savedAndDied()
    const { feed, database } = await openFeed()
    const next = await openFeed()
    change<{ _id: string }>(database, 'readers', (own) => ({
      // Between the look at the collections and the one at the last save.
      findOne: async (filter: never, options: never) => {
        await next.feed.readers.save(treesOf(await held(next.feed, 'next', LONG_MS, 'trees'), 2))
        return own.findOne(filter, options)
      },
    }))
    expect(await read(feed)).toStrictEqual(expected)
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
      expect(await feed.audit.listLogs()).toEqual([{ log: 'log-', next_index: length }])
    },
  )

  it('are found between those of logs whose names are like theirs', async () => {
    const { feed, database } = await openFeed()
    const logs = ['a', 'a-b', 'a-', 'a0', 'A', 'ab', '-', '_', '0', 'zz']
    for (const [i, log] of logs.entries()) await putLog(database, log, i + 1)
    const expected = logs
      .map((log, i) => ({ log, next_index: i + 1 }))
      .sort((one, other) => (one.log < other.log ? -1 : 1))
    expect(await feed.audit.listLogs()).toEqual(expected)
  })

  it('cost as much for many entries as for few', async () => {
    const { feed, database } = await openFeed()
    await putLog(database, 'few', 10)
    const looks = countLooks(database)
    await feed.audit.listLogs()
    const few = looks()
    await putLog(database, 'few', 6000)
    looks()
    const { feed: fresh, database: other } = await openFeed()
    const looksOfOther = countLooks(other)
    expect(await fresh.audit.listLogs()).toEqual([{ log: 'few', next_index: 6000 }])
    expect(looksOfOther()).toBeLessThanOrEqual(few + 3)
    await fresh.audit.listLogs()
    expect(looksOfOther()).toBeLessThanOrEqual(few)
  })

  it('come after the last entry, also where somebody edited what a log says of itself', async () => {
    const { feed, database } = await openFeed()
    await putLog(database, 'log', 150)
    for (const start of [0, 3, 149]) {
      const edited = { epoch: 1, rev: 1, holder: null, until_ms: 0, start, group: [], announced: {}, underway: [] }
      await database.logs.replaceOne({ _id: 'log' }, edited as never, { upsert: true })
      expect(await feed.audit.listLogs()).toEqual([{ log: 'log', next_index: 150 }])
    }
  })

  it('are those of the last group that is whole, while a later entry is there already', async () => {
    const store = await openMongoStore({ url })
    const pen = await LogPen.of(store)
    await pen.commit({ kind: 'entry.only' }, { kind: 'entry.only' })
    const { feed, database } = await openFeed()
    const { log } = pen
    await database.logs.updateOne({ _id: log }, { $set: { start: 2, group: [{}, {}, {}] as never } })
    const [entry] = await store.audit.read(log, 1, 1)
    for (const index of [3, 4]) await database.insertNew(database.audit, [auditDocumentOf({ ...entry!, index })])
    expect(await feed.audit.listLogs()).toEqual([{ log, next_index: 2 }])
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
    expect(await other.feed.audit.listLogs()).toEqual([{ log, next_index: 2 }])
    await database.insertNew(database.audit, [auditDocumentOf({ ...entry!, index: 2 })])
    expect(await feed.audit.listLogs()).toEqual([{ log, next_index: 5 }])
    await store.close()
  })
})

it('the feed that a thread opens for itself holds readers, saves, and ends by itself', async () => {
  const store = await openMongoStore({ url })
  const feed = await openMongoFeedStore({ url, nowMs: Date.now })
  const reader = (await feed.readers.hold('reader', 'thread', LONG_MS)) as HeldReader
  expect(await store.readers.hold('reader', 'store', LONG_MS)).toBeNull()
  expect(await feed.readers.save(batchOf(reader, 1))).toBe(true)
  expect(await store.readers.get('reader')).toEqual({ positions: { log: 1 }, state: {} })
  await feed.readers.release('thread')
  await feed.close()
  await expect(feed.audit.listLogs()).rejects.toThrow(StoreUnavailableError)
  expect(await store.readers.hold('reader', 'store', LONG_MS)).not.toBeNull()
  await store.close()
})
