/**
 * Writes events as text/event-stream (HTML Living Standard, 9.2). A block without `data` is not an event for its
 * reader, but its `id` and `retry` apply. So the server can report its position when it has nothing to send.
 */
import type { LiveEvent } from '@countersign/contract'

/** How long a reader waits after a lost connection before it connects again. */
const RETRY_MS = 2000

const DATA = '\ndata: '

/**
 * The first bytes of a stream. They tell the reader that it is connected, and from which position the stream continues.
 */
export function openingText(cursor: string): string {
  return `: connected\nretry: ${RETRY_MS}\nid: ${cursor}\n\n`
}

/**
 * Sent while the server starts, when no position is known yet, so it has no id.
 *
 * @param retryMs when the stream ends here, and the reader should reconnect
 */
export function waitingText(retryMs?: number): string {
  return retryMs === undefined ? ': the server is starting\n\n' : `: the server is starting\nretry: ${retryMs}\n\n`
}

/** Sent to a reader that waited for the start and lacks permission: the next connection gets the complete answer. */
export function refusalText({ status, title }: { readonly status: number; readonly title: string }): string {
  return `: ${status} ${title}\n\n`
}

/**
 * Sent after a while without events. It always has an id: if it came only after a change, it would reveal changes that
 * the reader may not see.
 */
export function heartbeatText(cursor: string): string {
  return `:\nid: ${cursor}\n\n`
}

/** One event, without its id. JSON text contains no line breaks. */
export function eventText({ type, timestamp, sequence, data }: LiveEvent): string {
  return `event: ${type}${DATA}${JSON.stringify({ type, timestamp, sequence, data })}\n\n`
}

/** Parses the text that `eventText` wrote. */
export function eventOfText(text: string): LiveEvent {
  return JSON.parse(text.slice(text.indexOf(DATA) + DATA.length)) as LiveEvent
}

export function idLine(cursor: string): string {
  return `id: ${cursor}\n`
}
