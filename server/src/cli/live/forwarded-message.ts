import { hash } from 'node:crypto'
import type { ReceivedEvent } from '@countersign/client'
import { EVENT_TYPES, type EventType } from '@countersign/contract'
import { typeid } from '../../typeid.js'

/** What a webhook can ask for of what live events tell: all that is about decisions. */
export const FORWARDED_TYPES = EVENT_TYPES.filter((type) => type.startsWith('decision.'))

/** A creation of these effects is sent to webhooks as an event of its own besides. */
const SECOND_TYPES: Readonly<Record<string, EventType>> = {
  deny: 'decision.denied',
  review: 'decision.review_requested',
}

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
  const second = type === 'decision.created' ? SECOND_TYPES[data.effect] : undefined
  return [type, ...(second === undefined ? [] : [second])]
    .filter((one): one is EventType => wanted.has(one))
    .map((type) => {
      const bytes = hash('sha256', `${data.id} ${type} ${sequence}`, 'buffer')
      return {
        id: typeid('evt', Date.parse(timestamp), bytes.readUInt32BE(0), bytes.readUIntBE(4, 6) % 2 ** 42),
        type,
        body: Buffer.from(JSON.stringify({ type, timestamp, sequence, data })),
      }
    })
}
