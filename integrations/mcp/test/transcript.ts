/** What a client and a server say to one another, in a form in which two runs can be compared. */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'

/** One message, without what is another in each run. `method` of a response is that of its request. */
export interface Line {
  readonly from: 'client' | 'server'
  readonly kind: 'request' | 'response' | 'notification'
  readonly method: string
  readonly body: unknown
}

/** Notes all messages of a client, by the feature that is being tried. */
export class Transcript {
  readonly #lines = new Map<string, Line[]>()
  /** By side and id: the method of each request. */
  readonly #methods = new Map<string, string>()
  #feature = 'opening'

  /** Of the features that were begun, in their order. */
  get features(): readonly string[] {
    return [...this.#lines.keys()]
  }

  begin(feature: string): void {
    this.#feature = feature
  }

  /** How often this was said, whatever the feature. */
  count(isMeant: (line: Line) => boolean): number {
    return [...this.#lines.values()].flat().filter(isMeant).length
  }

  /** What was said, each line once, as a program that polls says the same as often as it has time to. */
  of(feature: string): readonly Line[] {
    const seen = new Map<string, Line>()
    for (const line of this.#lines.get(feature) ?? []) seen.set(JSON.stringify(line), line)
    return [...seen.values()]
  }

  /** The same transport, whose messages are noted. */
  note<Noted extends Transport>(transport: Noted): Noted {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => {
      this.#add('client', message)
      return send(message, options)
    }
    const start = transport.start.bind(transport)
    transport.start = () => {
      const { onmessage } = transport
      transport.onmessage = (message: JSONRPCMessage, extra?: object) => {
        this.#add('server', message)
        onmessage?.(message, extra as never)
      }
      return start()
    }
    return transport
  }

  #add(from: Line['from'], message: JSONRPCMessage): void {
    const lines = this.#lines.get(this.#feature) ?? []
    this.#lines.set(this.#feature, lines)
    lines.push(this.#lineOf(from, message))
  }

  #lineOf(from: Line['from'], message: JSONRPCMessage): Line {
    const other = from === 'client' ? 'server' : 'client'
    if (!('method' in message)) {
      const method = this.#methods.get(`${other} ${typeof message.id} ${message.id}`) ?? 'no request'
      return { from, kind: 'response', method, body: comparable({ ...(message as object), id: 0 }, method) }
    }
    const { method, params } = message
    if (!('id' in message)) return { from, kind: 'notification', method, body: comparable(params) }
    this.#methods.set(`${from} ${typeof message.id} ${message.id}`, method)
    return { from, kind: 'request', method, body: comparable(params) }
  }
}

/** What differs from run to run, and what stands in its place. Names of tasks, sessions and requests are random. */
const RANDOM: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '<uuid>'],
  [/\b[0-9a-f]{32}\b/g, '<id>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?/g, '<time>'],
  [/\d{1,2}:\d{2}:\d{2}( [AP]M)?/g, '<time>'],
]

/** Members that name a request of the same connection. */
const REQUEST_NAMES = new Set(['progressToken', 'requestId'])

/** @param method of the request that it answers */
function comparable(value: unknown, method?: string): unknown {
  if (typeof value === 'string') return RANDOM.reduce((text, [random, name]) => text.replace(random, name), value)
  if (Array.isArray(value)) return value.map((element) => comparable(element))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).flatMap(([name, member]) => {
    if (name === 'countersign/decision') return []
    // Who polls sees some of what the notifications tell.
    if (method === 'tasks/get' && name === 'statusMessage') return []
    if (REQUEST_NAMES.has(name)) return [[name, typeof member]]
    const read = name === 'blob' ? Buffer.from(String(member), 'base64').toString('latin1') : member
    const compared = comparable(read, method)
    // Ours was all that there was.
    const isGone = name === '_meta' && Object.keys(Object(compared)).length === 0
    return isGone ? [] : [[name, compared]]
  })
  const compared: Record<string, unknown> = Object.fromEntries(members)
  // server-everything draws the level of its messages.
  if (/level[ -]message/i.test(String(compared.data))) return { ...compared, level: '<drawn>', data: '<drawn>' }
  return compared
}
