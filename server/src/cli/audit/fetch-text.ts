/** Answers of servers that may be slow, endless or hostile. */
import { CommandError, EXIT } from '../exit.js'

export interface AnswerLimits {
  /** Of the body. */
  readonly maxBytes: number
  /** Milliseconds until the whole answer is there. */
  readonly withinMs: number
}

export interface TextAnswer {
  readonly status: number
  readonly text: string
}

/** @throws CommandError that names the URL, when no answer comes within the limits */
export async function fetchText(
  url: string,
  { maxBytes, withinMs }: AnswerLimits,
  init: Omit<RequestInit, 'signal'> = {},
): Promise<TextAnswer> {
  const signal = AbortSignal.timeout(withinMs)
  try {
    const { status, body } = await fetch(url, { ...init, signal })
    const text = await textWithin(maxBytes, body)
    if (text !== null) return { status, text }
  } catch (cause) {
    const fault = signal.aborted ? `did not answer within ${withinMs / 1000} seconds` : 'does not answer'
    throw new CommandError(EXIT.failure, `${url} ${fault}.`, { cause })
  }
  throw new CommandError(EXIT.failure, `${url} answered more than ${maxBytes} bytes.`)
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
