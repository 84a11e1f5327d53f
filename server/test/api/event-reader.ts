/** A reader of live events over a connection of its own, which reads as fast as the events come. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { until } from '@countersign/testkit'
import type { RunningServer } from '../running-server.js'

export interface ReadEvent {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: events are whatever JSON came; tests assert what they read of it
  readonly data: any
}

export interface ReaderOptions {
  /** `/v1/events` when absent. */
  readonly path?: string
  readonly query?: string
  /** Another key than the bootstrap key. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

export class EventReader {
  readonly events: ReadEvent[] = []
  text = ''
  /** As an EventSource would have it. */
  lastId: string | null = null
  /** How it ended: whole, or cut off in the middle. */
  end: 'whole' | 'cut off' | null = null
  private unread = ''

  private constructor(
    private readonly req: ClientRequest,
    readonly res: IncomingMessage,
  ) {
    res.setEncoding('utf8').on('data', (text: string) => this.hear(text))
    res.on('close', () => {
      this.end = res.complete ? 'whole' : 'cut off'
    })
    // Told by `end`, too.
    res.on('error', () => {})
  }

  /** Resolves with the headers of the answer, whatever its status. */
  static open(
    server: Pick<RunningServer, 'url' | 'key'>,
    { path = '/v1/events', query = '', key = server.key, headers = {} }: ReaderOptions = {},
  ) {
    return new Promise<EventReader>((resolve, reject) => {
      const all = { Authorization: `Bearer ${key}`, ...headers }
      const req = request(`${server.url}${path}${query}`, { headers: all, agent: false }, (res) =>
        resolve(new EventReader(req, res)),
      )
      req.on('error', reject).end()
    })
  }

  /** Resolves when the stream has begun: what happens from then on is in it. */
  static async begin(server: RunningServer, options: ReaderOptions = {}): Promise<EventReader> {
    const reader = await EventReader.open(server, options)
    await until(`the begin of a stream that got ${reader.text}`, () => reader.lastId ?? undefined)
    return reader
  }

  /** The first events, a number of them, when they have come. */
  async first(count: number): Promise<readonly ReadEvent[]> {
    await until(`${count} events`, () => this.events.length >= count || undefined)
    return this.events.slice(0, count)
  }

  async ended(): Promise<'whole' | 'cut off'> {
    return until('the end of a stream', () => this.end ?? undefined)
  }

  close(): void {
    this.req.destroy()
  }

  private hear(text: string): void {
    this.text += text
    this.unread += text
    const blocks = this.unread.split('\n\n')
    this.unread = blocks.pop() as string
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split('\n').flatMap((line) => {
          const at = line.indexOf(': ')
          return at > 0 ? [[line.slice(0, at), line.slice(at + 2)]] : []
        }),
      )
      this.lastId = fields.id ?? this.lastId
      if (fields.data !== undefined)
        this.events.push({ id: fields.id as string, event: fields.event as string, data: JSON.parse(fields.data) })
    }
  }
}
