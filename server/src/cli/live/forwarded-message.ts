import type { ReceivedEvent } from '@countersign/client'
import { EVENT_TYPES, type EventType, typesOfChange } from '@countersign/contract'
import { typeidOf } from '../../typeid.js'

/** The live event types that a webhook can ask for: all that are about decisions. */
export const FORWARDED_TYPES = EVENT_TYPES.filter((type) => type.startsWith('decision.'))

/** A message in the form that a webhook receives. */
export interface ForwardedMessage {
  /**
   * `evt_…`: the same whenever the same event is forwarded. It differs from the id that a webhook of the server
   * receives.
   */
  readonly id: string
  readonly type: EventType
  readonly body: Buffer
}

/** Returns the messages of a live event, in order; none for a change that webhooks do not receive. */
export function forwardedMessages(event: ReceivedEvent, wanted: ReadonlySet<string>): readonly ForwardedMessage[] {
  const { type, timestamp, sequence, data } = event
  return typesOfChange(type, data.effect)
    .filter((one): one is EventType => wanted.has(one))
    .map((type) => ({
      id: typeidOf('evt', Date.parse(timestamp), `${data.id} ${type} ${sequence}`),
      type,
      body: Buffer.from(JSON.stringify({ type, timestamp, sequence, data })),
    }))
}
