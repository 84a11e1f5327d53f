/** The trees go on from what is stored, whatever crashes and whoever goes on. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leafHashOfText, MerkleTree, parseCheckpoint, parseNote, verifyConsistency } from '@countersign/audit-log'
import type { FeedBatch } from '@countersign/store-port/feed'
import { type Store, StoreUnavailableError } from '@countersign/store-port/store'
import { openSqliteStore } from '@countersign/store-sqlite/open'
import { LogPen } from '@countersign/testkit/store-suite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Trees, type TreesDeps } from '#server/feed/trees/trees'
import { proveConsistency, readTrees } from '#server/use-cases/audit/checkpoints'
import { hashOf, type SignedCheckpoint, textOf } from '#server/use-cases/audit/trees'
import { FROZEN } from '../../running-server.js'

const change = { kind: 'entry.only' } as const

let dir: string
let store: Store
let pen: LogPen
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'trees-'))
  store = await openSqliteStore({ dataDir: dir })
  pen = await LogPen.of(store)
})
afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true })
})

let leaves = 0
const newLeaf = () => textOf(leafHashOfText(String(leaves++)))
const write = (count: number) =>
  pen.commit(...Array.from({ length: count }, () => ({ change, entry: { leaf: newLeaf() } })))

/** The trees as a process keeps them. The time at which it renews its hold never comes. */
function process(holder: string, over: Partial<FeedDouble> = {}): Trees {
  const feed = { ...bound(), ...over }
  const sign = async () => ({ publicKey: 'A'.repeat(43), signature: 'A'.repeat(86) })
  const clock = { now: () => FROZEN } as TreesDeps['clock']
  return new Trees({ store: feed, holder, monotonicMs: () => 0, clock, issuer: 'https://decide.example', sign })
}

type FeedDouble = TreesDeps['store']

function bound(): FeedDouble {
  const { feed } = store
  return {
    listLogs: () => feed.listLogs(),
    readLog: (...asked) => feed.readLog(...asked),
    holdReader: (...asked) => feed.holdReader(...asked),
    save: (batch) => feed.save(batch),
  }
}

async function rootCheckpoint(): Promise<SignedCheckpoint> {
  return (await readTrees(store.feed)).root.checkpoint as SignedCheckpoint
}

/** The root log is made of the stored checkpoints, and those of one log are of the beginnings of one tree. */
async function expectSound(size: number): Promise<void> {
  const stored = await store.feed.listCheckpoints(0, 1000)
  const root = new MerkleTree()
  const own = new MerkleTree()
  const entries = await store.feed.readLog(pen.log, 0, size)
  for (const [i, checkpoint] of stored.entries()) {
    expect(checkpoint.index).toBe(i)
    root.append(leafHashOfText(checkpoint.note))
    while (own.size < checkpoint.size) own.append(hashOf(entries[own.size]?.leaf as string))
    expect(parseCheckpoint(parseNote(checkpoint.note).text)).toMatchObject({ size: own.size, root: own.root() })
  }
  expect(own.size).toBe(size)
  const { note } = await rootCheckpoint()
  expect(parseCheckpoint(parseNote(note).text)).toEqual({
    origin: 'decide.example/root',
    size: stored.length,
    root: root.root(),
  })
}

describe('the trees', () => {
  it('are kept by the next process when their holder was frozen, whose late save counts for nothing', async () => {
    const frozen = process('a')
    await write(3)
    await frozen.catchUp()
    await write(2)
    await store.feed.releaseReaders('a')
    const next = process('b')
    await next.catchUp()
    await write(4)
    await frozen.catchUp()
    expect((await readTrees(store.feed)).logs[pen.log]?.checkpoint?.size).toBe(5)
    await next.catchUp()
    await expectSound(9)
  })

  it.each([true, false])('go on behind a save that failed, durable or not (%s)', async (isDurable) => {
    let fails = false
    const trees = process('a', {
      async save(batch: FeedBatch) {
        if (!fails || isDurable) await store.feed.save(batch)
        if (fails) throw new StoreUnavailableError('The answer was lost.')
        return true
      },
    })
    await write(2)
    await trees.catchUp()
    fails = true
    await write(3)
    await expect(trees.catchUp()).rejects.toThrow('The answer was lost.')
    fails = false
    await write(1)
    await trees.catchUp()
    await expectSound(6)
  })

  it('prove consistency between all sizes of a log of several blocks', async () => {
    const trees = process('a')
    const tree = new MerkleTree()
    const roots = [tree.root()]
    await write(600)
    await trees.catchUp()
    for (const { leaf } of await store.feed.readLog(pen.log, 0, 600)) {
      tree.append(hashOf(leaf))
      roots.push(tree.root())
    }
    expect((await store.feed.listCheckpoints(0, 10)).map(({ size }) => size)).toEqual([256, 512, 600])
    for (const size of [0, 1, 200, 255, 256, 257, 511, 512, 513, 599, 600]) {
      const { path } = await proveConsistency({ store }, pen.log, size)
      const proof = path.map((hash) => new Uint8Array(Buffer.from(hash, 'base64')))
      verifyConsistency({ size, root: roots[size] as Uint8Array }, { size: 600, root: tree.root() }, proof)
    }
    await expectSound(600)
  })
})
