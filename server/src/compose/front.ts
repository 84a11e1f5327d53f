/** The front of the server: it answers requests and limits connections, also while the store is not open yet. */
import type { Server } from 'node:http'
import { typeidIds } from '../adapters/typeid-ids.js'
import type { Config } from '../config.js'
import { ConnectionLimit } from '../http/connection-limit.js'
import { ProtocolErrors } from '../http/protocol-errors.js'
import { StalledConnections } from '../http/stalled-connections.js'
import { startingApp } from '../http/starting-app.js'
import type { Parts } from './parts.js'

export function composeFront({ maxConnections }: Config, parts: Omit<Parts, 'address'>) {
  const { clock, log, ids = typeidIds(clock), stalledAfterMs } = parts
  const protocolErrors = new ProtocolErrors({ clock, ids, log })
  return {
    protocolErrors,
    /** Answers until the application is composed. */
    starting: startingApp({ ids, log }),
    /** Call it before the server listens. */
    watch(server: Server): void {
      protocolErrors.watch(server)
      new StalledConnections(log, stalledAfterMs).watch(server)
      new ConnectionLimit(log, maxConnections).watch(server)
    },
  }
}
