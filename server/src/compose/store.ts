/** Opens the store that the settings name. */
import { mkdir } from 'node:fs/promises'
import type { MessagePort } from 'node:worker_threads'
import { findKeyring } from '../adapters/keyring/keyring.js'
import { systemClock } from '../adapters/system-clock.js'
import type { Config } from '../config.js'
import { MutationWriter } from '../mutation-writer.js'
import type { Ids } from '../ports/ids.js'
import type { Metrics } from '../ports/metrics.js'
import type { Lease } from '../ports/store/lease.js'
import type { Store } from '../ports/store/store.js'
import { openSqliteStore, type StoreAtRest } from '../stores/sqlite/open.js'
import { assertNothingLost } from '../use-cases/signing-keys/lost-entries.js'
import type { FeedStoreAddress } from './feed-thread.js'
import type { Parts } from './parts.js'

export interface OpenedStore {
  readonly store: Store
  /** The leases among the processes that share the store. */
  readonly lease: Lease
  /** How another thread opens the feed's part of the store; null: the feed runs in this thread. */
  readonly feedThread: FeedThreadStore | null
}

export interface FeedThreadStore {
  readonly address: FeedStoreAddress
  /** Returns a port to the only writer of the embedded store. */
  readonly connectWriter: () => Promise<MessagePort>
}

/** The embedded store belongs to one process, so that process holds every lease. */
const soleLease: Lease = { hold: () => Promise.resolve(true) }

/** @throws the errors of the store and of the keyring when they cannot be opened */
export async function openStore({ dataDir, mongodbUrl }: Config, parts: Parts): Promise<OpenedStore> {
  const { clock, log, acceptsLoss = false, feedInThread = false, openStore: open } = parts
  // Signing keys that remember an entry belong to an existing store, so no new store is created.
  const keyring = await findKeyring({ dataDir, clock })
  const mayBeNew = acceptsLoss || (keyring?.newestEntry ?? null) === null
  if (open !== undefined) return { store: await open(dataDir), lease: soleLease, feedThread: null }
  const onError = (err: unknown) => log.error({ err }, 'a background task of the store failed; it will be retried')
  if (mongodbUrl === null) {
    const assertWanted = (found: StoreAtRest) => {
      if (!acceptsLoss) assertNothingLost(keyring?.newestEntry ?? null, found)
    }
    const store = await openSqliteStore({ dataDir, mayBeNew, assertWanted, onError })
    const address = { kind: 'sqlite', dataDir } as const
    return {
      store,
      lease: soleLease,
      feedThread: feedInThread ? { address, connectWriter: () => store.connectWriter() } : null,
    }
  }
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  // Loaded only when used, because the driver takes longer to load than anything else.
  const { openMongoStore } = await import('../stores/mongodb/open.js')
  // Leases use the machine's time, regardless of the clock for decisions.
  const machine = systemClock()
  const store = await openMongoStore({ url: mongodbUrl, nowMs: () => machine.now().getTime(), onError })
  if (!(await store.isReplicated()))
    log.warn(
      {},
      'MongoDB is one server and not a replica set: when it is down, no decision is made, and its data are on one disk. Make it a replica set: rs.initiate().',
    )
  const address = { kind: 'mongodb', url: mongodbUrl } as const
  return { store, lease: store.lease, feedThread: feedInThread ? { address, connectWriter: noWriter } : null }
}

/** On MongoDB every thread writes by itself. */
const noWriter = () => Promise.reject(new Error('This store has no one writer.'))

/** Writes to the store, and measures each commit, successful or not. Waits for a commit without a time limit. */
export function measuredWriter(store: Store, ids: Ids, metrics: Metrics, { monotonicMs }: Parts): MutationWriter {
  const commit: Store['commit'] = async (mutations) => {
    const started = performance.now()
    try {
      return await store.commit(mutations)
    } catch (error) {
      metrics.commitFailed()
      throw error
    } finally {
      metrics.committed(performance.now() - started)
    }
  }
  const writer = new MutationWriter({ openLog: () => store.openLog(), commit }, ids, null, monotonicMs)
  metrics.watchWaitingMutations(() => writer.waitingMutations)
  return writer
}
