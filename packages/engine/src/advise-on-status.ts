import type { Advice, DecisionStatus, Review } from '@countersign/contract'
import { GIVE_UP } from './advice-sentences.js'

/** The facts from which a decision's present advice follows. */
export interface AdvisedDecision {
  /** The status as of now. */
  readonly status: DecisionStatus
  /** The advice at the time of the decision. */
  readonly advice: Advice | null
  readonly review: Review | null
  /** The reviewer's text, as a sentence that a model may read; null for none. */
  readonly words: string | null
}

const RUN_IT: Advice = { retry: 'now', message: 'Claim the decision and run the action.' }

/**
 * Returns what a program or a model may do now: the advice of the decision, until a person or its expiry has changed
 * the decision. Null when nothing can be done about the decision any longer.
 *
 * Source: docs/decisions.md "Advice".
 */
export function adviseOnStatus({ status, advice, review, words }: AdvisedDecision): Advice | null {
  switch (status) {
    case 'denied':
    case 'awaiting_review':
      return advice
    case 'approved':
      return RUN_IT
    case 'declined':
      return giveUp('A person has declined this.', words)
    case 'expired':
      return review?.decided_at === null ? giveUp('This was not approved in time.', words) : null
    default:
      return null
  }
}

function giveUp(happened: string, words: string | null): Advice {
  return { retry: 'never', message: [happened, GIVE_UP, ...(words === null ? [] : [words])].join(' ') }
}
