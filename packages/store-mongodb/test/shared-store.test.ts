/** The suite of stores that several processes share, and that it notices what is broken between them. */
import type { HeldReader } from '@countersign/store-port/feed'
import type { Store } from '@countersign/store-port/store'
import { instant, SHARED_STORE_CASES, sharedStoreSuite } from '@countersign/testkit/store-suite'
import { describe, expect, it } from 'vitest'
import { openTwoInNewDatabase } from './open-mongo-store.js'

interface Sabotage {
  readonly what: string
  /** The members that differ from the sound store's. */
  readonly broken: (sound: Store) => Partial<Store>
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
    caughtBy: 'has so many review slots of an owner',
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
      findDecision: async () => (await sound.listDecisions(NONE, { limit: 1, after: null })).items[0] ?? null,
    }),
    caughtBy: 'shows the other process what a commit wrote',
  },
  {
    what: 'remembers the webhooks that it has read',
    broken: (sound) => {
      const first = sound.loadWebhooks()
      return { loadWebhooks: () => first }
    },
    caughtBy: 'lets one of two processes win that write a webhook',
  },
  {
    what: 'names the logs of one process alone',
    broken: ({ feed }) => ({ feed: altered(feed, { listLogs: async () => (await feed.listLogs()).slice(0, 1) }) }),
    caughtBy: 'names the logs of both processes',
  },
  {
    what: 'names ends of logs behind what can be read',
    broken: ({ feed }) => ({
      feed: altered(feed, {
        listLogs: async () =>
          (await feed.listLogs()).map(({ log, next_index }) => ({ log, next_index: next_index + 1 })),
      }),
    }),
    caughtBy: 'names the logs of both processes',
  },
  {
    what: 'gives a reader to both processes',
    broken: ({ feed }) => ({
      feed: altered(feed, { holdReader: (name, _, forMs) => feed.holdReader(name, 'anybody', forMs) }),
    }),
    caughtBy: 'gives a reader to one of two processes',
  },
  {
    what: 'keeps the readers of a process that releases them',
    broken: ({ feed }) => ({ feed: altered(feed, { releaseReaders: async () => {} }) }),
    caughtBy: 'gives a reader to one of two processes',
  },
  {
    what: 'saves for a process that has lost its reader',
    broken: ({ feed }) => ({
      feed: altered(feed, {
        async save(batch) {
          if (await feed.save(batch)) return true
          const { name } = batch.reader
          await feed.removeReader(name)
          const reader = (await feed.holdReader(name, 'thief', 1000)) as HeldReader
          return feed.save({ ...batch, reader })
        },
      }),
    }),
    caughtBy: 'writes no position and no count of a process',
  },
  {
    what: 'refuses the save of the holder while others ask for its reader',
    broken: ({ feed }) => {
      const asked = new Map<string, number>()
      return {
        feed: altered(feed, {
          holdReader(name, holder, forMs) {
            asked.set(name, (asked.get(name) ?? 0) + 1)
            return feed.holdReader(name, holder, forMs)
          },
          save: async (batch) => (asked.get(batch.reader.name) ?? 0) % 2 === 1 && feed.save(batch),
        }),
      }
    },
    caughtBy: 'lets the holder go on while two processes ask',
  },
  {
    what: 'says that it wrote a delivery back that the other process wrote',
    broken: ({ feed }) => ({
      feed: altered(feed, {
        updateDeliveries: async (deliveries) => {
          await feed.updateDeliveries(deliveries)
          return deliveries.map(({ id }) => id)
        },
      }),
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

/** An object with some of its methods in other words. */
function altered<T extends object>(sound: T, members: Partial<T>): T {
  return new Proxy(sound, {
    get(target, name) {
      const member: unknown = members[name as keyof T] ?? target[name as keyof T]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

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
