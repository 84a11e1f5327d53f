/** Sentences that end more than one advice. They address a program or a model. */
export const GIVE_UP = 'Do not try again; tell the person you work for.'

export function waitForReview(decisionId: string): string {
  return `A person has to approve this. Wait for decision ${decisionId}; do not ask again.`
}
