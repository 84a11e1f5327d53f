/** Opens the store that the settings name. */
import { mkdir } from 'node:fs/promises'
import type { MessagePort } from 'node:worker_threads'
import type { Lease } from '@countersign/store-port/lease'
import type { Store } from '@countersign/store-port/store'
import { openSqliteStore } from '@countersign/store-sqlite/open'
import { findKeyring } from '../adapters/keyring/keyring.js'
import { soleLease } from '../adapters/sole-lease.js'
import { systemClock } from '../adapters/system-clock.js'
import type { Config } from '../config.js'
import { MutationWriter } from '../mutation-writer.js'
import type { Ids } from '../ports/ids.js'
import type { Metrics } from '../ports/metrics.js'
import type { FeedStoreAddress } from './feed-thread.js'
import type { Parts } from './parts.js'

/** How long a caller waits for durability before it is told that the store is unavailable. */
const STORE_DEADLINE_MS = 5000

export interface OpenedStore {
  readonly store: Store
  /** The leases among the processes that share the store. */
  readonly lease: Lease
  /** How another thread opens what the feed keeps; null: the feed runs in this one. */
  readonly feedThread: FeedThreadStore | null
}

export interface FeedThreadStore {
  readonly address: FeedStoreAddress
  /** A port to the embedded store's one writer. */
  readonly connectWriter: () => Promise<MessagePort>
}

/** @throws the errors of the store and of the keyring when they cannot be opened */
export async function openStore({ dataDir, mongodbUrl }: Config, parts: Parts): Promise<OpenedStore> {
  const { clock, log, acceptsLoss = false, feedInThread = false, openStore: open } = parts
  // Signing keys that remember an entry belong to a store: then no new one is made.
  const keyring = await findKeyring({ dataDir, clock })
  const mayBeNew = acceptsLoss || (keyring?.newestEntry ?? null) === null
  if (open !== undefined) return { store: await open(dataDir), lease: soleLease, feedThread: null }
  const onError = (err: unknown) => log.error({ err }, 'a background task of the store failed; it will be retried')
  if (mongodbUrl === null) {
    const store = await openSqliteStore({ dataDir, mayBeNew, onError })
    const address = { kind: 'sqlite', dataDir } as const
    return {
      store,
      lease: soleLease,
      feedThread: feedInThread ? { address, connectWriter: () => store.connectWriter() } : null,
    }
  }
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  // Loaded only when used: nothing else takes as long to load as the driver.
  const { openMongoStore } = await import('@countersign/store-mongodb/open')
  // Leases use the machine's time, whatever clock the decisions use.
  const machine = systemClock()
  const store = await openMongoStore({ url: mongodbUrl, nowMs: () => machine.now().getTime(), onError })
  const address = { kind: 'mongodb', url: mongodbUrl } as const
  return { store, lease: store.lease, feedThread: feedInThread ? { address, connectWriter: noWriter } : null }
}

/** On MongoDB every thread writes for itself. */
const noWriter = () => Promise.reject(new Error('This store has no one writer.'))

/** Writes to the store, and measures each commit, whether it succeeds or not. */
export function measuredWriter(store: Store, ids: Ids, metrics: Metrics, { monotonicMs }: Parts): MutationWriter {
  const commit: Store['commit'] = async (mutations) => {
    const started = performance.now()
    try {
      return await store.commit(mutations)
    } finally {
      metrics.committed(performance.now() - started)
    }
  }
  const writer = new MutationWriter({ openLog: () => store.openLog(), commit }, ids, STORE_DEADLINE_MS, monotonicMs)
  metrics.watchWaitingMutations(() => writer.waitingMutations)
  return writer
}
