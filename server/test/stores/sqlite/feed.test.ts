import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FeedStore, HeldReader } from '#server/ports/store/feed'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { openSqliteFeed } from '#server/stores/sqlite/open-feed'
import { deliveryOf, LogPen } from '../../store-suite/index.js'

const entryOnly = { kind: 'entry.only' } as const
const LONG_MS = 600_000
/** Of the log when it is copied into the database. */
const FULL_BYTES = 16 * 1024 * 1024

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countersign-store-'))
})
afterEach(() => rmSync(dataDir, { recursive: true }))

function batchOf({ name, fence }: HeldReader, index: number, subject: string) {
  const delivery = deliveryOf(index)
  const deliveries = [{ ...delivery, event: { ...delivery.event, subject } }]
  return {
    reader: { name, fence },
    positions: { log: index },
    state: {},
    deliveries,
    counts: [],
    nodes: [],
    checkpoints: [],
  }
}

describe('a reader of the embedded store', () => {
  it('is free for the next process, for no other one lives beside it, and the fence rises all the same', async () => {
    const store = await openSqliteStore({ dataDir })
    const reader = (await store.readers.hold('reader', 'one', LONG_MS)) as HeldReader
    await store.close()
    const next = await openSqliteStore({ dataDir })
    const taken = (await next.readers.hold('reader', 'other', LONG_MS)) as HeldReader
    expect(taken.fence).toBeGreaterThan(reader.fence)
    expect(await next.readers.save(batchOf(reader, 1, ''))).toBe(false)
    await next.close()
  })

  it('is held by the time that the store was given, and for longer without a write', async () => {
    let nowMs = 0
    const store = await openSqliteStore({ dataDir, nowMs: () => nowMs })
    const reader = await store.readers.hold('reader', 'one', 100)
    const sizes = new Set<number>()
    for (nowMs = 99; nowMs < 990; nowMs += 99) {
      expect(await store.readers.hold('reader', 'other', 100)).toBeNull()
      expect(await store.readers.hold('reader', 'one', 100)).toEqual(reader)
      sizes.add(statSync(join(dataDir, 'countersign.db-wal')).size)
    }
    expect(sizes.size).toBe(1)
    nowMs += 100
    expect(await store.readers.hold('reader', 'other', 100)).not.toBeNull()
    expect(await store.readers.hold('reader', 'one', 100)).toBeNull()
    await store.close()
  })
})

describe('what the feed reads in another thread', () => {
  /** The thread, and a read of it. */
  async function startThread() {
    const thread = new Worker(new URL('processes/feed-reader.mjs', import.meta.url), {
      workerData: dataDir,
      execArgv: [],
    })
    const ask = async (role: keyof FeedStore, ...call: readonly unknown[]) => {
      thread.postMessage([role, ...call])
      return (await once(thread, 'message'))[0]
    }
    return { thread, ask }
  }

  it('is what is durable, while the store writes and copies its log, whichever is closed first', async () => {
    for (const isThreadFirst of [true, false]) {
      const store = await openSqliteStore({ dataDir })
      const pen = await LogPen.of(store)
      const { thread, ask } = await startThread()
      const reader = (await store.readers.hold('reader', 'holder', LONG_MS)) as HeldReader
      const [end] = await store.audit.listLogs()
      const start = end?.next_index ?? 0
      // So much that the log is copied more than once.
      for (let index = start; index < start + 20; index += 1) {
        const commit = pen.commit({ change: entryOnly, entry: { data: { text: '.'.repeat(FULL_BYTES / 8) } } })
        expect(await ask('readers', 'get', 'another')).toBeNull()
        await commit
        expect(await ask('audit', 'listLogs')).toEqual([{ log: pen.log, next_index: index + 1 }])
        expect(await store.readers.save(batchOf(reader, index, '.'.repeat(1000)))).toBe(true)
        expect(await ask('readers', 'get', 'reader')).toEqual({ positions: { log: index }, state: {} })
        expect(await ask('deliveries', 'get', deliveryOf(index).id)).toMatchObject({ status: 'pending' })
      }
      const ended = once(thread, 'exit')
      if (isThreadFirst) await ask('close')
      await store.close()
      if (!isThreadFirst) {
        expect(await ask('audit', 'listLogs')).toEqual([{ log: pen.log, next_index: start + 20 }])
        await ask('close')
      }
      await ended
    }
    const store = await openSqliteStore({ dataDir })
    expect((await store.audit.listLogs())[0]?.next_index).toBe(40)
    await store.close()
  }, 30_000)

  it('fails alone when its writes are wrong, and is undone', async () => {
    const store = await openSqliteStore({ dataDir })
    const pen = await LogPen.of(store)
    let connections = 0
    const feed = openSqliteFeed(dataDir, () => {
      connections += 1
      return store.connectWriter()
    })
    const reader = (await feed.readers.hold('reader', 'holder', LONG_MS)) as HeldReader
    const good = batchOf(reader, 0, '')
    const wrong = { ...good, deliveries: [{ ...good.deliveries[0], webhook_id: true } as never] }
    await expect(feed.readers.save(wrong)).rejects.toThrow(
      'The store has undone the writes: A boolean is not an SQL value.',
    )
    expect(await feed.readers.get('reader')).toBeNull()
    await pen.commit({ change: entryOnly })
    expect(await feed.readers.save(good)).toBe(true)
    expect(connections).toBe(1)
    await feed.close()
    await store.close()
  })

  it('is refused where no store is', () => {
    expect(() => openSqliteFeed(join(dataDir, 'nowhere'), () => Promise.reject(new Error('Nobody writes.')))).toThrow(
      'The store could not read.',
    )
  })
})
