/** What stands before the application: it answers requests and limits connections, also while the store is not open yet. */
import type { RequestListener, Server } from 'node:http'
import { typeidIds } from '../adapters/typeid-ids.js'
import type { Config } from '../config.js'
import { ConnectionLimit } from '../http/connection-limit.js'
import { ProtocolErrors } from '../http/protocol-errors.js'
import { StalledConnections } from '../http/stalled-connections.js'
import { startingApp } from '../http/starting-app.js'
import type { Parts } from './parts.js'

export interface Front {
  /** Answers until the application is put together. */
  readonly starting: RequestListener
  /** Answers what is not a valid HTTP request. */
  readonly protocolErrors: ProtocolErrors
  /** To be called before the server listens. */
  watch(server: Server): void
}

export function composeFront({ maxConnections }: Config, parts: Omit<Parts, 'address'>): Front {
  const { clock, log, ids = typeidIds(clock), stalledAfterMs } = parts
  const protocolErrors = new ProtocolErrors({ clock, ids, log })
  const watchers = [
    protocolErrors,
    new StalledConnections(log, stalledAfterMs),
    new ConnectionLimit(log, maxConnections),
  ]
  return {
    starting: startingApp({ ids, log }),
    protocolErrors,
    watch: (server) => {
      for (const watcher of watchers) watcher.watch(server)
    },
  }
}
