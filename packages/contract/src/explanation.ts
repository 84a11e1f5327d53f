import { z } from 'zod'
import { EFFECTS } from './effect.js'
import { PolicyIdSchema } from './id.js'
import type { Json } from './json.js'

const anyJson = (description: string) => z.custom<Json>((value) => value !== undefined).meta({ description })

/** An operator that did not hold, or could not be told (`found` then says what stood at the path instead). */
export const FailedConditionSchema = z
  .strictObject({
    path: z.string(),
    operator: z.string(),
    expected: anyJson('The right-hand side.'),
    actual: anyJson('The value at the path; null when it could not be compared.'),
    found: z.string().optional().meta({ description: 'Only where unknown: `missing` or the type found.' }),
  })
  .meta({ id: 'FailedCondition' })
export type FailedCondition = z.infer<typeof FailedConditionSchema>

export const RULE_RESULTS = ['matched', 'action', 'resource', 'condition', 'unknown', 'not_reached'] as const
export type RuleResult = (typeof RULE_RESULTS)[number]

/** What came of a rule: matched, the first part of it that is false, unknown, or not reached. */
export const RuleExplanationSchema = z
  .strictObject({
    rule: z.int(),
    effect: z.enum(EFFECTS),
    result: z.enum(RULE_RESULTS),
    failed: z.array(FailedConditionSchema),
  })
  .meta({ id: 'RuleExplanation' })
export type RuleExplanation = z.infer<typeof RuleExplanationSchema>

export const PolicyExplanationSchema = z
  .strictObject({
    policy_id: PolicyIdSchema,
    name: z.string(),
    revision: z.int().nullable().meta({ description: 'Null for a draft of a simulation.' }),
    priority: z.int(),
    mode: z.enum(['enforce', 'shadow']),
    agents: z.enum(['matched', 'no_match']),
    result: z
      .enum([...EFFECTS, 'no_match', 'not_reached', 'disabled'])
      .meta({ description: 'What this policy says by itself; `not_reached` when a higher priority had decided.' }),
    decided: z.boolean().meta({ description: 'Whether this is the policy that decided.' }),
    rules: z.array(RuleExplanationSchema),
  })
  .meta({ id: 'PolicyExplanation' })
export type PolicyExplanation = z.infer<typeof PolicyExplanationSchema>

/** Every policy and rule considered, as of the decision, and the rule that came nearest to a less restrictive effect. */
export const ExplanationSchema = z
  .strictObject({
    decision_id: z.string().nullable().meta({ description: 'Null in a simulation.' }),
    effect: z.enum(EFFECTS),
    summary: z.string().meta({ description: 'One sentence.' }),
    nearest_miss: z
      .strictObject({ policy_id: PolicyIdSchema, rule: z.int(), failed: z.array(FailedConditionSchema) })
      .nullable(),
    policies: z.array(PolicyExplanationSchema),
  })
  .meta({ id: 'Explanation' })
export type Explanation = z.infer<typeof ExplanationSchema>
