import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { FeedReads, HeldReader } from '@countersign/store-port/feed'
import { deliveryOf, LogPen } from '@countersign/testkit/store-suite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteStore } from '#store-sqlite/open'
import { openSqliteFeed } from '#store-sqlite/open-feed'

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
    const reader = (await store.feed.holdReader('reader', 'one', LONG_MS)) as HeldReader
    await store.close()
    const next = await openSqliteStore({ dataDir })
    const taken = (await next.feed.holdReader('reader', 'other', LONG_MS)) as HeldReader
    expect(taken.fence).toBeGreaterThan(reader.fence)
    expect(await next.feed.save(batchOf(reader, 1, ''))).toBe(false)
    await next.close()
  })

  it('is held by the time that the store was given, and for longer without a write', async () => {
    let nowMs = 0
    const store = await openSqliteStore({ dataDir, nowMs: () => nowMs })
    const reader = await store.feed.holdReader('reader', 'one', 100)
    const sizes = new Set<number>()
    for (nowMs = 99; nowMs < 990; nowMs += 99) {
      expect(await store.feed.holdReader('reader', 'other', 100)).toBeNull()
      expect(await store.feed.holdReader('reader', 'one', 100)).toEqual(reader)
      sizes.add(statSync(join(dataDir, 'countersign.db-wal')).size)
    }
    expect(sizes.size).toBe(1)
    nowMs += 100
    expect(await store.feed.holdReader('reader', 'other', 100)).not.toBeNull()
    expect(await store.feed.holdReader('reader', 'one', 100)).toBeNull()
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
    const ask = async (name: keyof FeedReads | 'close', ...parameters: readonly unknown[]) => {
      thread.postMessage([name, ...parameters])
      return (await once(thread, 'message'))[0]
    }
    return { thread, ask }
  }

  it('is what is durable, while the store writes and copies its log, and whoever is closed first', async () => {
    for (const isThreadFirst of [true, false]) {
      const store = await openSqliteStore({ dataDir })
      const pen = await LogPen.of(store)
      const { thread, ask } = await startThread()
      const reader = (await store.feed.holdReader('reader', 'holder', LONG_MS)) as HeldReader
      const [end] = await store.feed.listLogs()
      const start = end?.next_index ?? 0
      // So much that the log is copied more than once.
      for (let index = start; index < start + 20; index += 1) {
        const commit = pen.commit({ change: entryOnly, entry: { data: { text: '.'.repeat(FULL_BYTES / 8) } } })
        expect(await ask('findReader', 'another')).toBeNull()
        await commit
        expect(await ask('listLogs')).toEqual([{ log: pen.log, next_index: index + 1 }])
        expect(await store.feed.save(batchOf(reader, index, '.'.repeat(1000)))).toBe(true)
        expect(await ask('findReader', 'reader')).toEqual({ positions: { log: index }, state: {} })
        expect(await ask('findDelivery', deliveryOf(index).id)).toMatchObject({ status: 'pending' })
      }
      const ended = once(thread, 'exit')
      if (isThreadFirst) await ask('close')
      await store.close()
      if (!isThreadFirst) {
        expect(await ask('listLogs')).toEqual([{ log: pen.log, next_index: start + 20 }])
        await ask('close')
      }
      await ended
    }
    const store = await openSqliteStore({ dataDir })
    expect((await store.feed.listLogs())[0]?.next_index).toBe(40)
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
    const reader = (await feed.holdReader('reader', 'holder', LONG_MS)) as HeldReader
    const good = batchOf(reader, 0, '')
    const wrong = { ...good, deliveries: [{ ...good.deliveries[0], webhook_id: true } as never] }
    await expect(feed.save(wrong)).rejects.toThrow('The store has undone the writes: A boolean is not an SQL value.')
    expect(await feed.findReader('reader')).toBeNull()
    await pen.commit({ change: entryOnly })
    expect(await feed.save(good)).toBe(true)
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
