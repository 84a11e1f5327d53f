/** Readers of the logs get each entry once and in order, whatever of it is in memory, and never one that is not durable. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditEntry } from '@countersign/contract'
import { drawsOf, SEED, seededRandom } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NewsDesk } from '#server/feed/news'
import { RecentEntries, type RecentEntriesOptions, readingFrom } from '#server/feed/recent-entries'
import { DeliveryReader } from '#server/feed/webhooks/delivery-reader'
import { EventSource } from '#server/feed/webhooks/event-source'
import { MutationWriter } from '#server/mutation-writer'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { FeedStore, Positions } from '#server/ports/store/feed'
import type { CommitResult, Store } from '#server/ports/store/store'
import { Connection } from '#server/stores/sqlite/driver'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { readLogs } from '#server/use-cases/audit/log-reader'
import { FROZEN } from '../running-server.js'
import { idOf, webhookOf } from '../store-suite/index.js'
import { withCalls } from '../with-calls.js'

const ENTRY = { at: FROZEN.toISOString(), type: 'signing_key.created', subject: 'x' } as const

let dir: string
let store: Store
let writer: MutationWriter
let desk: NewsDesk
let recent: RecentEntries
/** Reads of entries from the store. */
let reads: { readonly from: number; readonly found: number }[]
let nowMs: number
let ids: number
/** What becomes of the next commit. */
let commitEnds: 'as it should' | 'unwritten' | 'unanswered'
/** Whether the news get lost, as when the thread of the feed ends. */
let losesNews: boolean
/** Until when the answer of the store to where its logs end is on its way. */
let endsArrive: Promise<void>

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'recent-'))
  store = await openSqliteStore({ dataDir: dir })
  nowMs = 0
  ids = 0
  commitEnds = 'as it should'
  losesNews = false
  endsArrive = Promise.resolve()
  writer = new MutationWriter(
    { openLog: () => store.openLog(), commit },
    { next: (prefix) => `${prefix}_${String(ids++).padStart(26, '0')}` },
    null,
  )
  desk = new NewsDesk({
    send: (news) => {
      if (!losesNews) recent.learn(news)
    },
    hasArrived: () => true,
    nowMs: () => nowMs,
  })
  writer.onEntries = (entries) => desk.written(entries)
  start()
})
afterEach(async () => {
  desk.stop()
  await store.close()
  rmSync(dir, { recursive: true })
})

let feed: FeedStore
/** A feed that knows nothing yet. */
function start(options: Partial<RecentEntriesOptions> = {}): void {
  reads = []
  const counted: FeedStore = withCalls<Store>(store, (name, perform, [, from]) => {
    const result = perform()
    if (name === 'audit.listLogs') return endsArrive.then(() => result)
    if (name === 'audit.read')
      void (result as Promise<AuditEntry[]>).then(({ length }) => reads.push({ from: from as number, found: length }))
    return result
  })
  recent = new RecentEntries(counted, { isShared: false, monotonicMs: () => nowMs, ...options })
  feed = readingFrom(recent, counted)
}

const commit: Store['commit'] = async (mutations): Promise<CommitResult> => {
  const ends = commitEnds
  commitEnds = 'as it should'
  if (ends === 'unwritten') throw new StoreUnavailableError('Not written.')
  const result = await store.commit(mutations)
  if (ends === 'unanswered') throw new StoreUnavailableError('No answer came.')
  return result
}

const write = (count: number, data: object = {}) =>
  Promise.all(Array.from({ length: count }, () => writer.writeEntry({ ...ENTRY, data: { ...data } }).catch(() => {})))

/** A reader at the end of what it has read. */
class OneReader {
  readonly entries: AuditEntry[] = []
  #positions: Positions = {}

