/**
 * Holds readers of live events that connect before the store is open. A standard EventSource gives up permanently after
 * any status but 200, so each gets the head of a stream and comments, and its stream continues in the same response
 * when the server is ready. Permissions are checked then: before that, no key is known.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { waitingText } from '../state/event-stream-text.js'
import { EVENT_STREAM_HEADERS } from './routes/events.js'
import { headOf } from './send.js'

const HEARTBEAT_MS = 14_000
/** The time after which a reader that found no place should reconnect. */
const COME_AGAIN_MS = 5000

export class WaitingReaders {
  private readonly waiting = new Map<ServerResponse, IncomingMessage>()
  private heartbeat: NodeJS.Timeout | undefined

  /**
   * @param limit how many may wait, since their keys cannot be checked yet. Further readers are asked to reconnect
   *   later.
   */
  constructor(private readonly limit: number) {}

  /** Starts the answer of a request for live events, and keeps it open. */
  hold(req: IncomingMessage, res: ServerResponse, requestId: string): void {
    // The code that continues the answer reads the same request id.
    req.headers['x-request-id'] = requestId
    res.writeHead(200, headOf(EVENT_STREAM_HEADERS, requestId))
    if (this.waiting.size >= this.limit) {
      res.end(waitingText(COME_AGAIN_MS))
      return
    }
    res.write(waitingText())
    this.waiting.set(res, req)
    res.once('close', () => this.left(res))
    this.heartbeat ??= setInterval(() => this.beat(), HEARTBEAT_MS).unref()
  }

  /** Answers the waiting requests like any others, once the server is ready. */
  serve(listener: RequestListener): void {
    for (const [res, req] of [...this.waiting]) {
      this.left(res)
      if (!res.destroyed) listener(req, res)
    }
  }

  private beat(): void {
    for (const res of this.waiting.keys()) res.write(waitingText())
  }

  private left(res: ServerResponse): void {
    this.waiting.delete(res)
    if (this.waiting.size > 0) return
    clearInterval(this.heartbeat)
    this.heartbeat = undefined
  }
}
