import { z } from 'zod'
import { EFFECTS } from './policy.js'
import { TimestampSchema } from './timestamp.js'

export const DECISION_STATUSES = [
  'authorized',
  'denied',
  'awaiting_review',
  'approved',
  'declined',
  'confirmed',
  'rejected',
  'expired',
] as const
export type DecisionStatus = (typeof DECISION_STATUSES)[number]

export const REASON_CODES = [
  'rule_matched',
  'no_matching_policy',
  'condition_indeterminate',
  'agent_suspended',
  'agent_not_registered',
  'evaluation_error',
  'too_many_reviews',
  'budget_exceeded',
  'budget_amount_invalid',
  'budget_unit_mismatch',
] as const
export type ReasonCode = (typeof REASON_CODES)[number]

/** What a program or a model may do after a deny or a review. */
export const AdviceSchema = z.strictObject({
  retry: z.enum(['never', 'changed', 'after', 'after_approval']),
  after: TimestampSchema.optional(),
  max_amount: z.number().optional(),
  message: z.string(),
})
export type Advice = z.infer<typeof AdviceSchema>

export const ReviewSchema = z.strictObject({
  status: z.enum(['waiting', 'approved', 'declined', 'withdrawn', 'expired']),
  requested_at: TimestampSchema,
  expires_at: TimestampSchema,
  decided_by: z.string().nullable(),
  decided_at: TimestampSchema.nullable(),
  comment: z.string().nullable(),
  self_approved: z.boolean().nullable(),
  policy_id: z.string().nullable(),
  policy_revision: z.int().nullable(),
  rule: z.int().nullable(),
})
export type Review = z.infer<typeof ReviewSchema>

export const OutcomeSchema = z.strictObject({
  result: z.enum(['confirmed', 'rejected']),
  amount: z.number().nullable(),
  note: z.string().nullable(),
  at: TimestampSchema,
  late: z.boolean(),
  overage: z.boolean(),
  corrected: z.boolean(),
})
export type Outcome = z.infer<typeof OutcomeSchema>

export const DecisionBudgetSchema = z.strictObject({
  policy_id: z.string(),
  unit: z.string(),
  amount: z.number().nullable(),
  period: z.enum(['hourly', 'daily', 'weekly', 'monthly', 'yearly', 'total']),
  starts_at: TimestampSchema.nullable(),
  resets_at: TimestampSchema.nullable(),
  remaining: z.number(),
  over_limit: z.boolean(),
  reserved: z.boolean(),
})
export type DecisionBudget = z.infer<typeof DecisionBudgetSchema>

export const ShadowSchema = z.strictObject({ policy_id: z.string(), effect: z.enum(EFFECTS), rule: z.int() })
export type Shadow = z.infer<typeof ShadowSchema>
