import { z } from 'zod'
import { BUDGET_PERIODS } from './budget.js'
import { EFFECTS } from './effect.js'
import { IdSchema, PolicyIdSchema } from './id.js'
import type { Immutable } from './immutable.js'
import { jsonObject } from './json.js'
import { LIMITS } from './limits.js'
import { TimestampSchema } from './timestamp.js'
import { TraceIdSchema } from './trace-id.js'

/** The states of a decision. Only `authorized` lets an action run. */
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

/** The reasons for the result of a decision. */
export const REASON_CODES = [
  'rule_matched',
  'no_matching_policy',
  'condition_indeterminate',
  'evaluation_limit',
  'agent_suspended',
  'agent_not_registered',
  'evaluation_error',
  'too_many_reviews',
  'budget_exceeded',
  'budget_amount_invalid',
  'budget_unit_mismatch',
] as const
export type ReasonCode = (typeof REASON_CODES)[number]

/**
 * What a program or a model may do when a decision does not permit the action, or not yet. `now` applies once it is
 * approved.
 */
export const AdviceSchema = z
  .strictObject({
    retry: z.enum(['never', 'changed', 'after', 'after_approval', 'now']),
    after: TimestampSchema.optional(),
    max_amount: z.number().optional(),
    message: z.string(),
  })
  .meta({ id: 'Advice' })
export type Advice = Immutable<z.infer<typeof AdviceSchema>>

/** A person's answer to a review; null members are not known yet. */
export const ReviewSchema = z
  .strictObject({
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
  .meta({ id: 'Review' })
export type Review = Immutable<z.infer<typeof ReviewSchema>>

/** The outcome of the action; `amount` is in the unit of its budget. */
export const OutcomeSchema = z
  .strictObject({
    result: z.enum(['confirmed', 'rejected']),
    amount: z.number().nullable(),
    note: z.string().nullable(),
    at: TimestampSchema,
    late: z.boolean(),
    overage: z.boolean(),
    corrected: z.boolean(),
  })
  .meta({ id: 'Outcome' })
export type Outcome = Immutable<z.infer<typeof OutcomeSchema>>

/** A budget that was asked: amounts are in its unit, `remaining` and `over_limit` are as of right after. */
export const DecisionBudgetSchema = z
  .strictObject({
    policy_id: z.string(),
    unit: z.string(),
    amount: z.number().nullable(),
    period: z.enum(BUDGET_PERIODS),
    starts_at: TimestampSchema.nullable(),
    resets_at: TimestampSchema.nullable(),
    remaining: z.number(),
    over_limit: z.boolean(),
    reserved: z.boolean(),
  })
  .meta({ id: 'DecisionBudget' })
export type DecisionBudget = Immutable<z.infer<typeof DecisionBudgetSchema>>

/** The result that a shadow policy would have given. */
export const ShadowSchema = z
  .strictObject({ policy_id: PolicyIdSchema, effect: z.enum(EFFECTS), rule: z.int() })
  .meta({ id: 'Shadow' })
export type Shadow = Immutable<z.infer<typeof ShadowSchema>>

const decisionShape = {
  id: IdSchema('dec'),
  effect: z.enum(EFFECTS).meta({ description: 'The effect that was decided; never changes.' }),
  status: z.enum(DECISION_STATUSES).meta({ description: 'The current status.' }),
  reason: z.string().nullable().meta({ description: 'Null on an allow, a sentence otherwise.' }),
  reason_code: z.enum(REASON_CODES),
  policy_id: PolicyIdSchema,
  policy_revision: z.int().nullable(),
  policy_set: z.int().meta({ description: 'A counter that increases with every policy write.' }),
  rule: z.int().nullable().meta({ description: 'Index of the rule that decided.' }),
  agent_id: z.string(),
  action: z.string(),
  resource: z.string().nullable(),
  latency_ms: z.number().positive().meta({ description: 'Duration of the evaluation, in milliseconds.' }),
  evaluated_at: TimestampSchema,
  expires_at: TimestampSchema.meta({ description: 'When the decision and its permit expire.' }),
  trace_id: TraceIdSchema.nullable().meta({
    description: 'The trace of the request, from its header `traceparent`. Null without a valid one.',
  }),
  budgets: z.array(DecisionBudgetSchema),
  review: ReviewSchema.nullable(),
  outcome: OutcomeSchema.nullable(),
  advice: AdviceSchema.nullable(),
  shadow: z.array(ShadowSchema).optional().meta({ description: 'Only for a key with `policies:read`.' }),
  permit_token: z
    .string()
    .optional()
    .meta({ description: 'Present only while authorized, and only for the key that requested the decision.' }),
}

/**
 * A decision as POST returns it. The action may run only if `status` is `authorized`, `expires_at` is in the future,
 * and agent, action and resource are the requested ones; in any other case, or without an answer, it must not run.
 */
export const DecisionSchema = z.strictObject(decisionShape).meta({ id: 'Decision' })
export type Decision = Immutable<z.infer<typeof DecisionSchema>>

const detailShape = {
  request_hash: z.string().nullable().meta({
    description:
      'base64url SHA-256 of the JCS form of agent_id, action, resource and context. Null if the request was erased.',
  }),
  request_erased_at: TimestampSchema.optional().meta({
    description: 'Present only if the request was erased; then `resource`, `context` and `request_hash` are null.',
  }),
  key_id: z.string().meta({ description: 'The API key that requested the decision.' }),
  request_id: z.string(),
}

/** A decision as GET and lists return it: with the request, and the key that made it. */
export const DecisionDetailSchema = z
  .strictObject({ ...decisionShape, context: jsonObject('As the request gave it.').nullable(), ...detailShape })
  .meta({ id: 'DecisionDetail' })
export type DecisionDetail = Immutable<z.infer<typeof DecisionDetailSchema>>

const { permit_token: _permit, ...eventShape } = {
  ...decisionShape,
  shadow: decisionShape.shadow.meta({ description: 'Only in webhooks, which also receive whole policies.' }),
}

const omitted = (member: string, most: number) =>
  z
    .int()
    .positive()
    .optional()
    .meta({ description: `How many of \`${member}\` are omitted. Present only if the decision has more than ${most}.` })

const omittedShape = {
  budgets_omitted: omitted('budgets', LIMITS.eventBudgets),
  shadow_omitted: omitted('shadow', LIMITS.eventShadow),
}

/** A decision as events show it: as of the event, without the permit and the context. It is smaller than 64 KiB. */
export const EventDecisionSchema = z
  .strictObject({ ...eventShape, ...detailShape, ...omittedShape })
  .meta({ id: 'EventDecision' })
export type EventDecision = Immutable<z.infer<typeof EventDecisionSchema>>
