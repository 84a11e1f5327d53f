/** The suite of stores that several processes share, and that it notices what is broken between them. */

import { describe, expect, it } from 'vitest'
import type { HeldReader } from '#server/ports/store/feed'
import type { Store } from '#server/ports/store/store'
import { type Altered, altered, instant, SHARED_STORE_CASES, sharedStoreSuite } from '../../store-suite/index.js'
import { openTwoInNewDatabase } from './open-mongo-store.js'

interface Sabotage {
  readonly what: string
  /** The members that differ from the sound store's. */
  readonly broken: (sound: Store) => Altered<Store>
  /** The beginning of the title of the case that fails. */
  readonly caughtBy: string
}

const SABOTAGES: readonly Sabotage[] = [
  {
    what: 'looks at the revision once',
    broken: ({ replicas }) => {
      const first = replicas?.revision()
      return {
        replicas: replicas && altered(replicas, { revision: () => first as ReturnType<typeof replicas.revision> }),
      }
    },
    caughtBy: 'tells the other process of changed policies',
  },
  {
    what: 'has another revision at each look',
    broken: ({ replicas }) => {
      let looks = 0
      const revision = async () => ({ ...(await replicas?.revision()), keys: `${++looks}` })
      return { replicas: replicas && altered(replicas, { revision: revision as typeof replicas.revision }) }
    },
    caughtBy: 'has the same revision as long as nothing',
  },
  {
    what: 'lets a revoked signing key be published again',
    broken: ({ replicas }) => ({
      replicas:
        replicas &&
        altered(replicas, {
          publishSigningKeys: (keys, now) =>
            replicas.publishSigningKeys(
              keys.map((key) => ({ ...key, revoked_at: null })),
              now,
            ),
        }),
    }),
    caughtBy: 'keeps a revoked signing key revoked',
  },
  {
    what: 'keeps a signing key known that was not published for a while',
    broken: ({ replicas }) => ({
      replicas:
        replicas &&
        altered(replicas, { publishSigningKeys: (keys) => replicas.publishSigningKeys(keys, instant(-1000)) }),
    }),
    caughtBy: 'tells that a signing key is known',
  },
  {
    what: 'counts the taken review slots first and takes one later',
    broken: ({ replicas }) => {
      let count = 0
      const take = async (wanted: readonly unknown[]) => {
        const isFree = wanted.map((_, i) => count + i < 5)
        await new Promise(setImmediate)
        count += isFree.filter(Boolean).length
        return isFree
      }
      return { replicas: replicas && altered(replicas, { reviewSlots: altered(replicas.reviewSlots, { take }) }) }
    },
    caughtBy: 'has only some review slots of an owner',
  },
  {
    what: 'frees the slots of all reviews that it looks at',
    broken: ({ replicas }) => ({
      replicas:
        replicas &&
        altered(replicas, {
          reviewSlots: altered(replicas.reviewSlots, {
            clear: async (owner) => {
              const ids = [1, 2, 3, 4, 5].map((number) => ({ owner, id: `dec_${String(number).padStart(26, '0')}` }))
              await replicas.reviewSlots.release(ids)
            },
          }),
        }),
    }),
    caughtBy: 'finds out which review slots are taken',
  },
  {
    what: 'looks for room first and reserves later',
    broken: ({ ledger }) => ({
      ledger: altered(ledger, {
        async reserve(request) {
          const balances = await ledger.balances(request.demands.map(({ account }) => account))
          const hasRoom = request.demands.every(
            ({ amount, limit }, i) =>
              limit === null || (balances[i]?.spent ?? 0n) + (balances[i]?.reserved ?? 0n) + amount <= limit,
          )
          if (!hasRoom) return { reservation: null, balances }
          return ledger.reserve({ ...request, demands: request.demands.map((one) => ({ ...one, limit: null })) })
        },
      }),
    }),
    caughtBy: 'gives the last room to one of two processes',
  },
  {
    what: 'reads decisions from a member that is behind',
    broken: (sound) => ({
      decisions: { get: async () => (await sound.decisions.list(NONE, { limit: 1, after: null })).items[0] ?? null },
    }),
    caughtBy: 'shows the other process what a commit wrote',
  },
  {
    what: 'remembers the webhooks that it has read',
    broken: (sound) => {
      const first = sound.webhooks.load()
      return { webhooks: { load: () => first } }
    },
    caughtBy: 'lets one of two processes win that write a webhook',
  },
  {
    what: 'names the logs of one process alone',
    broken: (sound) => ({ audit: { listLogs: async () => (await sound.audit.listLogs()).slice(0, 1) } }),
    caughtBy: 'names the logs of both processes',
  },
  {
    what: 'names ends of logs behind what can be read',
    broken: (sound) => ({
      audit: {
        listLogs: async () =>
          (await sound.audit.listLogs()).map(({ log, next_index }) => ({ log, next_index: next_index + 1 })),
      },
    }),
    caughtBy: 'names the logs of both processes',
  },
  {
    what: 'gives a reader to both processes',
    broken: (sound) => ({
      readers: { hold: (name, _, forMs) => sound.readers.hold(name, 'anybody', forMs) },
    }),
    caughtBy: 'gives a reader to one of two processes',
  },
  {
    what: 'keeps the readers of a process that releases them',
    broken: () => ({ readers: { release: async () => {} } }),
    caughtBy: 'gives a reader to one of two processes',
  },
  {
    what: 'saves for a process that has lost its reader',
    broken: (sound) => ({
      readers: {
        async save(batch) {
          if (await sound.readers.save(batch)) return true
          const { name } = batch.reader
          await sound.readers.remove(name)
          const reader = (await sound.readers.hold(name, 'thief', 1000)) as HeldReader
          return sound.readers.save({ ...batch, reader })
        },
      },
    }),
    caughtBy: 'writes no position and no count of a process',
  },
  {
    what: 'refuses the save of the holder while others ask for its reader',
    broken: (sound) => {
      const asked = new Map<string, number>()
      return {
        readers: {
          hold(name, holder, forMs) {
            asked.set(name, (asked.get(name) ?? 0) + 1)
            return sound.readers.hold(name, holder, forMs)
          },
          save: async (batch) => (asked.get(batch.reader.name) ?? 0) % 2 === 1 && sound.readers.save(batch),
        },
      }
    },
    caughtBy: 'lets the holder go on while two processes ask',
  },
  {
    what: 'says that it wrote a delivery back that the other process wrote',
    broken: (sound) => ({
      deliveries: {
        update: async (deliveries) => {
          await sound.deliveries.update(deliveries)
          return deliveries.map(({ id }) => id)
        },
      },
    }),
    caughtBy: 'lets one of two processes win that write a delivery back',
  },
  {
    what: 'does not look at the names of calls',
    broken: (sound) => ({
      commit: (records) => sound.commit(records.map((record) => ({ ...record, idempotency: null }))),
    }),
    caughtBy: 'lets one of two processes win that make calls of one name',
  },
]

const NONE = { agents: null, now: '2026-11-21T10:00:00.000Z', to: '2026-11-21T10:00:02.000Z' }

sharedStoreSuite('the store on MongoDB, of two processes', openTwoInNewDatabase)

describe('the suite of two processes catches a store that', () => {
  it.each(SABOTAGES)('$what', async ({ broken, caughtBy }) => {
    const [found, ...more] = SHARED_STORE_CASES.filter(({ title }) => title.startsWith(caughtBy))
    expect(more).toEqual([])
    const { stores, destroy } = await openTwoInNewDatabase()
    const [first, second] = stores
    const failure = await found
      ?.run({ stores: [altered(first, broken(first)), altered(second, broken(second))], destroy })
      .then(
        () => null,
        (error: unknown) => error,
      )
    await destroy()
    expect(failure).toMatchObject({ name: 'AssertionError' })
  })
})
