/** The front of the server: it answers requests and limits connections, even before the store is open. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { typeidIds } from '../adapters/typeid-ids.js'
import type { Config } from '../config.js'
import { limitConnections } from '../http/connection-limit.js'
import { Connections } from '../http/connections.js'
import { ProtocolErrors } from '../http/protocol-errors.js'
import { StalledConnections } from '../http/stalled-connections.js'
import { startingListener } from '../http/starting.js'
import { WaitingReaders } from '../http/waiting-readers.js'
import { MAX_STREAMS } from '../state/live-events.js'
import type { Parts } from './parts.js'

const HTTP_LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  // A request without a Host header is refused with a problem, like any other.
  requireHostHeader: false,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000,
}

export interface Front {
  /** Not listening yet. */
  readonly server: Server
  readonly connections: Connections
  /** Answers every request from now on. */
  serve(listener: RequestListener): void
}

export function composeFront({ maxConnections }: Config, parts: Omit<Parts, 'address' | 'connections'>): Front {
  const { clock, log, ids = typeidIds(clock), stalledAfterMs } = parts
  const connections = new Connections(log)
  const protocolErrors = new ProtocolErrors({ clock, ids, log, connections })
  // The other connections are kept free for health checks and for the first requests.
  const waitingReaders = new WaitingReaders(Math.min(MAX_STREAMS, Math.ceil(maxConnections / 2)))
  let listener = startingListener({ ids, log, connections, waitingReaders })
  const server = createServer(HTTP_LIMITS, (req, res) => {
    if (protocolErrors.accepts(req, res) && connections.exchange(req, res) !== null) listener(req, res)
  })
  protocolErrors.watch(server)
  new StalledConnections(log, stalledAfterMs).watch(server)
  limitConnections(server, maxConnections, log)
  return {
    server,
    connections,
    serve(next) {
      listener = next
      waitingReaders.serve(next)
    },
  }
}
