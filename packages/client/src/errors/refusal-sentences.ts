/** A sentence for each reason of a refusal: for a caller, and for a model. */
import { forCaller, NOT_PERMITTED, type Sentences, withReason } from './not-permitted-sentences.js'
import type { DeniedReason, NotPermittedReason } from './refusal-reason.js'

type Reason = DeniedReason | NotPermittedReason

const CHECK = 'Check what you have sent. The operator finds the cause in the warnings and events of this service.'
const MODEL_CHECK =
  'Do not repeat it unchanged: check the arguments. If they are right, tell your user that an operator must look at it.'
const MODEL_GIVE_UP = 'Do not repeat this call. Tell your user.'
const MODEL_FIND_OUT = 'Do not repeat this call. Find out what became of it.'

/** Where only the operator can fix the cause, it says so; events and warnings contain the cause. */
const REFUSALS: Readonly<Record<Reason, Sentences>> = {
  ...NOT_PERMITTED,
  review_required: {
    happened: 'A person has to approve this action first.',
    next: 'Wait for the approval, then make the same call again, with the same idempotency key if it had one.',
  },
  unavailable: {
    happened: 'The decision point gave no usable answer.',
    next: 'Try again later.',
  },
  refused: {
    happened: 'The decision point rejected the request.',
    next: 'Do not repeat it unchanged. The operator finds the cause in the warnings and events of this service.',
  },
  mapping_failed: {
    happened: 'The arguments of this call could not be mapped to a request.',
    next: CHECK,
  },
  question_refused: {
    happened: 'A required value is missing in the agent, action or resource.',
    next: CHECK,
  },
  unmapped: {
    happened: 'This tool is not mapped to an action.',
    next: 'The operator must map it to one.',
  },
  arguments_refused: {
    happened: 'The arguments are not plain data.',
    next: 'Pass plain data. The operator finds the cause in the warnings and events of this service.',
  },
}

/** What a model may do, where it differs: a model cannot choose keys and sees no events. */
const MODEL_NEXT: Readonly<Partial<Record<Reason, string>>> = {
  review_required: 'Tell your user. Make the same call again after a person has approved it, not before.',
  withdrawn: 'Do not repeat this call unless you are told to.',
  expired: 'You may make this call once more. If its decision has expired again, tell your user.',
  settled: 'Do not repeat this call.',
  already_claimed: MODEL_FIND_OUT,
  permit_already_used: MODEL_FIND_OUT,
  agent_suspended: MODEL_GIVE_UP,
  refused: MODEL_CHECK,
  mapping_failed: MODEL_CHECK,
  question_refused: MODEL_CHECK,
  unmapped: MODEL_GIVE_UP,
  arguments_refused: MODEL_CHECK,
}

/** For a reason that only a newer copy of this package knows. */
const UNKNOWN: Sentences = { happened: 'The action may not run.', next: 'Do not repeat it unchanged.' }

/** What happened and what to do next, for the caller. */
export const REFUSAL_SENTENCES = Object.fromEntries(
  Object.entries(REFUSALS).map(([reason, sentences]) => [reason, forCaller(sentences)]),
) as Readonly<Record<Reason, string>>

/** What happened and what to do next, for a model. */
export function sentencesForModel(reason: Reason): Sentences {
  if (!Object.hasOwn(REFUSALS, reason)) return UNKNOWN
  const { happened, next } = REFUSALS[reason]
  return { happened, next: MODEL_NEXT[reason] ?? next }
}

interface RefusalDetails {
  readonly advice?: string | undefined
  readonly decision_id?: string | null | undefined
  /** The reviewer's words. */
  readonly words?: string | null | undefined
}

/** Returns the sentence with its reason and the decision, as the message of an error. */
export function refusalMessage(reason: Reason, { advice, decision_id, words }: RefusalDetails): string {
  const sentences = advice ?? REFUSAL_SENTENCES[reason] ?? UNKNOWN.happened
  return withReason(`${sentences}${words ? ` ${words}` : ''}`, reason, decision_id)
}
