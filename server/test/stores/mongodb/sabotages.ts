/** The rules of the ledger's protocol on MongoDB, each broken in what a store says to its collections. */
import type { Collection, Document } from 'mongodb'
import type { Database } from '#server/stores/mongodb/connection/database'

type Method = (...parameters: never[]) => unknown

/** Puts other methods in the place of a collection's own. */
export function change<T extends Document>(
  database: Database,
  name: keyof Database,
  methods: (own: Collection<T>) => Readonly<Record<string, Method>>,
): void {
  const own = database[name] as unknown as Collection<T>
  const changed = methods(own)
  const proxy = new Proxy(own, {
    get(target, member) {
      const method = changed[String(member)] ?? (target as unknown as Record<PropertyKey, unknown>)[member]
      return typeof method === 'function' ? method.bind(target) : method
    },
  })
  Object.assign(database, { [name]: proxy })
}

export const DONE = { matchedCount: 1, modifiedCount: 1, acknowledged: true }

interface ReadDecision extends Document {
  readonly _id: string
  readonly rev: number
  readonly version?: number
  readonly attempt?: string | null | undefined
  readonly ledger?: Record<string, { due: { n: number }; booked: { n: number } }> | undefined
}

interface Booking {
  readonly $set?: Readonly<Record<string, { n: number }>>
}

/** Every answer of the collection of decisions, as a sabotage changes it. */
function readings(
  own: Collection<ReadDecision>,
  changed: (found: ReadDecision | null, id: string) => ReadDecision | null,
) {
  return {
    findOne: async (filter: { _id?: string }, options?: object) => {
      const found = await own.findOne(filter as never, options)
      return typeof filter._id === 'string' ? changed(found as ReadDecision | null, filter._id) : found
    },
    find: (filter: { _id?: { $in?: readonly string[] } }, options?: never) => {
      const cursor = own.find(filter as never, options)
      const toArray = cursor.toArray.bind(cursor)
      cursor.toArray = async () => {
        const found = (await toArray()) as ReadDecision[]
        const present = new Set(found.map(({ _id }) => _id))
        const absent = (filter._id?.$in ?? []).filter((id) => !present.has(id)).map((id) => changed(null, id))
        return [...found.map((one) => changed(one, one._id)), ...absent].filter((one) => one !== null) as never
      }
      return cursor
    },
  }
}

type AccountFilter = { readonly _id: string; readonly v: number }
export type AccountUpdates = readonly {
  readonly updateOne: { readonly filter: AccountFilter; readonly update: Document }
}[]

/** A version that no account has: somebody else is always faster. */
export const NEVER = -1

/** Writes accounts under other conditions. */
export function changeAccountWrites(database: Database, changed: (filter: AccountFilter) => object): void {
  change(database, 'accounts', (own) => ({
    bulkWrite: (updates: AccountUpdates, options: never) =>
      own.bulkWrite(
        updates.map(({ updateOne }) => ({
          updateOne: { ...updateOne, filter: changed(updateOne.filter) },
        })) as never,
        options,
      ),
  }))
}

export const SABOTAGES: Readonly<Record<string, (database: Database) => void>> = {
  'writes an account whatever its version is': (database) => changeAccountWrites(database, ({ _id }) => ({ _id })),

  'reads a decision before the account': (database) => {
    const readBefore = new Map<string, readonly ReadDecision[]>()
    change<ReadDecision>(database, 'decisions', (own) =>
      readings(own, (found, id) => {
        // Its version is read by those alone who write the decision.
        if (found?.ledger === undefined || found.version !== undefined) return found
        const latest = [...(readBefore.get(id) ?? []), structuredClone(found)].slice(-3)
        readBefore.set(id, latest)
        const { rev, attempt, ledger } = latest[0] as ReadDecision
        return { ...found, rev, attempt, ledger }
      }),
    )
  },

  'drops a mark before its amount is booked': (database) => {
    const booked = new Map<string, { n: number }>()
    /** Whether it was no more than a booking, which is then kept here alone. */
    const pretend = (id: string, { $set = {} }: Booking): boolean => {
      const bookings = Object.entries($set).filter(([member]) => member.endsWith('.booked'))
      for (const [member, value] of bookings) booked.set(`${id} ${member.split('.')[1]}`, value)
      return bookings.length > 0
    }
    change<ReadDecision>(database, 'decisions', (own) => ({
      ...readings(own, (found) => {
        for (const [account, line] of Object.entries(found?.ledger ?? {})) {
          const claimed = booked.get(`${found?._id} ${account}`)
          if (claimed !== undefined && claimed.n > line.booked.n) Object.assign(line, { booked: claimed })
        }
        return found
      }),
      updateOne: (filter: { _id: string }, update: Booking) =>
        pretend(filter._id, update) ? Promise.resolve(DONE) : own.updateOne(filter as never, update as never),
      bulkWrite: (operations: { updateOne: { filter: { _id: string }; update: Booking } }[], options: never) => {
        const real = operations.filter(({ updateOne: { filter, update } }) => !pretend(filter._id, update))
        return real.length > 0
          ? own.bulkWrite(real as never, options)
          : Promise.resolve({ ...DONE, matchedCount: operations.length })
      },
    }))
  },

  'takes a reservation out without a tombstone': (database) => {
    const voids = new Map<string, ReadDecision>()
    change<ReadDecision>(database, 'decisions', (own) => ({
      ...readings(own, (found, id) => found ?? voids.get(id) ?? null),
      insertMany: (documents: ReadDecision[], options: never) => {
        const real = documents.filter(({ is_void }) => is_void !== true)
        for (const one of documents) if (one.is_void === true) voids.set(one._id, one)
        return real.length === 0 ? Promise.resolve(DONE) : own.insertMany(real as never, options)
      },
    }))
  },

  'takes a reservation out without a fence': (database) => {
    const raised = new Map<string, number>()
    change<ReadDecision>(database, 'decisions', (own) => ({
      ...readings(own, (found, id) => (found === null ? null : { ...found, rev: found.rev + (raised.get(id) ?? 0) })),
      updateOne: (filter: { _id: string }, update: { $inc?: { rev?: number } }) => {
        if (update.$inc?.rev === undefined) return own.updateOne(filter as never, update as never)
        raised.set(filter._id, (raised.get(filter._id) ?? 0) + 1)
        return Promise.resolve(DONE)
      },
      bulkWrite: (
        operations: { updateOne: { filter: { _id: string; rev: number }; update: Document } }[],
        options: never,
      ) => {
        const real = operations.map(({ updateOne: { filter, update } }) => {
          const over = raised.get(filter._id) ?? 0
          const $set = update.$set?.rev === undefined ? update.$set : { ...update.$set, rev: update.$set.rev - over }
          return { updateOne: { filter: { ...filter, rev: filter.rev - over }, update: { ...update, $set } } }
        })
        return own.bulkWrite(real as never, options)
      },
    }))
  },

  'moves a decision whatever has become of it': (database) =>
    change<ReadDecision>(database, 'decisions', (own) => ({
      bulkWrite: (operations: { updateOne: { filter: { _id: string }; update: Document } }[], options: never) =>
        own.bulkWrite(
          operations.map(({ updateOne: { filter, update } }) => ({
            updateOne: { filter: { _id: filter._id }, update },
          })) as never,
          options,
        ),
    })),

  'writes intents to a log that was taken over': (database) =>
    change(database, 'logs', (own) => ({
      updateOne: (filter: { _id: never; epoch?: number }, update: { $set: { group?: unknown } }) =>
        own.updateOne(update.$set.group === undefined ? (filter as never) : { _id: filter._id }, update as never),
    })),
}
