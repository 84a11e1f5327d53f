/**
 * The directories of keys and of policies are one document each. What would make one too large is refused before it is
 * written, alone, and with room left to revoke, to rotate and to delete.
 */
import { randomBytes } from 'node:crypto'
import { MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeySecret, StoredKey } from '#server/ports/store/documents'
import type { Store } from '#server/ports/store/store'
import { openMongoStore } from '#server/stores/mongodb/open'
import {
  createOf,
  decisionOf,
  idOf,
  instant,
  keyOf,
  LogPen,
  policyOf,
  updateOf,
  WHOLE,
  writeKeyOf,
  writePolicyOf,
} from '../../store-suite/index.js'
import { FIRST, fillDirectory, MORE, NEW, wideEntry, wideKey } from './full-directories.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

const MIB = 2 ** 20
const TOO_LARGE = { written: 0, conflict: 'too_large' }
const WRITTEN = { written: 1, conflict: null }

let name: string
let store: Store
let pen: LogPen
const client = new MongoClient(mongoUrl('admin'))
beforeEach(async () => {
  name = `countersign-bounds-${randomBytes(6).toString('hex')}`
  store = await openMongoStore({ url: mongoUrl(name) })
  pen = await LogPen.of(store)
})
afterEach(async () => {
  await store.close()
  await dropDatabase(name)
})
afterAll(() => client.close())

const secret = (hash: string, expires_at: string | null = null): KeySecret => ({ hash, hint: 'cs_sk_…', expires_at })

function later(key: StoredKey, over: Partial<StoredKey>): StoredKey {
  return { ...key, version: key.version + 1, ...over }
}

const nameOf = (number: number) => `${number}${'x'.repeat(5000)}`
function liveOf(number: number, padding: string) {
  return [idOf('pol', number), { version: 1, name: `${nameOf(number)}${padding}` }] as const
}

describe('the directory of keys', () => {
  it('refuses one more, alone, and lets every key be rotated and revoked', async () => {
    await fillDirectory(client, name, 'keys', NEW, wideEntry)
    const group = [createOf(decisionOf(1)), writeKeyOf(wideKey(1)), createOf(decisionOf(2))]
    expect(await pen.commit(...group)).toEqual({ written: 1, conflict: 'too_large' })
    expect(await pen.commit(createOf(decisionOf(2)))).toEqual(WRITTEN)
    const rotated = later(wideKey(FIRST), { secrets: [secret('new'), secret(`hash-${FIRST}`, instant(99))] })
    expect(await pen.commit(writeKeyOf(rotated))).toEqual(WRITTEN)
    expect(await pen.commit(writeKeyOf(wideKey(1)))).toEqual(TOO_LARGE)
    for (const number of [FIRST, FIRST + 1])
      expect(
        await pen.commit(writeKeyOf(later(number === FIRST ? rotated : wideKey(number), { revoked_at: instant(0) }))),
      ).toEqual(WRITTEN)
    // What was revoked makes room, and is still there.
    expect(await pen.commit(writeKeyOf(wideKey(1)))).toEqual(WRITTEN)
    const keys = new Map((await store.keys.load()).map((key) => [key.id, key]))
    expect(keys.get(idOf('key', FIRST))).toEqual({ ...rotated, version: 3, revoked_at: instant(0) })
    expect(keys.has(idOf('key', 1))).toBe(true)
  })

  it('is full for texts that live on, and lets every key be rotated at once and revoked', async () => {
    await fillDirectory(client, name, 'keys', MORE, wideEntry)
    const before = wideKey(FIRST)
    const graceful = later(before, { secrets: [secret('new'), secret(`hash-${FIRST}`, instant(99))] })
    expect(await pen.commit(writeKeyOf(graceful))).toEqual(TOO_LARGE)
    const rotated = later(before, { secrets: [secret('new')] })
    expect(await pen.commit(writeKeyOf(rotated))).toEqual(WRITTEN)
    expect(await pen.commit(writeKeyOf(later(rotated, { revoked_at: instant(0) })))).toEqual(WRITTEN)
  })

  it('is left by keys that are over, which stay what they were', async () => {
    const revoked = keyOf(1, { version: 1, revoked_at: instant(0), secrets: [secret('first'), secret('second')] })
    const expired = keyOf(2, { expires_at: instant(0) })
    await pen.commit(writeKeyOf(revoked), writeKeyOf(expired), writeKeyOf(keyOf(3)), writeKeyOf(keyOf(4)))
    const inDirectory = async () => {
      const found = await client.db(name).collection('key_directory').findOne({})
      return Object.keys(found?.keys).sort()
    }
    expect(await inDirectory()).toEqual([idOf('key', 3), idOf('key', 4)])
    expect((await store.keys.load()).map(({ id }) => id)).toEqual([1, 2, 3, 4].map((number) => idOf('key', number)))
    for (const hash of ['first', 'second', 'hash-2'])
      expect(await pen.commit(writeKeyOf(keyOf(5, { secrets: [secret(hash)] })))).toEqual({
        written: 0,
        conflict: 'key_secret',
      })
    expect(await pen.commit(writeKeyOf(keyOf(1)))).toEqual({ written: 0, conflict: 'version' })
    // One that had expired can still be revoked, and leaves again.
    const both = later(expired, { revoked_at: instant(2) })
    expect(await pen.commit(writeKeyOf(both))).toEqual(WRITTEN)
    expect(await inDirectory()).toEqual([2, 3, 4].map((number) => idOf('key', number)))
    expect(await pen.commit({ ...writeKeyOf(keyOf(6)), beside: [{ id: both.id, version: 2 }] })).toEqual(WRITTEN)
    expect(await inDirectory()).toEqual([3, 4, 6].map((number) => idOf('key', number)))
    expect(await pen.commit({ ...writeKeyOf(keyOf(7)), beside: [{ id: both.id, version: 1 }] })).toEqual({
      written: 0,
      conflict: 'version',
    })
    expect((await store.keys.load()).find(({ id }) => id === both.id)).toEqual(both)
  })
})

