/** What the upstream answers to a request of the proxy, read message by message. */
import type { IncomingMessage } from 'node:http'
import type { JsonRpcMessage } from '../json-rpc.js'
import { commentText, eventText, retryText, streamParts } from './event-stream.js'
import { readBytes } from './http-refusal.js'
import type { Deliver, HttpSession } from './http-session.js'
import { mediaTypeOf } from './upstream-endpoint.js'

/** The limit of one message, or of one answer that is not a stream. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
const MAX_REFUSAL_BYTES = 1024 * 1024

/** The server's answer was lost, so the outcome is unknown. The settlement reads that from `code`. */
export class AnswerCut extends Error {
  override readonly name = 'AnswerCut'
  readonly code = 'ECONNRESET'

  constructor(reason: string, options?: ErrorOptions) {
    super(`The answer of the server was lost: ${reason}`, options)
  }
}

/** An HTTP status other than success. It settles the call: a call that the server refused did not run. */
export class UpstreamStatus extends Error {
  override readonly name = 'UpstreamStatus'
  readonly status: number

  constructor(status: number) {
    super(`The server answered HTTP ${status}`)
    this.status = status
  }
}

export type AnswerKind = 'json' | 'stream' | 'other'

export function kindOf({ headers }: IncomingMessage): AnswerKind {
  // It was asked not to.
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') return 'other'
  const type = mediaTypeOf(headers['content-type'])
  if (type === 'application/json') return 'json'
  return type === 'text/event-stream' ? 'stream' : 'other'
}

export interface StreamRelay {
  readonly session: HttpSession
  /** Resolves once there is room for more. */
  readonly write: (text: string) => Promise<void>
  /** Hears of each id that the client may have seen. */
  readonly noteId?: ((id: string) => void) | undefined
}

/**
 * Hands on all events of a stream. What is no message, and no place to take the stream up at, is left out: an `endpoint` would
 * lead a client past the proxy.
 *
 * @throws what reading throws
 */
export async function relayStream(
  answer: IncomingMessage,
  { session, write, noteId = () => undefined }: StreamRelay,
): Promise<void> {
  for await (const part of streamParts(answer, MAX_MESSAGE_BYTES)) {
    if (part.kind === 'retry') await write(retryText(part.milliseconds))
    else if (part.kind === 'comment') await write(commentText(part.text))
    else if (part.event === undefined || part.event === 'message') {
      const { id, data } = part
      if (id !== undefined) noteId(id)
      const deliver: Deliver = (message) => write(eventText(JSON.stringify(message), id))
      if (data !== '') await relayText(session, data, deliver)
      else if (id !== undefined) await write(eventText('', id))
    }
  }
}

/** The same of an answer that is one JSON text. @throws AnswerCut, and what reading throws */
export async function relayJson(session: HttpSession, answer: IncomingMessage, deliver: Deliver): Promise<void> {
  const body = await readBytes(answer, MAX_MESSAGE_BYTES)
  if (body === undefined) throw new AnswerCut(`it has more than ${MAX_MESSAGE_BYTES} bytes`)
  await relayText(session, new TextDecoder().decode(body), deliver)
}

/** An answer other than success, with its content. Nothing of a redirect is passed on: following it would bypass the proxy. */
export interface OtherAnswer {
  readonly status: number
  readonly messages: readonly JsonRpcMessage[]
  readonly text?: string | undefined
}

/** Its messages go through the gate as any others. Never rejects: what cannot be read is left out. */
export async function readOther(answer: IncomingMessage, session: HttpSession): Promise<OtherAnswer> {
  const status = answer.statusCode!
  const messages: JsonRpcMessage[] = []
  if (status >= 300 && status < 400) answer.destroy()
  else if (kindOf(answer) === 'json') {
    await relayJson(session, answer, (message) => void messages.push(message)).catch(() => undefined)
  } else if (mediaTypeOf(answer.headers['content-type']) === 'text/plain') {
    const text = await readBytes(answer, MAX_REFUSAL_BYTES).catch(() => undefined)
    return { status, messages, text: text?.toString('utf8') }
  } else answer.destroy()
  return { status: status >= 300 && status < 400 ? 502 : status, messages }
}

async function relayText(session: HttpSession, text: string, deliver: Deliver): Promise<void> {
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return
  }
  await session.gate.fromServer(message, deliver)
}
