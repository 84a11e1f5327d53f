import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { LIMITS } from '@countersign/contract'
import { canonicalJson } from '@countersign/contract/canonical-json'
import { KeyedMutex } from '../concurrency/keyed-mutex.js'
import { withDeadline } from '../concurrency/with-deadline.js'
import { DomainError, invalid } from '../domain-error.js'
import type { Clock } from '../ports/clock.js'
import type { IdempotencyRecord } from '../ports/store/documents.js'
import { StoreUnavailableError } from '../ports/store/errors.js'
import type { IdempotencyName, IdempotencyStore } from '../ports/store/idempotency.js'
import { CallInProgressError } from '../ports/store/ledger.js'
import { ConflictError } from '../ports/store/store.js'
import { waitForCallInProgress } from '../state/call-in-progress.js'
import { callNameOf, type IdempotencyDraft } from '../use-cases/idempotency.js'
import type { Reply } from './reply.js'
import { type Call, handled, type Route } from './route.js'

/** How long a call that could not be written waits for a read of the store. */
const LOOK_MS = 500
const KEPT_MS = 24 * 60 * 60 * 1000

/** Makes a call with an Idempotency-Key happen once. A repeated call gets the object in its present state. */
export class Idempotency {
  private readonly mutex = new KeyedMutex()

  constructor(
    private readonly records: Pick<IdempotencyStore, 'get'>,
    private readonly clock: Clock,
  ) {}

  /** @throws DomainError idempotency_key_reused */
  async once(route: Route, path: string, key: string, call: Call): Promise<Reply> {
    const name: IdempotencyName = { key_id: call.caller.key.id, operation: `${route.method} ${path}`, key }
    const id = callNameOf(name)
    const fingerprint = route.replay?.fingerprint?.(call.body) ?? canonicalHash(call.body)
    for (let tries = 1; ; tries++)
      try {
        // A second call waits while the first one runs. Then it finds the first one's record, or runs itself.
        return await this.mutex.run(id, () => this.attempt(route, name, fingerprint, call))
      } catch (error) {
        if (!isInProgress(error)) throw error
        await waitForCallInProgress(tries, error)
      }
  }

  private async attempt(route: Route, name: IdempotencyName, fingerprint: string, call: Call): Promise<Reply> {
    const { present, assertAllowed, looksBeforeTaking } = route.replay as NonNullable<Route['replay']>
    const find = () => this.records.get(name, this.clock.now().toISOString())
    let own: string | null = null
    const idempotency: IdempotencyDraft = {
      recordOf: (subject, now) => {
        own = subject
        return recordOf(name, fingerprint, subject, route.answer.status, now)
      },
      assertNew: async () => {
        if ((await find()) !== null) throw new ConflictError('idempotency_key')
      },
    }
    let known = looksBeforeTaking ? null : await find()
    if (known === null)
      try {
        return await handled(route, { ...call, idempotency, fingerprint })
      } catch (error) {
        // The call may have run before: here, on another server, or in an attempt that timed out.
        if (error instanceof DomainError || isRepeated(error)) known = await find()
        // A store that cannot write may still be able to read. The write of this attempt was not acknowledged.
        else if (error instanceof StoreUnavailableError) {
          const kept = await withDeadline(find(), LOOK_MS, () => error).catch(() => null)
          if (kept?.subject !== own) known = kept
        }
        if (known === null) throw error
      }
    if (known.fingerprint !== fingerprint) {
      await assertAllowed?.(call)
      throw new DomainError('idempotency_key_reused')
    }
    const { headers, body } = await present(call, known.subject)
    return { status: known.status, headers: { ...headers, 'Idempotent-Replayed': 'true' }, body }
  }
}

/**
 * Whether the same call is in progress elsewhere: either its record came first, or it holds the reservation that this
 * call needs.
 */
function isInProgress(error: unknown): boolean {
  return error instanceof CallInProgressError || isRepeated(error)
}

function isRepeated(error: unknown): boolean {
  return error instanceof ConflictError && error.conflict === 'idempotency_key'
}

/** @throws DomainError validation_failed */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | null {
  const given = headers['idempotency-key']
  if (given === undefined) return null
  if (typeof given !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(given))
    throw invalid([
      {
        pointer: '/Idempotency-Key',
        detail: `must have 1 to ${LIMITS.idempotencyKeyLength} visible ASCII characters`,
      },
    ])
  return given
}

function recordOf(
  name: IdempotencyName,
  fingerprint: string,
  subject: string,
  status: number,
  now: string,
): IdempotencyRecord {
  const expiresAt = new Date(Date.parse(now) + KEPT_MS).toISOString()
  const { key_id, operation, key } = name
  return { key_id, operation, key, fingerprint, status, subject, created_at: now, expires_at: expiresAt }
}

/** A null member counts as absent, as it does for the call itself. */
function canonicalHash(body: unknown): string {
  const given = Object.entries(Object(body)).filter(([, value]) => value !== null)
  return hash('sha256', canonicalJson(Object.fromEntries(given)), 'base64url')
}
