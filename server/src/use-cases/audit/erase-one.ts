import type { Caller } from '../../caller.js'
import type { StoredDecision } from '../../ports/store/documents.js'
import type { LiveEvents } from '../../state/live-events.js'
import { applyTransition, type TransitionDeps } from '../decisions/transitions/transition.js'

export interface EraseDeps extends TransitionDeps {
  readonly liveEvents: Pick<LiveEvents, 'forget'>
}

export interface AfterErasing {
  readonly decision: StoredDecision
  /** True when this call erased the request, false when it was erased before. */
  readonly isErased: boolean
}

/**
 * Erases the request of a decision, unless it was erased before or `isKept` says that it is still needed. The decision
 * and its outcome stay.
 *
 * @param caller null: the server itself
 * @throws DomainError not_found; StoreUnavailableError: the request may or may not be erased
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
      data: { request_erased_at: now },
    }
  })
  return { decision, isErased }
}
