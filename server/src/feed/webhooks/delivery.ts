/** A delivery, and how an attempt changes it. Pure. */
import type { DeliveryAttempt } from '@countersign/contract'
import type { StoredDelivery } from '../../ports/store/documents.js'
import { derivedId, type FeedEvent } from '../event-of.js'
import { delayAfter } from './schedule.js'
import type { SendResult } from './sender.js'

const KEPT_ATTEMPTS = 20

/** Creates a delivery of an event, due at once. A reader that reads the event again creates one with the same id. */
export function newDelivery(reader: string, webhookId: string, event: FeedEvent, now: string): StoredDelivery {
  const { id, type, subject, timestamp, entry } = event
  return {
    id: derivedId('dlv', entry, `${reader} ${id}`),
    version: 1,
    webhook_id: webhookId,
    event: {
      id,
      // Webhooks cannot ask for the types that only live events have.
      type: type as StoredDelivery['event']['type'],
      subject,
      at: timestamp,
      entry: { log: entry.log, index: entry.index },
    },
    created_at: now,
    status: 'pending',
    attempt_count: 0,
    scheduled_count: 0,
    attempts: [],
    next_attempt_at: now,
  }
}

/** The result of an attempt that began at `at`, and when it ended. */
export interface Attempt extends SendResult {
  readonly at: string
  readonly endedAt: Date
  /** True: there was nothing to send, and there never will be. */
  readonly isLast: boolean
}

/** Returns the delivery after an attempt: delivered, to be attempted again, or permanently failed. */
export function afterAttempt(delivery: StoredDelivery, attempt: Attempt, random: () => number): StoredDelivery {
  const scheduledCount = delivery.scheduled_count + 1
  const isDelivered = attempt.error === null
  const delayMs = isDelivered || attempt.isLast ? null : delayAfter(scheduledCount, attempt.retryAfterMs, random)
  return {
    ...delivery,
    version: delivery.version + 1,
    status: isDelivered ? 'delivered' : delayMs === null ? 'failed' : 'pending',
    attempt_count: delivery.attempt_count + 1,
    scheduled_count: scheduledCount,
    attempts: [...delivery.attempts, shownAttempt(attempt)].slice(-KEPT_ATTEMPTS),
    next_attempt_at: delayMs === null ? null : new Date(attempt.endedAt.getTime() + delayMs).toISOString(),
  }
}

function shownAttempt({ at, status, error, response, durationMs }: Attempt): DeliveryAttempt {
  return { at, status, error, response, duration_ms: durationMs }
}
