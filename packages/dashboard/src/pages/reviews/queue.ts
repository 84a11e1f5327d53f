/** Sorts pending reviews and groups identical requests. */
import type { DecisionDetail } from '@countersign/contract'

/** Reviews of identical requests: the same agent, action, resource and context. */
export interface ReviewGroup {
  readonly hash: string
  readonly reviews: readonly QueuedReview[]
}

export interface QueuedReview {
  readonly decision: DecisionDetail
  /** False for a review that has ended and stays visible because the user looks at it. */
  readonly isWaiting: boolean
}

/** @param held the reviews that keep their place even after they have ended */
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
    // An erased request has no hash, so it cannot be grouped.
    const hash = request_hash ?? id
    groups.set(hash, [...(groups.get(hash) ?? []), review])
  }
  return [...groups].map(([hash, reviews]) => ({ hash, reviews }))
}

/** Sorts the review with the least time left first. */
function byDeadline({ decision: one }: QueuedReview, { decision: other }: QueuedReview): number {
  const [first, second] = [deadlineOf(one), deadlineOf(other)]
  if (first !== second) return first < second ? -1 : 1
  return one.id < other.id ? -1 : 1
}

/** Returns the time until which a review can be answered. */
export function deadlineOf({ review, expires_at }: DecisionDetail): string {
  return review?.expires_at ?? expires_at
}

/** Returns the next review in the list, or else the previous one. */
export function neighbourOf(ids: readonly string[], id: string): string | null {
  const at = ids.indexOf(id)
  return ids[at + 1] ?? ids[at - 1] ?? null
}
