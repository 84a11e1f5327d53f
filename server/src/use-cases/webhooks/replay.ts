import { hash, randomUUID } from 'node:crypto'
import { LIMITS, type Replay, type ReplayStarted } from '@countersign/contract'
import { DomainError, invalid } from '../../domain-error.js'
import { StoreUnavailableError } from '../../ports/store/errors.js'
import { ConflictError } from '../../ports/store/store.js'
import { type ChangingCall, callNameOf, type IdempotencyDraft } from '../idempotency.js'
import { assertEnabled } from './retry.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

/** Long enough to save the reader's first position. */
const HELD_MS = 30_000

/**
 * Sends the events of a time span to a webhook once more. The feed does this alongside new events.
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
  // Runs one at a time, so that concurrent calls do not exceed the limit.
  return changes.run(caller.key.id, async () => {
    assertEnabled(await findWebhook(deps, id))
    const inProgress = await store.readers.list(`replay/${id}/`)
    const ending = `/${endingOf(idempotency, clock.now().toISOString())}`
    // The same call started this replay and then failed to record it.
    const begun = inProgress.find((one) => one.endsWith(ending))
    if (begun === undefined && inProgress.length >= LIMITS.replays)
      throw new DomainError('limit_reached', { detail: `${LIMITS.replays} replays of this webhook are in progress.` })
    const name = begun ?? `replay/${id}/${span.since}/${span.until}${ending}`
    if (begun === undefined) await beginReader(deps, `${caller.key.id}/${name}`, name, span)
    try {
      if (idempotency !== null) await writer.writeCall(idempotency.recordOf(name, clock.now().toISOString()))
    } catch (error) {
      // The same call was made on another server: the other replay counts.
      if (error instanceof ConflictError && begun === undefined) await store.readers.remove(name)
      throw error
    }
    return replayStartedOf(name)
  })
}

/** The last part of the name, which all copies of a call share. */
function endingOf(idempotency: IdempotencyDraft | null, now: string): string {
  return idempotency === null ? randomUUID() : hash('sha256', callNameOf(idempotency.recordOf('', now)), 'base64url')
}

/** Returns what a replay with this name began with. */
export function replayStartedOf(name: string): ReplayStarted {
  const [, webhook_id = '', since = '', until = ''] = name.split('/')
  return { webhook_id, since, until }
}

interface Span {
  readonly since: string
  readonly until: string
}

/** The feed needs only the name to find the positions of the span. */
async function beginReader(
  { store }: Pick<WriteWebhookDeps, 'store'>,
  holder: string,
  name: string,
  { since, until }: Span,
): Promise<void> {
  const reader = await store.readers.hold(name, holder, HELD_MS)
  if (reader === null) throw new Error('A unique name is already taken.')
  const isSaved = await store.readers.save({
    reader,
    positions: {},
    state: { since, until },
    deliveries: [],
    counts: [],
    nodes: [],
    checkpoints: [],
  })
  if (!isSaved) throw new StoreUnavailableError('The replay was not started.')
  await store.readers.release(holder)
}

/** @throws DomainError validation_failed */
function spanOf({ since, until }: Replay, now: string): Span {
  if (since >= now) throw invalid([{ pointer: '/since', detail: 'must be in the past' }])
  if (until === undefined || until === null || until > now) return { since, until: now }
  if (until <= since) throw invalid([{ pointer: '/until', detail: 'must be later than since' }])
  return { since, until }
}
