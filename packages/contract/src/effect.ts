export const EFFECTS = ['allow', 'deny', 'review', 'log'] as const
export type Effect = (typeof EFFECTS)[number]
