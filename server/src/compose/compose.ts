/** Assembles the server, in the order in which its parts depend on each other. */
import { watchSpool } from '../adapters/admin-command-spool/watch.js'
import { bootstrapKeyPath, withdrawBootstrapKey, writeBootstrapKey } from '../adapters/bootstrap-key-file.js'
import { prometheusMetrics } from '../adapters/prometheus-metrics.js'
import { typeidIds } from '../adapters/typeid-ids.js'
import type { Config } from '../config.js'
import { Connections } from '../http/connections.js'
import { acceptRewrite } from '../use-cases/audit/accept-rewrite.js'
import { confirmClock } from '../use-cases/clock/confirm.js'
import { startClock } from '../use-cases/clock/start.js'
import { bootstrapKey } from '../use-cases/keys/bootstrap.js'
import { createKeyByCommand } from '../use-cases/keys/create-by-command.js'
import { operatorKey } from '../use-cases/sessions/sign-in.js'
import { WAITS } from '../waits.js'
import { startFeed } from './feed.js'
import { type ComposedHttp, composeHttp } from './http.js'
import { runJobs, serverJobs } from './jobs.js'
import { type Core, loadLiveState } from './live-state.js'
import type { Base, Parts } from './parts.js'
import { type Patience, patienceWith } from './patience.js'
import { openSigningKeys } from './signing-keys.js'
import { measuredWriter, type OpenedStore, openStore } from './store.js'
import { openTracer } from './tracer.js'

/** How soon this process sees changes by others. */
const FOLLOW_EVERY_MS = 500

export interface Composed extends ComposedHttp {
  readonly policyCount: number
  /** The first key of an empty store and its file; null on every later start. */
  readonly bootstrap: { readonly text: string; readonly path: string } | null
  /**
   * Creates the code of a new one-time link to the dashboard, for anyone who sees the terminal of the server. Null when
   * no valid key has every right.
   */
  readonly signInCode: () => string | null
  /** Asks callers to send no more requests. Resolves when those in progress are answered. */
  drain(): Promise<void>
  /** Ends the jobs, writes what is pending, and closes the store. */
  close(): Promise<void>
}

/**
 * Opens the store and the signing keys, and builds the application on them. Waits for a slow store, and logs that it
 * waits.
 *
 * @throws the errors of the store and of the keyring when they cannot be opened
 */
export async function compose(config: Config, parts: Parts): Promise<Composed> {
  const opening = await patienceWith(config, parts.log, false)
  const opened = await opening.until('the store to open', () => openStore(config, parts))
  try {
    return await composeOn(opened, config, parts)
  } catch (error) {
    await opened.store.close()
    throw error
  }
}

async function composeOn({ store, lease, feedThread }: OpenedStore, config: Config, parts: Parts): Promise<Composed> {
  const { clock, log, ids = typeidIds(clock) } = parts
  const failed = (what: string) => (err: unknown) => log.error({ err }, what)
  const patience = await patienceWith(config, log, true)
  const behind = await patience.until('the newest entry of the audit log', () => startClock(clock, store))
  if (behind !== null)
    log.warn(
      behind,
      'the system clock is behind the newest audit entry, from which time continues: set the clock (NTP)',
    )
  const metrics = prometheusMetrics()
  const tracer = await openTracer(config, log)
  const writer = measuredWriter(store, ids, metrics, parts)
  let isServing = true
  const connections = parts.connections ?? new Connections(log)
  const base: Base = { ...parts, connections, config, ids, metrics, tracer, store, writer, isServing: () => isServing }

  const signingKeys = await patience.until('the first write to the store', () => openSigningKeys(base))
  const state = await patience.until('policies, agents and keys', () => loadLiveState(base, signingKeys))
  const core: Core = { ...base, ...signingKeys, ...state }
  const bootstrap = await firstKey(core, patience)
  const secret = await patience.until('the secret of cursors', () => store.secret('cursors'))
  writer.limitWaits(WAITS.storeDeadlineMs)
  const feed = startFeed(core, feedThread)
  const http = composeHttp(core, feed, secret)
  writer.onEntries = (entries) => {
    feed.written(entries)
    http.liveEvents.wake()
  }
  // After everything else has succeeded: an accepted loss takes effect from here on.
  await core.remember()

  const { keyring, keys, policies, changes, followed } = core
  keyring.watch(
    core.recordChange,
    failed('the signing keys could not be read again, or their change could not be recorded'),
  )
  const stops = [
    () => keyring.close(),
    watchSpool({
      dataDir: config.dataDir,
      async execute(command) {
        if ('clock' in command) return confirmClock(clock)
        if ('audit' in command) return acceptRewrite({ clock, writer, trees: feed })
        return createKeyByCommand({ clock, ids, keys, writer, changes }, command)
      },
      onRefused: (reason) => log.warn({ reason }, 'an admin command could not be executed'),
      onError: failed('an admin command could not be executed'),
    }),
    followed?.follow(changes, FOLLOW_EVERY_MS, failed('what other servers changed could not be read')),
    runJobs(serverJobs(core, http.liveEvents), lease, log),
  ]
  return {
    ...http,
    policyCount: policies.size,
    bootstrap,
    signInCode: () => {
      const key = operatorKey(core)
      return key === undefined ? null : core.signInCodes.make(key.id, clock.now())
    },
    drain: () => {
      isServing = false
      return connections.drain()
    },
    async close() {
      const tracerClosed = tracer.close()
      await Promise.all(stops.map((stop) => stop?.()))
      // Its readers continue from the store, whatever could not be done here.
      await feed.close().catch(failed('the feed could not be closed in order'))
      await writer.flushed()
      await core.remember()
      await store.keys.saveUses(keys.takeUnsavedUses()).catch(failed('key uses could not be saved'))
      await store.close()
      await tracerClosed
    },
  }
}

async function firstKey(
  { config, clock, log, writer, keys, changes }: Core,
  patience: Patience,
): Promise<Composed['bootstrap']> {
  const { bootstrapKey: chosen, dataDir } = config
  if (keys.size > 0 && chosen !== null) log.warn({}, 'COUNTERSIGN_BOOTSTRAP_KEY is ignored: the store has keys already')
  const patiently = <T>(write: () => Promise<T>) => patience.until('the first API key to be stored', write)
  const text = await bootstrapKey({ clock, keys, writer, changes, patiently }, chosen, {
    leave: (made) => writeBootstrapKey(dataDir, made),
    withdraw: (made) => withdrawBootstrapKey(dataDir, made),
  })
  return text === null ? null : { text, path: bootstrapKeyPath(dataDir) }
}
