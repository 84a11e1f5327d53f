import type { ReceivedEvent } from '@countersign/client'
import { EVENT_TYPES, type EventType, typesOfChange } from '@countersign/contract'
import { typeidOf } from '../../typeid.js'

/** What a webhook can ask for of what live events tell: all that is about decisions. */
export const FORWARDED_TYPES = EVENT_TYPES.filter((type) => type.startsWith('decision.'))

/** A message as a webhook gets it. */
export interface ForwardedMessage {
  /** `evt_…`: the same whenever the same event is forwarded. It is not the id that a webhook of the server gets. */
  readonly id: string
  readonly type: EventType
  readonly body: Buffer
}

/** The messages of a live event, in order; none for a change that webhooks are not told of. */
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
