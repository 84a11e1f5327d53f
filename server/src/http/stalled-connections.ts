import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { poll } from '../concurrency/poll.js'
import type { Log } from '../ports/log.js'

/** How long a connection may leave its answer unread. */
const STALLED_AFTER_MS = 30_000
/**
 * How many checks in a row must see no progress. It counts checks instead of time, because a suspended process checks
 * nothing.
 */
export const CHECKS = 30

interface Progress {
  /** The bytes that the connection has read; null when it has no unread bytes. */
  readonly bytes: number | null
  /** How many checks in a row saw no progress. */
  readonly checks: number
}

/**
 * Closes connections that do not read their answers, which would otherwise stay in memory forever. A connection without
 * an unread answer stays open. Answers are sent in chunks, so that a slow reader makes visible progress.
 */
export class StalledConnections {
  private readonly connections = new Map<Socket, Progress>()

  constructor(
    private readonly log: Log,
    private readonly stalledAfterMs = STALLED_AFTER_MS,
  ) {}

  /** Checks the server's connections until it closes. */
  watch(server: Server): void {
    server.on('connection', (socket) => {
      this.connections.set(socket, { bytes: null, checks: 0 })
      socket.once('close', () => this.connections.delete(socket))
    })
    const { stop } = poll(() => this.check(), {
      everyMs: this.stalledAfterMs / CHECKS,
      onError: (err) => this.log.error({ err }, 'connections could not be checked for stalled readers'),
    })
    server.once('close', stop)
  }

  /** Checks every connection once. */
  check(): void {
    for (const [socket, last] of this.connections) {
      const bytes = socket.writableLength === 0 ? null : socket.bytesWritten - socket.writableLength
      const checks = bytes !== null && bytes === last.bytes ? last.checks + 1 : 0
      if (checks === CHECKS) this.end(socket)
      else this.connections.set(socket, { bytes, checks })
    }
  }

  private end(socket: Socket): void {
    const fields = { address: socket.remoteAddress, seconds: this.stalledAfterMs / 1000 }
    this.log.info(fields, 'closed a connection that did not read its response')
    socket.destroy()
  }
}
