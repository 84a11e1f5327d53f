import type { StoredDecision } from '@countersign/store-port/documents'
import type { Caller } from '../../caller.js'
import type { LiveEvents } from '../../state/live-events.js'
import { applyTransition, type TransitionDeps } from '../decisions/transitions/transition.js'

export interface EraseDeps extends TransitionDeps {
  readonly liveEvents: Pick<LiveEvents, 'forget'>
}

interface AfterErasing {
  readonly decision: StoredDecision
  /** Whether it was this call that erased the request. */
  readonly isErased: boolean
}

/**
 * Erases the request of a decision, unless it was erased before or `isKept` says that it is needed. What was decided, and what
 * became of it, stays.
 *
 * @param caller null: the server itself
 * @throws DomainError not_found; StoreUnavailableError: the request may be erased, or not
 */
export async function eraseOne(
  deps: EraseDeps,
  caller: Caller | null,
  id: string,
  isKept: (decision: StoredDecision, now: string) => boolean = () => false,
): Promise<AfterErasing> {
  let isErased = false
  const decision = await applyTransition(deps, { caller, id, idempotency: null }, ({ decision: found }, now) => {
    isErased = found.request_erased_at === undefined && !isKept(found, now)
    if (!isErased) return null
    return {
      type: 'request.erased',
      changes: { resource: null, request_hash: null, request_erased_at: now },
      erases_request: true,
      data: {},
    }
  })
  return { decision, isErased }
}
