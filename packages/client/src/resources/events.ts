import { EventStream, isEventId } from '../event-stream.js'
import { assertOptions } from '../known-options.js'
import type { CallSignal } from '../options.js'
import type { Requester } from '../requester.js'
import type { DecisionStatus, Effect, LiveEvent, LiveType } from '../wire.js'

/** Which events, and from where on. All filters have to fit; an absent one fits everything. */
export interface EventsOptions {
  readonly agent_id?: string | undefined
  readonly action?: string | undefined
  readonly resource?: string | undefined
  readonly effect?: Effect | undefined
  readonly status?: DecisionStatus | undefined
  readonly policy_id?: string | undefined
  readonly request_hash?: string | undefined
  /** One, or several. */
  readonly type?: LiveType | readonly LiveType[] | undefined
  /** The `id` of the last event that was handled: what came after it comes first. Default: from now on. */
  readonly lastEventId?: string | undefined
  /** Ends the iteration. */
  readonly signal?: CallSignal | undefined
  /**
   * Called whenever a connection is up, the first time and after each loss: nothing that happens after the first call is missed.
   * What it throws ends the iteration.
   */
  readonly onConnect?: (() => void) | undefined
}

/** An event, and where it stands in the stream. */
export interface ReceivedEvent extends LiveEvent {
  /** For `lastEventId`. */
  readonly id: string
}

const KNOWN_OPTIONS = [
  'agent_id',
  'action',
  'resource',
  'effect',
  'status',
  'policy_id',
  'request_hash',
  'type',
  'lastEventId',
  'signal',
  'onConnect',
] as const satisfies readonly (keyof EventsOptions)[]

/**
 * @internal
 * @throws TypeError for an option that is not known or cannot be; nothing is sent before the first event is asked for
 */
export function eventsOf(requester: Requester, options: EventsOptions): AsyncGenerator<ReceivedEvent, void, undefined> {
  assertOptions('events', options, KNOWN_OPTIONS)
  const { type, lastEventId, signal, onConnect, ...filters } = options
  if (lastEventId !== undefined && !isEventId(lastEventId)) {
    throw new TypeError('lastEventId has to be the id of an event')
  }
  if (onConnect !== undefined && typeof onConnect !== 'function') throw new TypeError('onConnect has to be a function')
  return new EventStream(
    requester,
    { ...filters, type: type === undefined ? undefined : String(type) },
    lastEventId,
    onConnect,
  ).read(signal)
}
