/** Reads the upstream's answers to requests of the proxy, message by message. */
import type { IncomingMessage } from 'node:http'
import { oneLineOfJson } from '../../json/exact-json.js'
import { AnswerTooLarge } from '../../messages/answer-errors.js'
import { isObject, type JsonRpcMessage } from '../../messages/json-rpc.js'
import { MAX_ANSWER_BYTES, parsedServerText } from '../message-text.js'
import { commentText, eventText, retryText, streamParts } from './event-stream.js'
import { readBytes } from './http-refusal.js'
import type { Deliver, HttpSession } from './http-session.js'
import { mediaTypeOf } from './upstream-endpoint.js'

const MAX_REFUSAL_BYTES = 1024 * 1024

/** The server's answer was lost, so the outcome is unknown. The settlement reads that from `code`. */
export class AnswerCut extends Error {
  override readonly name = 'AnswerCut'
  readonly code = 'ECONNRESET'

  constructor(reason: string, options?: ErrorOptions) {
    super(`The answer of the server was lost: ${reason}`, options)
  }
}

export type AnswerKind = 'json' | 'stream' | 'other'

export function kindOf({ headers }: IncomingMessage): AnswerKind {
  // The proxy did not accept an encoding.
  if (isEncoded({ headers })) return 'other'
  const type = mediaTypeOf(headers['content-type'])
  if (type === 'application/json') return 'json'
  return type === 'text/event-stream' ? 'stream' : 'other'
}

function isEncoded({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return (headers['content-encoding'] ?? 'identity') !== 'identity'
}

export interface StreamRelay {
  readonly session: HttpSession
  /** Resolves when there is room for more. */
  readonly write: (text: string) => Promise<void>
  /** Called with each id that the client may see. */
  readonly noteId?: ((id: string) => void) | undefined
  /** Whether the client resumes a stream that it has received before. */
  readonly isReplay?: boolean | undefined
}

/**
 * Relays all events of a stream. Leaves out everything else, unless it marks where the stream can be resumed: an `endpoint` event
 * would lead a client past the proxy.
 *
 * @throws AnswerTooLarge; what reading throws
 */
export async function relayStream(
  answer: IncomingMessage,
  { session, write, noteId = () => undefined, isReplay }: StreamRelay,
): Promise<void> {
  for await (const part of streamParts(answer, MAX_ANSWER_BYTES)) {
    if (part.kind === 'retry') await write(retryText(part.milliseconds))
    else if (part.kind === 'comment') await write(commentText(part.text))
    else if (part.event === undefined || part.event === 'message') {
      const { id, data } = part
      if (id !== undefined) noteId(id)
      const deliver: Deliver = (message) => write(eventText(oneLineOfJson(message), id))
      if (data !== '') await relayText(session, data, deliver, isReplay)
      else if (id !== undefined) await write(eventText('', id))
    }
  }
}

/** Reads an answer that is not a stream. @throws AnswerTooLarge; what reading throws */
export async function readAnswer(answer: IncomingMessage): Promise<string> {
  const body = await readBytes(answer, MAX_ANSWER_BYTES)
  if (body !== undefined) return new TextDecoder().decode(body)
  answer.destroy()
  throw new AnswerTooLarge(`${MAX_ANSWER_BYTES} bytes`)
}

/** Relays an answer that is one JSON text. @throws AnswerTooLarge; what reading throws */
export async function relayJson(session: HttpSession, answer: IncomingMessage, deliver: Deliver): Promise<void> {
  await relayText(session, await readAnswer(answer), deliver)
}

/** An answer other than success. Redirects are left out: a client that followed one would bypass the proxy. */
export interface OtherAnswer {
  readonly status: number
  readonly messages: readonly JsonRpcMessage[]
  /** Content that is not a message, with its type. */
  readonly body?: { readonly type: string; readonly bytes: Buffer } | undefined
}

/** Relays messages through the gate. Never rejects; leaves out what cannot be read or is too long. */
export async function readOther(answer: IncomingMessage, session: HttpSession): Promise<OtherAnswer> {
  const status = answer.statusCode!
  const kind = kindOf(answer)
  if ((status >= 300 && status < 400) || kind === 'stream' || isEncoded(answer)) {
    answer.destroy()
    return { status: status >= 300 && status < 400 ? 502 : status, messages: [] }
  }
  const bytes = await readBytes(answer, kind === 'json' ? MAX_ANSWER_BYTES : MAX_REFUSAL_BYTES).catch(() => undefined)
  if (bytes === undefined || bytes.length === 0) return { status, messages: [] }
  const messages: JsonRpcMessage[] = []
  const text = kind === 'json' ? new TextDecoder().decode(bytes) : ''
  await relayText(session, text, (message) => void messages.push(message)).catch(() => undefined)
  if (bytes.length > MAX_REFUSAL_BYTES || holdsMessages(text)) return { status, messages }
  return { status, messages, body: { type: answer.headers['content-type'] ?? 'application/octet-stream', bytes } }
}

/** Text that could be read as a message reaches a client through the gate only. */
function holdsMessages(text: string): boolean {
  try {
    return [JSON.parse(text)].flat().some((one) => isObject(one) && 'jsonrpc' in one)
  } catch {
    return false
  }
}

async function relayText(session: HttpSession, text: string, deliver: Deliver, isReplay = false): Promise<void> {
  const message = parsedServerText(text)
  if (message !== undefined) await session.gate.fromServer(message, deliver, isReplay)
}
