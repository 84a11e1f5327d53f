/** Reads answers of servers that may be slow, endless or hostile. */
import { parseRetryAfter } from '@countersign/client/text'
import { failure } from '../exit.js'

export interface AnswerLimits {
  /** Of the body. */
  readonly maxBytes: number
  /** The time limit for the whole answer, in milliseconds. */
  readonly withinMs: number
}

export interface TextAnswer {
  readonly status: number
  readonly text: string
  /** The delay that its `Retry-After` asks for; null when there is none. */
  readonly retryAfterSeconds: number | null
}

/** @throws CommandError that names the URL, when no answer comes within the limits */
export async function fetchText(
  url: string,
  { maxBytes, withinMs }: AnswerLimits,
  init: Omit<RequestInit, 'signal'> = {},
): Promise<TextAnswer> {
  const signal = AbortSignal.timeout(withinMs)
  try {
    const { status, headers, body } = await fetch(url, { ...init, signal })
    const text = await textWithin(maxBytes, body)
    if (text !== null) return { status, text, retryAfterSeconds: parseRetryAfter(headers.get('retry-after')) }
  } catch (cause) {
    const fault = signal.aborted ? `did not answer within ${withinMs / 1000} seconds` : 'does not answer'
    throw failure(`${url} ${fault}.`, cause)
  }
  throw failure(`${url} answered more than ${maxBytes} bytes.`)
}

/** @returns null when the body is longer */
async function textWithin(maxBytes: number, body: Response['body']): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
