/** The order of waiting reviews, and which of them ask the same. */
import type { DecisionDetail } from '@countersign/contract'

/** Of equal requests: the same agent, action, resource and context. */
export interface ReviewGroup {
  readonly hash: string
  readonly reviews: readonly QueuedReview[]
}

export interface QueuedReview {
  readonly decision: DecisionDetail
  /** False for one that somebody looks at, and that waits no more. */
  readonly isWaiting: boolean
}

/** @param held those that stay in their place whatever becomes of them */
export function queueOf(waiting: readonly DecisionDetail[], held: readonly DecisionDetail[]): ReviewGroup[] {
  const known = new Set(waiting.map(({ id }) => id))
  const gone = new Map(held.filter(({ id }) => !known.has(id)).map((decision) => [decision.id, decision]))
  const all = [
    ...waiting.map((decision) => ({ decision, isWaiting: true })),
    ...[...gone.values()].map((decision) => ({ decision, isWaiting: false })),
  ].sort(byDeadline)
  const groups = new Map<string, QueuedReview[]>()
  for (const review of all) {
    const { id, request_hash } = review.decision
    // Nobody knows any more what else asked the same as one that was erased.
    const hash = request_hash ?? id
    groups.set(hash, [...(groups.get(hash) ?? []), review])
  }
  return [...groups].map(([hash, reviews]) => ({ hash, reviews }))
}

/** The one with the least time first. */
function byDeadline({ decision: one }: QueuedReview, { decision: other }: QueuedReview): number {
  const [first, second] = [deadlineOf(one), deadlineOf(other)]
  if (first !== second) return first < second ? -1 : 1
  return one.id < other.id ? -1 : 1
}

/** Until when somebody can answer. */
export function deadlineOf({ review, expires_at }: DecisionDetail): string {
  return review?.expires_at ?? expires_at
}

/** The review that follows in the list, or else the one before. */
export function neighbourOf(ids: readonly string[], id: string): string | null {
  const at = ids.indexOf(id)
  return ids[at + 1] ?? ids[at - 1] ?? null
}
