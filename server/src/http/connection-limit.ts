import type { Server } from 'node:http'
import type { Log } from '../ports/log.js'

/** How often refused connections are logged at most. */
const REPORT_EVERY_MS = 10_000

/**
 * Limits how many connections of the server are open. A further connection is closed before anything of it is read: nothing
 * was done, so the caller may try again.
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
