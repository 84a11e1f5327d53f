import { hash, randomUUID } from 'node:crypto'
import { LIMITS, type Replay, type ReplayStarted } from '@countersign/contract'
import { ConflictError, StoreUnavailableError } from '@countersign/store-port/store'
import { DomainError, invalid } from '../../domain-error.js'
import { type ChangingCall, callNameOf, type IdempotencyDraft } from '../idempotency.js'
import { assertEnabled } from './retry.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

/** Long enough to save what the reader begins with. */
const HELD_MS = 30_000

/**
 * Sends what happened in a time span to a webhook once more. The feed works it off beside what happens now.
 *
 * @throws DomainError not_found, validation_failed, limit_reached, webhook_disabled
 */
export function replayWebhook(
  deps: Omit<WriteWebhookDeps, 'urlRules'>,
  { caller, idempotency }: ChangingCall,
  id: string,
  body: Replay,
): Promise<ReplayStarted> {
  const { clock, store, writer, changes } = deps
  const span = spanOf(body, clock.now().toISOString())
  // One after the other, so that many at once do not pass the limit.
  return changes.run(caller.key.id, async () => {
    assertEnabled(await findWebhook(deps, id))
    const inProgress = await store.feed.listReaders(`replay/${id}/`)
    const ending = `/${endingOf(idempotency, clock.now().toISOString())}`
    // The same call began it, and could not be recorded.
    const begun = inProgress.find((one) => one.endsWith(ending))
    if (begun === undefined && inProgress.length >= LIMITS.replays)
      throw new DomainError('limit_reached', { detail: `${LIMITS.replays} replays of this webhook are in progress.` })
    const name = begun ?? `replay/${id}/${span.since}/${span.until}${ending}`
    if (begun === undefined) await beginReader(deps, `${caller.key.id}/${name}`, name, span)
    try {
      if (idempotency !== null) await writer.writeCall(idempotency.recordOf(name, clock.now().toISOString()))
    } catch (error) {
      // The same call was made elsewhere: its replay is the one that counts.
      if (error instanceof ConflictError && begun === undefined) await store.feed.removeReader(name)
      throw error
    }
    return replayStartedOf(name)
  })
}

/** The last part of the name: the same for all copies of a call. */
function endingOf(idempotency: IdempotencyDraft | null, now: string): string {
  return idempotency === null ? randomUUID() : hash('sha256', callNameOf(idempotency.recordOf('', now)), 'base64url')
}

/** What a replay that was started before began with. */
export function replayStartedOf(name: string): ReplayStarted {
  const [, webhook_id = '', since = '', until = ''] = name.split('/')
  return { webhook_id, since, until }
}

interface Span {
  readonly since: string
  readonly until: string
}

/** The name is enough for the feed, which finds the positions of the span. */
async function beginReader(
  { store }: Pick<WriteWebhookDeps, 'store'>,
  holder: string,
  name: string,
  { since, until }: Span,
): Promise<void> {
  const reader = await store.feed.holdReader(name, holder, HELD_MS)
  if (reader === null) throw new Error('A name that nobody else can have is taken.')
  const isSaved = await store.feed.save({
    reader,
    positions: {},
    state: { since, until },
    deliveries: [],
    counts: [],
    nodes: [],
    checkpoints: [],
  })
  if (!isSaved) throw new StoreUnavailableError('The replay was not begun.')
  await store.feed.releaseReaders(holder)
}

/** @throws DomainError validation_failed */
function spanOf({ since, until }: Replay, now: string): Span {
  if (since >= now) throw invalid([{ pointer: '/since', detail: 'must be in the past' }])
  if (until === undefined || until === null || until > now) return { since, until: now }
  if (until <= since) throw invalid([{ pointer: '/until', detail: 'must be later than since' }])
  return { since, until }
}
