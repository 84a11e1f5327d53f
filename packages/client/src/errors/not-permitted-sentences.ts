/** The sentences of the reasons that a wait for a review can end with. */
import type { NotPermittedReason } from './refusal-reason.js'

/** Names no policy. */
export interface Sentences {
  readonly happened: string
  /** What a person or a program may do. */
  readonly next: string
}

export const NOT_PERMITTED: Readonly<Record<NotPermittedReason, Sentences>> = {
  denied: {
    happened: 'The policies do not allow this action.',
    next: 'Do not repeat it unchanged.',
  },
  declined: {
    happened: 'A person has declined this action.',
    next: 'Do not repeat it.',
  },
  withdrawn: {
    happened: 'The request was withdrawn before the action began.',
    next: 'To run the action, ask again with a new idempotency key.',
  },
  expired: {
    happened: 'The decision has expired.',
    next: 'Ask again. If new decisions expire at once, the operator must set the clock of this service.',
  },
  settled: {
    happened: 'This action was settled before.',
    next: 'To run it once more, ask again with a new idempotency key.',
  },
  not_reviewed: {
    happened: 'This decision needs no review. It belongs to the holder that asked for it.',
    next: 'Request your own decision.',
  },
  already_claimed: {
    happened: 'This action has begun before, here or for another holder.',
    next: 'For another action, use a new idempotency key.',
  },
  permit_already_used: {
    happened: 'The permit was used before. The action may have run.',
    next: 'Find out what became of it before you ask for a new decision.',
  },
  policy_denies: {
    happened: 'This action was approved, but the policies no longer allow it.',
    next: 'Do not repeat it unchanged.',
  },
  agent_suspended: {
    happened: 'The agent is suspended.',
    next: 'Its actions run again after an operator has resumed it.',
  },
}

/** For a person or a program. */
export function forCaller({ happened, next }: Sentences): string {
  return `${happened} ${next}`
}

/** Returns the message of an error. */
export function withReason(sentences: string, reason: string, decision_id: string | null | undefined): string {
  const about = decision_id ? `, decision ${decision_id}` : ''
  return `${sentences} (${reason}${about})`
}
