import { setTimeout as pause } from 'node:timers/promises'
import { jsonLog } from './adapters/json-log.js'
import { systemClock } from './adapters/system-clock.js'
import { type Composed, compose } from './compose/compose.js'
import { type Config, ConfigError, isHttpUrl } from './config.js'
import type { Log } from './ports/log.js'
import { closeStore, DRAIN_GRACE_MS } from './start.js'

export interface CountersignOptions {
  /**
   * The URL at which callers reach the handler, including the path that it is mounted at. Permits name it as their
   * issuer.
   */
  readonly address: string
  readonly config: Config
  /** Absent: JSON lines on standard output. */
  readonly log?: Log
}

export interface Countersign {
  /**
   * Answers `/v1`, the public pages and the health checks; leaves other paths to the application. Mount it before body
   * parsers: it reads request bodies itself.
   */
  readonly handler: Composed['router']
  /** The first API key of an empty store, and the file that holds it; null on every later start. */
  readonly firstKey: { readonly text: string; readonly path: string } | null
  /**
   * Waits up to 10 s for the requests in progress, then closes the store. Stop sending requests to the handler before.
   *
   * @throws StoreNotClosedError
   */
  close(): Promise<void>
}

/**
 * Opens Countersign as a handler for your own server, instead of a standalone server.
 *
 * @throws ConfigError when permits could not name the address; and the errors of opening the store and the signing keys
 */
export async function createCountersign({ address, config, ...options }: CountersignOptions): Promise<Countersign> {
  if (!isHttpUrl(address))
    throw new ConfigError(['address must be an http or https URL without credentials, query and fragment.'])
  const log = options.log ?? jsonLog(config.logLevel)
  const composed = await compose(config, { clock: systemClock(), log, address, feedInThread: true })
  return {
    handler: composed.router,
    firstKey: composed.bootstrap,
    async close() {
      await Promise.race([composed.drain(), pause(DRAIN_GRACE_MS, undefined, { ref: false })])
      await closeStore(composed)
    },
  }
}
