/** The possible effects of a rule and of a decision. */
export const EFFECTS = ['allow', 'deny', 'review', 'log'] as const
export type Effect = (typeof EFFECTS)[number]
