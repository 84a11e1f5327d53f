import { EventStream, isEventId } from '../event-stream.js'
import { knownOptions } from '../known-options.js'
import type { CallSignal } from '../options.js'
import type { ReceivedEvent } from '../received-event.js'
import type { StreamRequester } from '../stream-requester.js'
import type { DecisionStatus, Effect, LiveType } from '../wire.js'

/** Selects events and the start of the stream. All filters must match; an absent one matches everything. */
export interface EventsOptions {
  readonly agent_id?: string | undefined
  readonly action?: string | undefined
  readonly resource?: string | undefined
  readonly effect?: Effect | undefined
  readonly status?: DecisionStatus | undefined
  readonly policy_id?: string | undefined
  readonly request_hash?: string | undefined
  /** One type, or several. */
  readonly type?: LiveType | readonly LiveType[] | undefined
  /** The `id` of the last event that was handled: the stream starts after it. Default: from now on. */
  readonly lastEventId?: string | undefined
  /** Ends the iteration. */
  readonly signal?: CallSignal | undefined
  /**
   * Called whenever a connection is established, first and after each loss: nothing that happens after the first call
   * is missed. An error that it throws ends the iteration.
   */
  readonly onConnect?: (() => void) | undefined
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
 * @throws TypeError for an unknown or invalid option; nothing is sent before the first event is requested
 */
export function eventsOf(
  requester: StreamRequester,
  options: EventsOptions,
): AsyncGenerator<ReceivedEvent, void, undefined> {
  const { type, lastEventId, signal, onConnect, ...filters } = knownOptions('events', options, KNOWN_OPTIONS)
  if (lastEventId !== undefined && !isEventId(lastEventId)) {
    throw new TypeError('lastEventId must be the id of an event')
  }
  if (onConnect !== undefined && typeof onConnect !== 'function') throw new TypeError('onConnect must be a function')
  return new EventStream(
    requester,
    { ...filters, type: type === undefined ? undefined : String(type) },
    lastEventId,
    onConnect,
  ).read(signal)
}
