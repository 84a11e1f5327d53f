/** What a rule, and a decision, can say. */
export const EFFECTS = ['allow', 'deny', 'review', 'log'] as const
export type Effect = (typeof EFFECTS)[number]
