import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { poll } from '@countersign/concurrency'
import type { Log } from '../ports/log.js'

/** So long a connection may take nothing of what is written for it. */
const STALLED_AFTER_MS = 30_000
/** So many looks in a row have to see that. Looks are counted, and no time: a process that stood still has not looked. */
export const LOOKS = 30

interface Taken {
  readonly bytes: number
  /** How many looks in a row have seen no more. */
  readonly looks: number
}

/**
 * Ends connections that leave their answers standing: those would be kept for good. Who waits, or has nothing to read,
 * stays. Answers are written in pieces, so that a slow reader is seen to read.
 */
export class StalledConnections {
  private readonly open = new Set<Socket>()
  /** What those have taken for whom something waits. */
  private readonly waiting = new Map<Socket, Taken>()

  constructor(
    private readonly log: Log,
    private readonly stalledAfterMs = STALLED_AFTER_MS,
  ) {}

  /** Until the server is closed. */
  watch(server: Server): void {
    server.on('connection', (socket) => {
      this.open.add(socket)
      socket.once('close', () => {
        this.open.delete(socket)
        this.waiting.delete(socket)
      })
    })
    const { stop } = poll(() => this.look(), {
      everyMs: this.stalledAfterMs / LOOKS,
      onError: (err) => this.log.error({ err }, 'stalled connections could not be looked for'),
    })
    server.once('close', stop)
  }

  /** Looks at every connection once. */
  look(): void {
    for (const socket of this.open) {
      const bytes = socket.bytesWritten - socket.writableLength
      const last = this.waiting.get(socket)
      const looks = last?.bytes === bytes ? last.looks + 1 : 0
      if (socket.writableLength === 0) this.waiting.delete(socket)
      else if (looks === LOOKS) this.end(socket)
      else this.waiting.set(socket, { bytes, looks })
    }
  }

  private end(socket: Socket): void {
    const fields = { address: socket.remoteAddress, seconds: this.stalledAfterMs / 1000 }
    this.log.info(fields, 'closed a connection that did not read its response')
    socket.destroy()
  }
}
