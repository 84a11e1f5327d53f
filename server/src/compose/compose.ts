/** The server put together, in the order in which its parts depend. Only the files beside this one know adapters. */
import type { RequestListener } from 'node:http'
import { watchSpool } from '../adapters/admin-command-spool/watch.js'
import { bootstrapKeyPath, withdrawBootstrapKey, writeBootstrapKey } from '../adapters/bootstrap-key-file.js'
import { prometheusMetrics } from '../adapters/prometheus-metrics.js'
import { typeidIds } from '../adapters/typeid-ids.js'
import type { Config } from '../config.js'
import type { Route } from '../http/route.js'
import { confirmClock } from '../use-cases/clock/confirm.js'
import { startClock } from '../use-cases/clock/start.js'
import { expireOverdue } from '../use-cases/decisions/transitions/expire.js'
import { bootstrapKey } from '../use-cases/keys/bootstrap.js'
import { createKeyByCommand } from '../use-cases/keys/create-by-command.js'
import { composeHttp } from './http.js'
import { runJobs, serverJobs } from './jobs.js'
import { type LiveState, loadLiveState } from './live-state.js'
import type { Base, Parts } from './parts.js'
import { openSigningKeys } from './signing-keys.js'
import { measuredWriter, type OpenedStore, openStore } from './store.js'

/** What others changed counts here so soon. */
const FOLLOW_EVERY_MS = 500

export interface Composed {
  readonly handler: RequestListener
  readonly routes: readonly Route[]
  readonly policyCount: number
  /** The first key of an empty store and its file; null on every later start. */
  readonly bootstrap: { readonly text: string; readonly path: string } | null
  /** Says that no more requests should come. */
  drain(): void
  /** Ends the jobs and closes the store, once everything is written. */
  close(): Promise<void>
}

/**
 * Opens the store and the signing keys and builds the application upon them.
 *
 * @throws what the store and the keyring refuse to open with
 */
export async function compose(config: Config, parts: Parts): Promise<Composed> {
  const opened = await openStore(config, parts)
  try {
    return await composeOn(opened, config, parts)
  } catch (error) {
    await opened.store.close()
    throw error
  }
}

async function composeOn({ store, lease }: OpenedStore, config: Config, parts: Parts): Promise<Composed> {
  const { clock, log, ids = typeidIds(clock) } = parts
  const behind = await startClock(clock, store)
  if (behind !== null)
    log.warn(
      behind,
      'the system clock is behind the newest audit entry; the server continues from the time of that entry: set the clock (NTP)',
    )
  const metrics = prometheusMetrics()
  const writer = measuredWriter(store, ids, metrics)
  let isServing = true
  const base = { clock, log, ids, metrics, store, writer, isServing: () => isServing }

  const signingKeys = await openSigningKeys(base, config, parts)
  const state = await loadLiveState(base, config, signingKeys)
  const bootstrap = await firstKey(base, state, config)

  const deps = { ...base, ...signingKeys, ...state }
  const all = { ...deps, config, parts, expireOverdue: () => expireOverdue(deps) }
  const { routes, handler } = await composeHttp(all)
  // When all else has succeeded: until then an accepted loss is not forgotten.
  await signingKeys.remember()

  const failed = (what: string) => (err: unknown) => log.error({ err }, what)
  const { keyring, recordChange } = signingKeys
  keyring.watch(recordChange, failed('the signing keys could not be reloaded, or their change could not be recorded'))
  const stops = [
    () => keyring.close(),
    watchSpool({
      dataDir: config.dataDir,
      execute: async (command) => ('clock' in command ? confirmClock(clock) : createKeyByCommand(deps, command)),
      onError: failed('an admin command could not be executed'),
    }),
    state.followed?.follow(state.changes, FOLLOW_EVERY_MS, failed('changes of other servers could not be read')),
    runJobs(serverJobs(all), lease, log),
  ]
  return {
    handler,
    routes,
    policyCount: state.policies.size,
    bootstrap,
    drain: () => {
      isServing = false
    },
    async close() {
      await Promise.all(stops.map((stop) => stop?.()))
      await writer.flushed()
      await signingKeys.remember()
      await store.saveKeyUses(state.keys.takeUnsavedUses()).catch(failed('key uses could not be saved'))
      await store.close()
    },
  }
}

async function firstKey(
  { clock, log, writer }: Base,
  { keys, changes }: LiveState,
  { bootstrapKey: chosen, dataDir }: Config,
): Promise<Composed['bootstrap']> {
  if (keys.size > 0 && chosen !== null)
    log.warn({}, 'COUNTERSIGN_BOOTSTRAP_KEY is ignored: the store already has API keys')
  const text = await bootstrapKey({ clock, keys, writer, changes }, chosen, {
    leave: (made) => writeBootstrapKey(dataDir, made),
    withdraw: (made) => withdrawBootstrapKey(dataDir, made),
  })
  return text === null ? null : { text, path: bootstrapKeyPath(dataDir) }
}
