/** Sentences that more than one advice ends with. They are for a program or a model. */
export const GIVE_UP = 'Do not try again. Tell your user.'

export function waitForReview(decisionId: string): string {
  return `A person has to approve this. Wait until a person has approved decision ${decisionId}, then make the same call again.`
}
