import type { DecisionDetail } from '@countersign/contract'

/** What the end of an expired decision says of its action. A review that ended first let it never run. */
export function endingOf({ review }: Pick<DecisionDetail, 'review'>): string {
  if (review?.status !== 'expired') return 'Nobody has told whether the action happened.'
  return review.decided_at === null
    ? 'Nobody had answered it by then, so the action could not run.'
    : 'It was approved, and not claimed by then, so the action could not run.'
}
