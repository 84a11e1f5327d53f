import type { Server } from 'node:http'
import type { Log } from '../ports/log.js'

/** The shortest time between two log lines about refused connections. */
const REPORT_EVERY_MS = 10_000

/**
 * Limits the number of open connections of the server. A further connection is closed before any of it is read. Nothing
 * was done then, so the caller may try again.
 */
export function limitConnections(server: Server, maxConnections: number, log: Log): void {
  let refused = 0
  let timer: NodeJS.Timeout | undefined
  const report = (address?: string): void => {
    const fields = { max_connections: maxConnections, refused, ...(address && { address }) }
    log.warn(fields, 'closed new connections: MAX_CONNECTIONS is reached')
    refused = 0
  }
  server.maxConnections = maxConnections
  server.on('drop', (connection) => {
    refused += 1
    if (timer !== undefined) return
    report(connection?.remoteAddress)
    timer = setTimeout(() => {
      timer = undefined
      if (refused > 0) report()
    }, REPORT_EVERY_MS).unref()
  })
  server.once('close', () => clearTimeout(timer))
}
