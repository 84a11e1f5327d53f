/** The trees go on from what is stored, whatever crashes and whichever process goes on. */
import { generateKeyPairSync, sign as signText } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leafHashOfText, MerkleTree, parseCheckpoint, parseNote, verifyConsistency } from '@countersign/audit-log'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CheckpointFile } from '#server/adapters/checkpoint-memory/checkpoint-file'
import { Trees, type TreesDeps } from '#server/feed/trees/trees'
import type { CheckpointMemory } from '#server/ports/checkpoint-memory'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { FeedBatch, HeldReader } from '#server/ports/store/feed'
import type { Store } from '#server/ports/store/store'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { proveConsistency, readTrees } from '#server/use-cases/audit/checkpoints'
import { hashOf, type SignedCheckpoint, TREES_READER, textOf } from '#server/use-cases/audit/trees'
import { FROZEN } from '../../running-server.js'
import { type Altered, altered, LogPen } from '../../store-suite/index.js'

const DEAD = new Error('The process is gone.')
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

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const KEY = { privateKey, x: publicKey.export({ format: 'jwk' }).x as string }
const checkpointKeys = async () => [KEY.x]

let leaves = 0
const newLeaf = () => textOf(leafHashOfText(String(leaves++)))
const write = (count: number) =>
  pen.commit(...Array.from({ length: count }, () => ({ change, entry: { leaf: newLeaf() } })))

/** The trees as a process keeps them. The time at which it renews its hold never comes. */
function process(holder: string, over: Altered<Store> = {}, parts: Partial<TreesDeps> = {}): Trees {
  const sign = async (text: string) => ({
    publicKey: KEY.x,
    signature: signText(null, Buffer.from(text), KEY.privateKey).toString('base64url'),
  })
  const clock = { now: () => FROZEN } as TreesDeps['clock']
  const memory = new CheckpointFile(mkdtempSync(join(dir, holder)))
  const log = { info() {}, warn() {}, error() {} }
  const issuer = 'https://decide.example'
  const reads = altered(store, over)
  return new Trees({
    ...{ store: reads, checked: reads, holder, memory, monotonicMs: () => 0, clock, log, issuer, sign },
    onRewritten: () => {},
    onGaps: () => {},
    checkpointKeys,
    ...parts,
  })
}

/** As somebody does who can write into the database, while this process keeps the trees. */
async function writeState(holder: string, state: FeedBatch['state']): Promise<void> {
  const reader = (await store.readers.hold(TREES_READER, holder, 15_000)) as HeldReader
  await store.readers.save({ reader, positions: {}, state, deliveries: [], counts: [], nodes: [], checkpoints: [] })
}

async function rootCheckpoint(): Promise<SignedCheckpoint> {
  return (await readTrees(store)).root.checkpoint as SignedCheckpoint
}

