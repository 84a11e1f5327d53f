import type { Store } from '@countersign/store-port/store'
import type { Clock } from '../../ports/clock.js'
import { presentStatus } from './status.js'

/** Whether the decision exists and still awaits its review. */
export async function isAwaitingReview(
  { store, clock }: { readonly store: Pick<Store, 'findDecisionStatus'>; readonly clock: Clock },
  id: string,
): Promise<boolean> {
  const found = await store.findDecisionStatus(id)
  return found !== null && presentStatus(found, clock.now().toISOString()) === 'awaiting_review'
}
