/** A sentence for each reason of a refusal: for a caller, and for a model. */
import type { DeniedReason, NotPermittedReason } from './refusal-reason.js'

type Reason = DeniedReason | NotPermittedReason

/** Names no policy. Where only the operator can fix the cause, it says so; events and warnings contain the cause. */
interface Refusal {
  readonly happened: string
  /** What a person or a program may do. */
  readonly next: string
  /** What a model may do; it cannot choose keys and sees no events. Default: `next`. */
  readonly modelNext?: string
}

const CHECK = 'Check what you have sent. The operator finds the cause in the warnings and events of this service.'
const MODEL_CHECK =
  'Do not repeat it unchanged: check the arguments. If they are right, tell your user that an operator must look at it.'
const MODEL_GIVE_UP = 'Do not repeat this call. Tell your user.'
const MODEL_FIND_OUT = 'Do not repeat this call. Find out what became of it.'

const REFUSALS: Readonly<Record<Reason, Refusal>> = {
  denied: {
    happened: 'The policies do not allow this action.',
    next: 'Do not repeat it unchanged.',
  },
  review_required: {
    happened: 'A person has to approve this action first.',
    next: 'Wait for the approval, then make the same call again, with the same idempotency key if it had one.',
    modelNext: 'Tell your user. Make the same call again after a person has approved it, not before.',
  },
  declined: {
    happened: 'A person has declined this action.',
    next: 'Do not repeat it.',
  },
  withdrawn: {
    happened: 'The request was withdrawn before the action began.',
    next: 'To run the action, ask again with a new idempotency key.',
    modelNext: 'Do not repeat this call unless you are told to.',
  },
  expired: {
    happened: 'The decision has expired.',
    next: 'Ask again. If new decisions expire at once, the operator must set the clock of this service.',
    modelNext: 'You may make this call once more. If its decision has expired again, tell your user.',
  },
  settled: {
    happened: 'This action was settled before.',
    next: 'To run it once more, ask again with a new idempotency key.',
    modelNext: 'Do not repeat this call.',
  },
  already_claimed: {
    happened: 'This action has begun before, here or for another holder.',
    next: 'For another action, use a new idempotency key.',
    modelNext: MODEL_FIND_OUT,
  },
  not_reviewed: {
    happened: 'This decision needs no review. It belongs to the holder that asked for it.',
    next: 'Request your own decision.',
  },
  permit_already_used: {
    happened: 'The permit was used before. The action may have run.',
    next: 'Find out what became of it before you ask for a new decision.',
    modelNext: MODEL_FIND_OUT,
  },
  policy_denies: {
    happened: 'This action was approved, but the policies no longer allow it.',
    next: 'Do not repeat it unchanged.',
  },
  agent_suspended: {
    happened: 'The agent is suspended.',
    next: 'Its actions run again after an operator has resumed it.',
    modelNext: MODEL_GIVE_UP,
  },
  unavailable: {
    happened: 'The decision point gave no usable answer.',
    next: 'Try again later.',
  },
  refused: {
    happened: 'The decision point rejected the request.',
    next: 'Do not repeat it unchanged. The operator finds the cause in the warnings and events of this service.',
    modelNext: MODEL_CHECK,
  },
  mapping_failed: {
    happened: 'The arguments of this call could not be mapped to a request.',
    next: CHECK,
    modelNext: MODEL_CHECK,
  },
  question_refused: {
    happened: 'A required value is missing in the agent, action or resource.',
    next: CHECK,
    modelNext: MODEL_CHECK,
  },
  unmapped: {
    happened: 'This tool is not mapped to an action.',
    next: 'The operator must map it to one.',
    modelNext: MODEL_GIVE_UP,
  },
  arguments_refused: {
    happened: 'The arguments are not plain data.',
    next: 'Pass plain data. The operator finds the cause in the warnings and events of this service.',
    modelNext: MODEL_CHECK,
  },
}

/** For a reason that only a newer copy of this package knows. */
const UNKNOWN: Refusal = { happened: 'The action may not run.', next: 'Do not repeat it unchanged.' }

/** What happened and what to do next, for the caller. */
export const REFUSAL_SENTENCES = Object.fromEntries(
  Object.entries(REFUSALS).map(([reason, { happened, next }]) => [reason, `${happened} ${next}`]),
) as Readonly<Record<Reason, string>>

/** What happened and what to do next, for a model. */
export function sentencesForModel(reason: Reason): { readonly happened: string; readonly next: string } {
  const { happened, next, modelNext } = (Object.hasOwn(REFUSALS, reason) && REFUSALS[reason]) || UNKNOWN
  return { happened, next: modelNext ?? next }
}

interface RefusalDetails {
  readonly advice?: string | undefined
  readonly decision_id?: string | null | undefined
  /** The reviewer's words. */
  readonly words?: string | null | undefined
}

/** Returns the sentence with its reason and the decision, as the message of an error. */
export function refusalMessage(reason: Reason, { advice, decision_id, words }: RefusalDetails): string {
  const about = decision_id ? `, decision ${decision_id}` : ''
  const sentences = advice ?? REFUSAL_SENTENCES[reason] ?? UNKNOWN.happened
  return `${sentences}${words ? ` ${words}` : ''} (${reason}${about})`
}