/** The root log is made of the stored checkpoints, and those of one log are of the beginnings of one tree. */
async function expectSound(size: number): Promise<void> {
  const stored = await store.trees.listCheckpoints(0, 1000)
  const root = new MerkleTree()
  const own = new MerkleTree()
  const entries = await store.audit.read(pen.log, 0, size)
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
    await store.readers.release('a')
    const next = process('b')
    await next.catchUp()
    await write(4)
    await frozen.catchUp()
    expect((await readTrees(store)).logs[pen.log]?.checkpoint?.size).toBe(5)
    await next.catchUp()
    await expectSound(9)
  })

  it.each([true, false])('go on behind a save that failed, durable or not (%s)', async (isDurable) => {
    let fails = false
    const trees = process('a', {
      readers: {
        async save(batch: FeedBatch) {
          if (!fails || isDurable) await store.readers.save(batch)
          if (fails) throw new StoreUnavailableError('The answer was lost.')
          return true
        },
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
    for (const { leaf } of await store.audit.read(pen.log, 0, 600)) {
      tree.append(hashOf(leaf))
      roots.push(tree.root())
    }
    expect((await store.trees.listCheckpoints(0, 10)).map(({ size }) => size)).toEqual([256, 512, 600])
    for (const size of [0, 1, 200, 255, 256, 257, 511, 512, 513, 599, 600]) {
      const { path } = await proveConsistency({ store }, pen.log, size)
      const proof = path.map((hash) => new Uint8Array(Buffer.from(hash, 'base64')))
      verifyConsistency({ size, root: roots[size] as Uint8Array }, { size: 600, root: tree.root() }, proof)
    }
    await expectSound(600)
  })

  it('sign no two roots of one size, wherever the process dies between remembering, signing and saving', async () => {
    const dataDir = mkdtempSync(join(dir, 'memory-'))
    const signed = new Map<string, string>()
    let left = Number.POSITIVE_INFINITY
    const dying =
      <T extends unknown[], R>(work: (...asked: T) => Promise<R>) =>
      async (...asked: T): Promise<R> => {
        // Before it, or after it: nobody is told.
        if (left-- === 0) throw DEAD
        const result = await work(...asked)
        if (left-- === 0) throw DEAD
        return result
      }
    const start = (holder: string) => {
      const file = new CheckpointFile(dataDir)
      const memory: CheckpointMemory = {
        read: () => file.read(),
        noteUnsaved: dying((unsaved) => file.noteUnsaved(unsaved)),
        noteSaved: dying(() => file.noteSaved()),
        noteSeen: dying((trees) => file.noteSeen(trees)),
        replace: dying((trees, unsaved) => file.replace(trees, unsaved)),
      }
      const sign = dying(async (text: string) => {
        const [origin, size, root] = text.split('\n') as [string, string, string]
        const name = `${origin} ${size}`
        expect(signed.get(name) ?? root, name).toBe(root)
        signed.set(name, root)
        return { publicKey: 'A'.repeat(43), signature: 'A'.repeat(86) }
      })
      return process(holder, { readers: { save: dying((batch) => store.readers.save(batch)) } }, { memory, sign })
    }
    let deaths = 0
    for (let round = 0; round < 60; round += 1) {
      left = round % 12
      const holder = `holder ${round}`
      const trees = start(holder)
      await write(2)
      await trees.catchUp().catch((error) => {
        if (error !== DEAD) throw error
        deaths += 1
      })
      left = Number.POSITIVE_INFINITY
      await store.readers.release(holder)
    }
    expect(deaths).toBeGreaterThan(30)
    const last = start('last')
    await last.catchUp()
    expect(await last.check()).toBeNull()
    await expectSound(120)
  })

  it('sign and remember once a second, however often something is written', async () => {
    let [nowMs, remembered] = [0, 0]
    const memory = new CheckpointFile(mkdtempSync(join(dir, 'memory-')))
    const { noteUnsaved } = CheckpointFile.prototype
    memory.noteUnsaved = (unsaved) => {
      remembered += 1
      return noteUnsaved.call(memory, unsaved)
    }
    const trees = process('a', {}, { memory, monotonicMs: () => nowMs })
    for (; nowMs < 3000; nowMs += 100) {
      await write(1)
      await trees.turn()
    }
    expect((await store.trees.listCheckpoints(0, 10)).map(({ size }) => size)).toEqual([1, 11, 21])
    expect(remembered).toBe(3)
  })

  it('begin a root log of another name at each acceptance of a store that lacks them', async () => {
    const trees = process('a')
    const signed = new Set<string>()
    for (let round = 0; round < 3; round += 1) {
      await write(2)
      await trees.catchUp()
      const { note } = await rootCheckpoint()
      signed.add(parseCheckpoint(parseNote(note).text).origin)
      await writeState('a', {})
      expect(await trees.toAccept()).toHaveProperty('found')
      await trees.acceptRewrite()
      expect(await trees.check()).toBeNull()
      const accepted = parseCheckpoint(parseNote((await rootCheckpoint()).note).text)
      expect(signed).not.toContain(accepted.origin)
    }
    expect(signed.size).toBe(3)
  })
})
