/** Opens the store that the settings name. */
import { mkdir } from 'node:fs/promises'
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
import type { Parts } from './parts.js'

/** How long a caller waits for durability before it is told that the store is unavailable. */
const STORE_DEADLINE_MS = 5000

export interface OpenedStore {
  readonly store: Store
  /** The leases among the processes that share the store. */
  readonly lease: Lease
}

/** @throws the errors of the store and of the keyring when they cannot be opened */
export async function openStore({ dataDir, mongodbUrl }: Config, parts: Parts): Promise<OpenedStore> {
  const { clock, log, acceptsLoss = false, openStore: open } = parts
  // Signing keys that remember an entry belong to a store: then no new one is made.
  const keyring = await findKeyring({ dataDir, clock })
  const mayBeNew = acceptsLoss || (keyring?.newestEntry ?? null) === null
  if (open !== undefined) return { store: await open(dataDir), lease: soleLease }
  const onError = (err: unknown) => log.error({ err }, 'a background task of the store failed; it will be retried')
  if (mongodbUrl === null) return { store: await openSqliteStore({ dataDir, mayBeNew, onError }), lease: soleLease }
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  // Loaded only when used: nothing else takes as long to load as the driver.
  const { openMongoStore } = await import('@countersign/store-mongodb/open')
  // Leases use the machine's time, whatever clock the decisions use.
  const machine = systemClock()
  const store = await openMongoStore({ url: mongodbUrl, nowMs: () => machine.now().getTime(), onError })
  return { store, lease: store.lease }
}

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
