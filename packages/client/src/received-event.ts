import type { LiveEvent } from './wire.js'

/** An event with its position in the stream. */
export interface ReceivedEvent extends LiveEvent {
  /** For `lastEventId`. */
  readonly id: string
}
