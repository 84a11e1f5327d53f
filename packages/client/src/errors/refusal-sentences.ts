/** Every reason why an action did not run, as a sentence. */
import type { DeniedReason } from './denied-error.js'
import type { NotPermittedReason } from './not-permitted-error.js'

/**
 * What happened and what to do next, for whoever called: a person, a program or a model. No policy is in them; what only the
 * operator can mend is named as such, and its cause is in events and warnings.
 */
export const REFUSAL_SENTENCES: Readonly<Record<DeniedReason | NotPermittedReason, string>> = {
  denied: 'The policies do not allow this action. Do not repeat it unchanged.',
  review_required:
    'A person has to approve this action first. Wait for the approval, then make the same call again with the same idempotency key.',
  declined: 'A person has declined this action. Do not repeat it.',
  withdrawn:
    'The question was withdrawn before the action began. To run the action, ask again with a new idempotency key.',
  expired:
    'The decision is over, so the action did not begin. Ask again. If new decisions are over at once, the operator has to set the clock of this service.',
  settled:
    'This action was settled before, so it does not run again. If it has to run once more, ask again with a new idempotency key.',
  already_claimed:
    'This action has been begun before, here or by another holder, so it does not run again. For another action use a new idempotency key.',
  not_reviewed:
    'This decision needs no review, and belongs to the holder that asked for it. Ask for a decision of your own.',
  permit_already_used:
    'The permit was used up before, so the action may have run. Look what became of it before you ask for a new decision.',
  policy_denies: 'This action was approved, and the policies do not allow it any more. Do not repeat it unchanged.',
  agent_suspended: 'The agent is suspended. Its actions run again only after the operator has let it resume.',
  unavailable: 'No decision could be had, so the action did not run. Try again later.',
  refused:
    'The decision point did not take the question, so the action did not run. Repeating it unchanged does not help: the operator finds the cause in the warnings and events of this service.',
  mapping_failed:
    'This call does not say what has to be known to ask about it, so the action did not run. Check what you have sent; the operator finds the cause in the warnings and events of this service.',
  question_refused:
    'A value that names what this call is about is missing, so the action did not run. Check what you have sent; the operator finds the cause in the warnings and events of this service.',
  unmapped: 'This call stands for no known action, so it did not run. The operator has to map it to one.',
  arguments_refused:
    'What this call was given cannot be held unchanged while it is asked about, so the action did not run. Give it plain data; the operator finds the cause in the warnings and events of this service.',
}

/** The sentence with its reason and the decision, as the message of an error. */
export function refusalMessage(
  reason: DeniedReason | NotPermittedReason,
  { advice, decision_id }: { readonly advice?: string | undefined; readonly decision_id?: string | null | undefined },
): string {
  const about = decision_id ? `, decision ${decision_id}` : ''
  // A reason that a newer copy of this package knows has no sentence here.
  return `${advice ?? REFUSAL_SENTENCES[reason] ?? 'The action did not run.'} (${reason}${about})`
}
