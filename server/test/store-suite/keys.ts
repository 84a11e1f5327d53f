import { expect } from 'vitest'
import { idOf, instant, keyOf, LogPen, writeKeyOf } from './documents.js'
import type { StoreCase } from './store-case.js'

export const KEY_CASES: readonly StoreCase[] = [
  {
    title: 'gives back every key as it was last written, revoked or not',
    async run({ store, reopen }) {
      expect(await store.keys.load()).toEqual([])
      const pen = await LogPen.of(store)
      const first = keyOf(1, { scopes: ['*'], created_by: idOf('key', 9), expires_at: instant(99) })
      const second = keyOf(2, { agents: ['billing-*'] })
      const rotated = {
        ...second,
        version: 2,
        secrets: [
          { hash: 'new', hint: 'cs_sk_…new', expires_at: null },
          { ...second.secrets[0]!, expires_at: instant(50) },
        ],
      }
      const revoked = { ...rotated, version: 3, revoked_at: instant(60) }
      await pen.commit(writeKeyOf(first), writeKeyOf(second), writeKeyOf(rotated))
      expect(await store.keys.load()).toStrictEqual([first, rotated])
      await pen.commit(writeKeyOf(revoked))
      expect(await (await reopen()).keys.load()).toStrictEqual([first, revoked])
    },
  },
  {
    title: 'gives no secret to two keys, be it new or old, of a revoked key or in one group',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const secret = (hash: string) => ({ hash, hint: 'cs_sk_…', expires_at: null })
      const first = keyOf(1, { secrets: [secret('new'), secret('old')] })
      const revoked = { ...first, version: 2, revoked_at: instant(60) }
      const second = keyOf(2, { secrets: [secret('other')] })
      await pen.commit(writeKeyOf(first), writeKeyOf(revoked), writeKeyOf(second))
      for (const hash of ['new', 'old', 'other']) {
        const thief = keyOf(3, { secrets: [secret('own'), secret(hash)] })
        expect(await pen.commit(writeKeyOf(thief))).toEqual({ written: 0, conflict: 'key_secret' })
      }
      const rotated = { ...second, version: 2, secrets: [secret('old'), ...second.secrets] }
      expect(await pen.commit(writeKeyOf(rotated))).toEqual({ written: 0, conflict: 'key_secret' })
      const twins = [3, 4].map((number) => writeKeyOf(keyOf(number, { secrets: [secret('twin')] })))
      expect(await pen.commit(...twins)).toEqual({ written: 1, conflict: 'key_secret' })
      const kept = { ...second, version: 2, secrets: [secret('fresh'), ...second.secrets] }
      expect(await pen.commit(writeKeyOf(kept))).toEqual({ written: 1, conflict: null })
      expect((await (await reopen()).keys.load()).map(({ id }) => id)).toEqual([1, 2, 3].map((n) => idOf('key', n)))
    },
  },
  {
    title: 'writes a key only while the keys beside it are at their versions',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const [first, second] = [keyOf(1), keyOf(2)]
      await pen.commit(writeKeyOf(first), writeKeyOf(second))
      const revoke = (key: typeof first, other: typeof first) => ({
        ...writeKeyOf({ ...key, version: 2, revoked_at: instant(60) }),
        beside: [{ id: other.id, version: 1 }],
      })
      const group = await pen.commit(revoke(first, second), revoke(second, first))
      expect(group).toEqual({ written: 1, conflict: 'version' })
      expect(await pen.commit(revoke(second, keyOf(3)))).toEqual({ written: 0, conflict: 'version' })
      const revoked = (await store.keys.load()).map(({ id, revoked_at }) => [id, revoked_at !== null])
      expect(revoked).toEqual([
        [first.id, true],
        [second.id, false],
      ])
    },
  },
  {
    title: 'keeps the latest use of each key',
    async run({ store, reopen }) {
      expect(await store.keys.loadUses()).toEqual(new Map())
      await store.keys.saveUses(
        new Map([
          ['key_a', instant(60)],
          ['key_b', instant(60)],
        ]),
      )
      await store.keys.saveUses(
        new Map([
          ['key_a', instant(120)],
          ['key_b', instant(0)],
        ]),
      )
      await store.keys.saveUses(new Map())
      const expected = new Map([
        ['key_a', instant(120)],
        ['key_b', instant(60)],
      ])
      expect(await store.keys.loadUses()).toEqual(expected)
      expect(await (await reopen()).keys.loadUses()).toEqual(expected)
    },
  },
]
