/** Every reason why an action did not run, in words: for a caller, and for a model. */
import type { DeniedReason } from './denied-error.js'
import type { NotPermittedReason } from './not-permitted-error.js'

type Reason = DeniedReason | NotPermittedReason

/** No policy is in it; what only the operator can mend is named as such, and its cause is in events and warnings. */
interface Refusal {
  readonly happened: string
  /** What a person or a program may do. */
  readonly next: string
  /** What a model may do, which chooses no keys and sees no events. Default: the same. */
  readonly modelNext?: string
}

const CHECK = 'Check what you have sent; the operator finds the cause in the warnings and events of this service.'
const MODEL_CHECK =
  'Do not repeat it unchanged: check the arguments. If they are right, tell the person you work for that an operator has to look at it.'
const MODEL_GIVE_UP = 'Do not make this call again; tell the person you work for.'

const REFUSALS: Readonly<Record<Reason, Refusal>> = {
  denied: {
    happened: 'The policies do not allow this action.',
    next: 'Do not repeat it unchanged.',
  },
  review_required: {
    happened: 'A person has to approve this action first.',
    next: 'Wait for the approval, then make the same call again, with the same idempotency key if it had one.',
    modelNext: 'Tell the person you work for, and do not make this call again before it is approved.',
  },
  declined: {
    happened: 'A person has declined this action.',
    next: 'Do not repeat it.',
  },
  withdrawn: {
    happened: 'The question was withdrawn before the action began.',
    next: 'To run the action, ask again with a new idempotency key.',
    modelNext: 'Do not make this call again unless you are told to.',
  },
  expired: {
    happened: 'The decision is over, so the action did not begin.',
    next: 'Ask again. If new decisions are over at once, the operator has to set the clock of this service.',
    modelNext: 'You may make this call once more. If it is over again, tell the person you work for.',
  },
  settled: {
    happened: 'This action was settled before, so it does not run again.',
    next: 'If it has to run once more, ask again with a new idempotency key.',
    modelNext: 'Do not make this call again.',
  },
  already_claimed: {
    happened: 'This action has been begun before, here or by another holder, so it does not run again.',
    next: 'For another action use a new idempotency key.',
    modelNext: 'Do not make this call again; find out first what became of it.',
  },
  not_reviewed: {
    happened: 'This decision needs no review, and belongs to the holder that asked for it.',
    next: 'Ask for a decision of your own.',
  },
  permit_already_used: {
    happened: 'The permit was used up before, so the action may have run.',
    next: 'Look what became of it before you ask for a new decision.',
    modelNext: 'Do not make this call again; find out first what became of it.',
  },
  policy_denies: {
    happened: 'This action was approved, and the policies do not allow it any more.',
    next: 'Do not repeat it unchanged.',
  },
  agent_suspended: {
    happened: 'The agent is suspended.',
    next: 'Its actions run again only after the operator has let it resume.',
    modelNext: MODEL_GIVE_UP,
  },
  unavailable: {
    happened: 'No decision could be had, so the action did not run.',
    next: 'Try again later.',
  },
  refused: {
    happened: 'The decision point did not take the question, so the action did not run.',
    next: 'Repeating it unchanged does not help: the operator finds the cause in the warnings and events of this service.',
    modelNext: MODEL_CHECK,
  },
  mapping_failed: {
    happened: 'This call does not say what has to be known to ask about it, so the action did not run.',
    next: CHECK,
    modelNext: MODEL_CHECK,
  },
  question_refused: {
    happened: 'A value that names what this call is about is missing, so the action did not run.',
    next: CHECK,
    modelNext: MODEL_CHECK,
  },
  unmapped: {
    happened: 'This call stands for no known action, so it did not run.',
    next: 'The operator has to map it to one.',
    modelNext: MODEL_GIVE_UP,
  },
  arguments_refused: {
    happened: 'What this call was given cannot be held unchanged while it is asked about, so the action did not run.',
    next: 'Give it plain data; the operator finds the cause in the warnings and events of this service.',
    modelNext: MODEL_CHECK,
  },
}

/** A reason that a newer copy of this package knows has no words here. */
const UNKNOWN: Refusal = { happened: 'The action did not run.', next: 'Do not repeat it unchanged.' }

/** What happened and what to do next, for whoever called. */
export const REFUSAL_SENTENCES = Object.fromEntries(
  Object.entries(REFUSALS).map(([reason, { happened, next }]) => [reason, `${happened} ${next}`]),
) as Readonly<Record<Reason, string>>

/** What happened and what to do next, for a model. */
export function sentencesForModel(reason: Reason): { readonly happened: string; readonly next: string } {
  const { happened, next, modelNext } = (Object.hasOwn(REFUSALS, reason) && REFUSALS[reason]) || UNKNOWN
  return { happened, next: modelNext ?? next }
}

/** The sentence with its reason and the decision, as the message of an error. */
export function refusalMessage(
  reason: Reason,
  { advice, decision_id }: { readonly advice?: string | undefined; readonly decision_id?: string | null | undefined },
): string {
  const about = decision_id ? `, decision ${decision_id}` : ''
  return `${advice ?? REFUSAL_SENTENCES[reason] ?? UNKNOWN.happened} (${reason}${about})`
}