  /** Reads a page. */
  async read(limit: number): Promise<number> {
    const { entries, positions } = await readLogs(feed, this.#positions, limit)
    this.entries.push(...entries)
    this.#positions = positions
    return entries.length
  }

  async readToEnd(): Promise<void> {
    while ((await this.read(100)) > 0);
  }
}

/** A reader at the end of a log with this many entries. */
async function readerBehind(count: number): Promise<OneReader> {
  const reader = new OneReader()
  await write(count)
  await tell(reader)
  return reader
}

/** Tells the feed everything that was written, and lets a reader read it. */
async function tell(reader: OneReader): Promise<void> {
  desk.flush()
  await reader.readToEnd()
}

async function stored(): Promise<readonly AuditEntry[]> {
  const { log } = await store.openLog()
  return store.audit.read(log, 0, 1_000_000)
}

describe('a reader that keeps up', () => {
  it('reads nothing from the store, and neither does another one', async () => {
    const readers = [new OneReader(), new OneReader(), new OneReader()]
    await write(3)
    desk.flush()
    for (const reader of readers) await reader.readToEnd()
    reads.length = 0
    for (let round = 0; round < 50; round += 1) {
      await write(7)
      desk.flush()
      for (const reader of readers) await reader.readToEnd()
      nowMs += 100
    }
    expect(reads).toEqual([])
    const all = await stored()
    expect(all).toHaveLength(353)
    for (const { entries } of readers) expect(entries).toEqual(all)
  })

  it('does not read from the store what it is about to be told, though the store has it', async () => {
    const reader = await readerBehind(3)
    reads.length = 0
    for (let round = 0; round < 5; round += 1) {
      await write(7)
      nowMs += 1000
      // Several readers ask at the same time where the log ends.
      await Promise.all([recent.listLogs(), reader.readToEnd(), recent.listLogs()])
      await tell(reader)
    }
    expect(reads).toEqual([])
    expect(reader.entries).toEqual(await stored())
  })
})

describe('news that get lost', () => {
  it('are made up for when the store was asked twice where the log ends', async () => {
    const reader = await readerBehind(3)
    losesNews = true
    await write(2)
    desk.flush()
    for (let look = 0; look < 2; look += 1) {
      expect(reader.entries).toHaveLength(3)
      nowMs += 1000
      await reader.readToEnd()
    }
    expect(reader.entries).toEqual(await stored())
  })
})

describe('a reader that falls behind', () => {
  it('gets what is no longer in memory from the store, and then goes on from memory', async () => {
    start({ limits: { entries: 20, bytes: 1e9 } })
    const reader = await readerBehind(1)
    for (let round = 0; round < 10; round += 1) {
      await write(10)
      desk.flush()
    }
    reads.length = 0
    await reader.readToEnd()
    expect(reads.length).toBeGreaterThan(0)
    expect(reader.entries).toEqual(await stored())
    reads.length = 0
    await write(20)
    await tell(reader)
    expect(reads).toEqual([])
    expect(reader.entries).toEqual(await stored())
  })

  it('finds in memory no more bytes than allowed, and no page is larger than asked for', async () => {
    start({ limits: { entries: 1000, bytes: 10_000 } })
    const reader = await readerBehind(1)
    await write(100, { text: 'é'.repeat(400) })
    desk.flush()
    reads.length = 0
    const [{ log = '', next_index = 0 } = {}] = await recent.listLogs()
    // Each has a little more than 1,000 bytes.
    expect(await recent.read(log, next_index - 8, 100)).toHaveLength(8)
    expect(await recent.read(log, next_index - 8, 3)).toHaveLength(3)
    expect(await recent.read(log, next_index - 8, 100, 5000)).toHaveLength(4)
    expect(await recent.read(log, next_index - 8, 100, 10)).toHaveLength(1)
    expect(reads).toEqual([])
    await recent.read(log, next_index - 11, 1)
    expect(reads).toHaveLength(1)
    await reader.readToEnd()
    expect(reader.entries).toEqual(await stored())
  })
})

describe('entries that somebody changes or removes in the store', () => {
  /** Changes the store as another program does. */
  function change(sql: string, ...values: readonly (string | number)[]): void {
    const db = Connection.open(join(dir, 'countersign.db'))
    db.execute('PRAGMA busy_timeout = 5000')
    expect(db.run(sql, ...values)).toBe(1)
    db.close()
  }

  it('are as in the store once what is in memory was forgotten', async () => {
    await readerBehind(3)
    const [{ log = '' } = {}] = await recent.listLogs()
    change("UPDATE audit_entries SET document = json_set(document, '$.data.text', 'changed') WHERE log_index = ?", 1)
    expect((await recent.read(log, 1, 1))[0]?.data).toEqual({})
    recent.forget()
    expect((await recent.read(log, 1, 1))[0]?.data).toEqual({ text: 'changed' })
    await write(2)
    desk.flush()
    const reader = new OneReader()
    await reader.readToEnd()
    expect(reader.entries).toEqual(await stored())
  })

  it('are missed at the next look when the last one is gone', async () => {
    await readerBehind(3)
    const [{ log = '' } = {}] = await recent.listLogs()
    change('DELETE FROM audit_entries WHERE log_index = ?', 2)
    nowMs += 1000
    expect(await recent.listLogs()).toEqual([{ log, next_index: 2 }])
    expect(await recent.read(log, 0, 10)).toEqual(await store.audit.read(log, 0, 10))
  })
})

describe('a replay that begins while entries are on their way', () => {
  it('ends after them', async () => {
    await readerBehind(3)
    await write(5)
    const [since, until] = [FROZEN, new Date(FROZEN.getTime() + 1000)].map((at) => at.toISOString()) as [string, string]
    const name = `replay/${idOf('whk', 1)}/1`
    const { fence = 0 } = (await store.readers.hold(name, 'a holder', 1000)) ?? {}
    const nothing = { deliveries: [], counts: [], nodes: [], checkpoints: [] }
    await store.readers.save({ ...nothing, reader: { name, fence }, positions: {}, state: { since, until } })
    const deps = {
      holder: 'a holder',
      monotonicMs: () => nowMs,
      clock: { now: () => new Date(FROZEN.getTime() + nowMs) },
    }
    const source = new EventSource(feed)
    const replay = new DeliveryReader({ ...deps, store: feed, checked: store, source }, name, { since, until })
    expect(await replay.hold()).toBe(true)
    await replay.read(() => webhookOf(1), 100)
    expect(replay.isDone).toBe(false)
    desk.flush()
    source.beginTurn()
    nowMs += 10_000
    await replay.read(() => webhookOf(1), 100)
    expect(replay.isDone).toBe(true)
    expect((await store.readers.get(name))?.positions).toEqual({ [(await store.openLog()).log]: 8 })
  })
})

describe('an entry whose write failed', () => {
  it('is read if it became durable, and another one never', async () => {
    const reader = await readerBehind(2)
    commitEnds = 'unwritten'
    await write(1, { lost: true })
    await tell(reader)
    expect(reader.entries).toHaveLength(2)
    commitEnds = 'unanswered'
    await write(1, { late: true })
    await tell(reader)
    expect(reader.entries.map(({ data }) => data)).toEqual([{}, {}, { late: true }])
    await write(2)
    await tell(reader)
    expect(reader.entries).toEqual(await stored())
  })
})

describe('a write that fails while the store is asked where its logs end', () => {
  it('makes the answer count for nothing later', async () => {
    const reader = await readerBehind(2)
    nowMs += 1000
    let arrive = () => {}
    endsArrive = new Promise((resolve) => {
      arrive = resolve
    })
    const reading = reader.readToEnd()
    commitEnds = 'unanswered'
    await write(1)
    desk.flush()
    arrive()
    await reading
    await reader.readToEnd()
    expect(reader.entries).toHaveLength(3)
  })
})

describe('on a store that others write to', () => {
  it('the store says where the logs end, and entries of this process still come from memory', async () => {
    start({ isShared: true })
    const reader = new OneReader()
    await write(2)
    await reader.readToEnd()
    expect(reader.entries).toHaveLength(2)
    desk.flush()
    await write(5)
    desk.flush()
    reads.length = 0
    await reader.readToEnd()
    expect(reads).toEqual([])
    // Another process writes to its own log; here it is this one without telling.
    losesNews = true
    await write(3)
    await tell(reader)
    expect(reader.entries).toEqual(await stored())
  })
})

describe(`random writes, failures, lost news and restarts (seed ${SEED})`, () => {
  it('give every reader each durable entry once and in order', async () => {
    const random = seededRandom(SEED)
    const below = (end: number) => Math.floor(random() * end)
    for (let draw = 0; draw < drawsOf(10); draw += 1) {
      const limits = { entries: 1 + below(30), bytes: 500 + below(20_000) }
      const isShared = random() < 0.3
      start({ limits, isShared })
      const readers = [new OneReader(), new OneReader()]
      for (let step = 0; step < 60; step += 1) {
        const one = random()
        if (one < 0.1) commitEnds = random() < 0.5 ? 'unwritten' : 'unanswered'
        await write(below(8), random() < 0.2 ? { text: 'x'.repeat(below(3000)) } : {})
        losesNews = random() < 0.1
        if (random() < 0.6) desk.flush()
        losesNews = false
        if (random() < 0.05) start({ limits, isShared })
        for (const reader of readers) if (random() < 0.5) await reader.read(1 + below(10))
        nowMs += below(500)
      }
      desk.flush()
      // News that were lost are noticed when the store is asked for the second time.
      for (let look = 0; look < 3; look += 1) {
        for (const reader of readers) await reader.readToEnd()
        nowMs += 1000
      }
      const all = await stored()
      for (const { entries } of readers) expect(entries).toEqual(all)
    }
  })
})
