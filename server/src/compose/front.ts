/** What stands before the application: it answers and bounds connections also while the store is not open yet. */
import type { RequestListener, Server } from 'node:http'
import { typeidIds } from '../adapters/typeid-ids.js'
import type { Config } from '../config.js'
import { ConnectionBound } from '../http/connection-bound.js'
import { Refusals } from '../http/refusals.js'
import { StalledConnections } from '../http/stalled-connections.js'
import { startingApp } from '../http/starting-app.js'
import type { Parts } from './parts.js'

export interface Front {
  /** Answers until the application is put together. */
  readonly starting: RequestListener
  /** Answers what is not a valid HTTP request. */
  readonly refusals: Refusals
  /** To be called before the server listens. */
  watch(server: Server): void
}

export function composeFront({ maxConnections }: Config, parts: Omit<Parts, 'address'>): Front {
  const { clock, log, ids = typeidIds(clock), stalledAfterMs } = parts
  const refusals = new Refusals({ clock, ids, log })
  const bounds = [refusals, new StalledConnections(log, stalledAfterMs), new ConnectionBound(log, maxConnections)]
  return {
    starting: startingApp({ ids, log }),
    refusals,
    watch: (server) => {
      for (const bound of bounds) bound.watch(server)
    },
  }
}
