import { randomUUID } from 'node:crypto'
import { LIMITS, type Replay, type ReplayStarted } from '@countersign/contract'
import { DomainError, invalid } from '../../domain-error.js'
import type { MutationWriter } from '../../mutation-writer.js'
import type { ChangingCall } from '../idempotency.js'
import { assertEnabled } from './retry.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

export interface ReplayWebhookDeps extends Pick<WriteWebhookDeps, 'clock' | 'store'> {
  readonly writer: Pick<MutationWriter, 'writeCall'>
}

/** Long enough to save what the reader begins with. */
const HELD_MS = 30_000

/**
 * Sends what happened in a time span to a webhook once more. The feed works it off beside what happens now.
 *
 * @throws DomainError not_found, validation_failed, limit_reached, webhook_disabled
 */
export async function replayWebhook(
  { clock, store, writer }: ReplayWebhookDeps,
  { caller, idempotency }: ChangingCall,
  id: string,
  body: Replay,
): Promise<ReplayStarted> {
  const now = clock.now().toISOString()
  const span = spanOf(body, now)
  assertEnabled(await findWebhook({ store }, id))
  const { feed } = store
  if ((await feed.listReaders(`replay/${id}/`)).length >= LIMITS.replays)
    throw new DomainError('limit_reached', { detail: `${LIMITS.replays} replays of this webhook are in progress.` })
  const name = `replay/${id}/${span.since}/${span.until}/${randomUUID()}`
  const holder = `${caller.key.id}/${name}`
  const reader = await feed.holdReader(name, holder, HELD_MS)
  if (reader === null) throw new Error('A name that nobody else can have is taken.')
  await feed.save({ reader, positions: {}, state: span, deliveries: [], counts: [] })
  await feed.releaseReaders(holder)
  if (idempotency !== null) await writer.writeCall(idempotency.recordOf(name, now))
  return { webhook_id: id, ...span }
}

/** What a replay that was started before began with. */
export function replayStartedOf(name: string): ReplayStarted {
  const [, webhook_id = '', since = '', until = ''] = name.split('/')
  return { webhook_id, since, until }
}

/** @throws DomainError validation_failed */
function spanOf({ since, until }: Replay, now: string): { readonly since: string; readonly until: string } {
  if (since >= now) throw invalid([{ pointer: '/since', detail: 'must be in the past' }])
  if (until === undefined || until === null || until > now) return { since, until: now }
  if (until <= since) throw invalid([{ pointer: '/until', detail: 'must be later than since' }])
  return { since, until }
}
