import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Log } from '../ports/log.js'

/** So long a connection may take nothing of what is written for it. */
const STALLED_AFTER_MS = 30_000
const LOOKS = 30

interface Taken {
  readonly bytes: number
  readonly atMs: number
}

/**
 * Ends connections that leave their answers standing: those would be kept for good. Who waits, or has nothing to read,
 * stays. Answers are written in pieces, so that a slow reader is seen to read.
 */
export class StalledConnections {
  private readonly open = new Set<Socket>()
  /** What those have taken for whom something waits, and since when it is no more. */
  private readonly waiting = new Map<Socket, Taken>()
  private timer: NodeJS.Timeout | undefined

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
    this.timer = setInterval(() => this.look(performance.now()), this.stalledAfterMs / LOOKS).unref()
    server.once('close', () => clearInterval(this.timer))
  }

  private look(nowMs: number): void {
    for (const socket of this.open) {
      const bytes = socket.bytesWritten - socket.writableLength
      const last = this.waiting.get(socket)
      if (socket.writableLength === 0) this.waiting.delete(socket)
      else if (last === undefined || last.bytes !== bytes) this.waiting.set(socket, { bytes, atMs: nowMs })
      else if (nowMs - last.atMs >= this.stalledAfterMs) this.end(socket)
    }
  }

  private end(socket: Socket): void {
    const fields = { address: socket.remoteAddress, seconds: this.stalledAfterMs / 1000 }
    this.log.info(fields, 'ended a connection that took nothing of its answer')
    socket.destroy()
  }
}