describe('the directory of policies', () => {
  it('refuses one more and a longer name, and lets every policy be changed under its name and deleted', async () => {
    await fillDirectory(client, name, 'policies', NEW, liveOf)
    const another = policyOf(1, 1)
    expect(await pen.commit(writePolicyOf(another))).toEqual(TOO_LARGE)
    const named = (number: number, name: string, set: number) =>
      policyOf(number, set, { version: 2, document: { name, rules: [{ action: '*', effect: 'deny' }] } })
    expect(await pen.commit(writePolicyOf(named(10_000, 'a'.repeat(6000), 1)))).toEqual(WRITTEN)
    await fillDirectory(client, name, 'policies', MORE, liveOf)
    expect(await pen.commit(writePolicyOf(named(10_000, 'a'.repeat(6000), 2)))).toEqual(TOO_LARGE)
    expect(await pen.commit(writePolicyOf(named(10_000, nameOf(FIRST), 2)))).toEqual(WRITTEN)
    const gone = { ...named(10_001, 'x', 3), deleted_at: instant(60) }
    expect(await pen.commit(writePolicyOf(gone))).toEqual(WRITTEN)
  })
})

describe('a record that can never be written', () => {
  const huge = { reason: 'x'.repeat(17 * MIB) }

  it('conflicts alone: the others of its group are committed, its log entry is void, and the next ones follow', async () => {
    await pen.commit(createOf(decisionOf(1)), createOf(decisionOf(2)))
    const settled = { status: 'confirmed' } as const
    const group = [
      createOf(decisionOf(3)),
      createOf(decisionOf(4, huge)),
      updateOf(decisionOf(1), settled),
      updateOf(decisionOf(2), { ...settled, ...huge }),
      writeKeyOf(keyOf(1)),
    ]
    const lateConflicts = new Map([
      [1, 'too_large'],
      [3, 'too_large'],
    ])
    expect(await pen.commit(...group)).toEqual({ written: 5, conflict: null, lateConflicts })
    expect(await pen.commit(createOf(decisionOf(5)))).toEqual(WRITTEN)
    const versions = await Promise.all(
      [1, 2, 3, 4, 5].map(async (number) => (await store.decisions.get(idOf('dec', number)))?.decision.version),
    )
    expect(versions).toEqual([2, 1, 1, undefined, 1])
    const entries = (await store.audit.list({}, WHOLE)).items.map(({ index, type }) => [index, type])
    expect(entries).toHaveLength(8)
    expect(entries.filter(([, type]) => type === 'void').map(([index]) => index)).toEqual([5, 3])
  })
})
