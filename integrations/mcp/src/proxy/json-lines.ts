/** JSON-RPC over standard input and output: one message a line, as MCP has it. */
import type { Readable } from 'node:stream'

/** What a line may hold, in bytes. A line that never ends must not fill the memory. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024

const NEWLINE = 0x0a

export interface LineListener {
  /** What `JSON.parse` gave. */
  onMessage(message: unknown): void
  /** Called for a line that is too long or not JSON, with the fault in words. `start` is the beginning of the line, in printable ASCII. */
  onGarbage(fault: string, start: string): void
}

/**
 * Reads a stream line by line, until it ends. Ignores blank lines, and a last line without a line break. Reads invalid UTF-8 as U+FFFD,
 * as both SDKs do. Forwarded messages are written anew, so both sides read the same.
 */
export function readLines(stream: Readable, listener: LineListener): void {
  let parts: Buffer[] = []
  let length = 0
  const take = (part: Buffer): void => {
    length += part.length
    // What is too long is forgotten at once, and named when it ends.
    if (length > MAX_LINE_BYTES) parts = []
    else parts.push(part)
  }
  const end = (): void => {
    const isTooLong = length > MAX_LINE_BYTES
    const line = Buffer.concat(parts).toString('utf8').trim()
    parts = []
    length = 0
    if (isTooLong) listener.onGarbage(`a line of more than ${MAX_LINE_BYTES} bytes`, '')
    else if (line !== '') tell(line, listener)
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

/** @throws TypeError, RangeError for what cannot be written as JSON: something circular, or nested too deep */
export function lineOf(message: unknown): string {
  return `${JSON.stringify(message)}\n`
}

function tell(line: string, listener: LineListener): void {
  let message: unknown
  try {
    message = JSON.parse(line)
  } catch {
    listener.onGarbage('a line that is not JSON', line.slice(0, 100).replace(/[^ -~]/g, '?'))
    return
  }
  listener.onMessage(message)
}
