import type { Server } from 'node:http'
import type { DropArgument } from 'node:net'
import type { Log } from '../ports/log.js'

/** How often refused connections are logged at most. */
const REPORT_EVERY_MS = 10_000

/**
 * Limits how many connections are open. A further connection is closed before anything of it is read: nothing was done, so
 * the caller may try again.
 */
export class ConnectionLimit {
  private refused = 0
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly log: Log,
    private readonly maxConnections: number,
  ) {}

  /** Limits the server's connections until it closes. */
  watch(server: Server): void {
    server.maxConnections = this.maxConnections
    server.on('drop', (connection) => this.note(connection))
    server.once('close', () => clearTimeout(this.timer))
  }

  private note(connection: DropArgument | undefined): void {
    this.refused += 1
    if (this.timer !== undefined) return
    this.report(connection?.remoteAddress)
    this.timer = setTimeout(() => {
      this.timer = undefined
      if (this.refused > 0) this.report()
    }, REPORT_EVERY_MS).unref()
  }

  private report(address?: string): void {
    const fields = { max_connections: this.maxConnections, refused: this.refused, ...(address && { address }) }
    this.log.warn(fields, 'closed new connections: MAX_CONNECTIONS is reached')
    this.refused = 0
  }
}
