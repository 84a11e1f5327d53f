import type { DecisionDetail } from '@countersign/contract'

/** Says what an expired decision means for its action. An action whose review expired could never run. */
export function endingOf({ review }: Pick<DecisionDetail, 'review'>): string {
  if (review?.status !== 'expired') return 'No outcome was reported for the action.'
  return review.decided_at === null
    ? 'It was not reviewed in time, so the action could not run.'
    : 'It was approved but not claimed in time, so the action could not run.'
}
