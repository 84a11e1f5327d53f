/**
 * Events as text/event-stream (HTML Living Standard, 9.2). A block without `data` is no event for its reader, but its `id` and
 * `retry` count: so the server can say how far it has come when it had nothing to send.
 */
import type { LiveEvent } from '@countersign/contract'

/** After a lost connection a reader waits so long before it connects again. */
const RETRY_MS = 2000

const DATA = '\ndata: '

/** The first bytes of a stream. They tell the reader that it is connected, and from where it goes on. */
export function openingText(cursor: string): string {
  return `: connected\nretry: ${RETRY_MS}\nid: ${cursor}\n\n`
}

/** Sent when there was nothing else for a while. Null: the reader is where it was. */
export function heartbeatText(cursor: string | null): string {
  return cursor === null ? ':\n\n' : `:\nid: ${cursor}\n\n`
}

/** One event, without its id. JSON has no line breaks of its own. */
export function eventText({ type, timestamp, sequence, data }: LiveEvent): string {
  return `event: ${type}${DATA}${JSON.stringify({ type, timestamp, sequence, data })}\n\n`
}

/** The event of what `eventText` has made. */
export function eventOfText(text: string): LiveEvent {
  return JSON.parse(text.slice(text.indexOf(DATA) + DATA.length)) as LiveEvent
}

export function idLine(cursor: string): string {
  return `id: ${cursor}\n`
}
