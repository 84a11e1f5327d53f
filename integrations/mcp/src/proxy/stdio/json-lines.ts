/** JSON-RPC over standard input and output, one message per line. */
import type { Readable } from 'node:stream'
import { oneLineOfJson, unread } from '../../json/exact-json.js'
import { AnswerTooLarge } from '../../messages/answer-errors.js'
import { LargeMessages, type MessageName } from './large-messages.js'

/** The limit of a line, in bytes. An endless line must not fill the memory. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024

const NEWLINE = 0x0a

export interface LineListener {
  /**
   * Receives what `parse` returned. A message that is too large is replaced by one with the same id, whose `excessOf` names the
   * limit: a request, a notification, or an error as its response.
   */
  onMessage(message: unknown): void
  /** Called for a line that is not JSON, with the fault in words. `start` is the beginning of the line, in printable ASCII. */
  onGarbage(fault: string, start: string): void
}

/** How the lines of one side are read. */
export interface LineForm {
  /** @throws AnswerTooLarge, and SyntaxError for anything but JSON */
  parse(text: string): unknown
  /** The reason for a line of more than MAX_LINE_BYTES. */
  readonly tooLong: string
}

/**
 * Reads a stream line by line, until it ends. Ignores blank lines and an unfinished last line. Reads invalid UTF-8 as U+FFFD, as both
 * SDKs do. Forwarded messages are rewritten, so both sides read the same.
 */
export function readLines(stream: Readable, listener: LineListener, { parse, tooLong }: LineForm): void {
  let parts: Buffer[] = []
  let length = 0
  /** Replaces a line that is too long, and keeps only the names of its messages. */
  let large: LargeMessages | undefined
  const take = (part: Buffer): void => {
    parts.push(part)
    length += part.length
    if (length <= MAX_LINE_BYTES) return
    large ??= new LargeMessages()
    for (const one of parts.splice(0)) large.take(one)
  }
  const end = (): void => {
    const line = Buffer.concat(parts)
    if (large !== undefined) tellLarge(large, tooLong, listener)
    else tell(line, listener, parse)
    parts = []
    length = 0
    large = undefined
  }
  stream.on('data', (chunk: Buffer) => {
    let from = 0
    for (let to = chunk.indexOf(NEWLINE); to !== -1; to = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, to))
      end()
      from = to + 1
    }
    if (from < chunk.length) take(chunk.subarray(from))
  })
}

/** @throws TypeError, RangeError for values that JSON cannot hold: circular, or nested too deeply */
export function lineOf(message: unknown): string {
  return `${oneLineOfJson(message)}\n`
}

function tell(line: Buffer, listener: LineListener, parse: LineForm['parse']): void {
  const text = line.toString('utf8').trim()
  if (text === '') return
  let message: unknown
  try {
    message = parse(text)
  } catch (error) {
    if (error instanceof AnswerTooLarge) tellLarge(largeIn(line), error.most, listener)
    else listener.onGarbage('a line that is not JSON', text.slice(0, 100).replace(/[^ -~]/g, '?'))
    return
  }
  listener.onMessage(message)
}

function largeIn(line: Buffer): LargeMessages {
  const large = new LargeMessages()
  large.take(line)
  return large
}

function tellLarge({ names, isBatch }: LargeMessages, excess: string, listener: LineListener): void {
  const messages = names.map((name) => unread(inPlaceOf(name, excess), excess))
  if (messages.length === 0) listener.onGarbage('a line that is too long, and no message', '')
  else listener.onMessage(isBatch ? messages : messages[0])
}

/** A message of the same kind with the same id. */
function inPlaceOf({ id, hasId, hasMethod }: MessageName, excess: string): object {
  const error = new AnswerTooLarge(excess).told
  const named = { jsonrpc: '2.0', ...(hasId && { id: id ?? null }) }
  return hasMethod ? { ...named, method: 'unread' } : { ...named, error }
}
