import { z } from 'zod'
import { EFFECTS } from './effect.js'
import { IdSchema, PolicyIdSchema } from './id.js'
import type { Immutable } from './immutable.js'
import type { Json } from './json.js'

const anyJson = (description: string) => z.custom<Json>((value) => value !== undefined).meta({ description })

/**
 * An operator that did not hold, or that could not be evaluated (`found` then says what the path contained instead).
 */
export const FailedConditionSchema = z
  .strictObject({
    path: z.string(),
    operator: z.string(),
    expected: anyJson('The right-hand side.'),
    actual: anyJson('The value at the path; null when it could not be compared.'),
    found: z
      .string()
      .optional()
      .meta({ description: 'Only if the condition is unknown: `missing`, or the type found.' }),
    redacted: z.literal(true).optional().meta({
      description:
        "Present only if the condition compares the agent's metadata and the key lacks `agents:read`. Then `actual` is null, and a `$ref` is shown as written.",
    }),
  })
  .meta({ id: 'FailedCondition' })
export type FailedCondition = Immutable<z.infer<typeof FailedConditionSchema>>

/** A pattern or an operator that held. */
export const HeldConditionSchema = FailedConditionSchema.omit({ found: true })
  .extend({ actual: anyJson('The value at the path; null when there is none.') })
  .meta({ id: 'HeldCondition' })
export type HeldCondition = Immutable<z.infer<typeof HeldConditionSchema>>

const failedShape = {
  failed: z.array(FailedConditionSchema).meta({
    description: 'A value of more than 1,000 characters is shortened to a string: `abc… (61440 characters)`.',
  }),
  failed_omitted: z.int().min(1).optional().meta({
    description:
      'How many more conditions failed. The list has at most 20 for each rule, and a million characters in total.',
  }),
}

/** The possible results of a rule: see `RuleExplanationSchema`. */
export const RULE_RESULTS = ['matched', 'action', 'resource', 'condition', 'unknown', 'not_reached'] as const
export type RuleResult = (typeof RULE_RESULTS)[number]

/** The result of a rule: matched, the first part of it that is false, unknown, or not reached. */
export const RuleExplanationSchema = z
  .strictObject({
    rule: z.int(),
    effect: z.enum(EFFECTS),
    result: z.enum(RULE_RESULTS),
    ...failedShape,
    held: z.array(HeldConditionSchema).optional().meta({
      description:
        'Present only if the rule matched: its patterns, and the conditions that were true. Absent if the explanation ran out of steps before this rule.',
    }),
    held_omitted: z.int().min(1).optional().meta({
      description: 'How many more conditions were true. Both lists share the limits of `failed`.',
    }),
  })
  .meta({ id: 'RuleExplanation' })
export type RuleExplanation = Immutable<z.infer<typeof RuleExplanationSchema>>

/** The result of a policy; `rules` is empty for a policy that takes no part. */
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
      .meta({ description: 'The result of this policy alone; `not_reached` if a higher priority has decided.' }),
    decided: z.boolean().meta({ description: 'Whether this policy decided.' }),
    rules: z.array(RuleExplanationSchema),
  })
  .meta({ id: 'PolicyExplanation' })
export type PolicyExplanation = Immutable<z.infer<typeof PolicyExplanationSchema>>

const explanationShape = {
  effect: z.enum(EFFECTS),
  summary: z.string().meta({ description: 'One sentence.' }),
  nearest_miss: z
    .strictObject({ policy_id: PolicyIdSchema, rule: z.int(), ...failedShape })
    .nullable()
    .meta({ description: 'The rule that came nearest to a less restrictive effect.' }),
  policies: z.array(PolicyExplanationSchema),
}

/** Explains the answer to a request, with every policy and rule that was considered. */
export const ExplanationSchema = z.strictObject(explanationShape).meta({ id: 'Explanation' })
export type Explanation = Immutable<z.infer<typeof ExplanationSchema>>

/** The same for a decision, as of that decision and not as of today. */
export const DecisionExplanationSchema = z
  .strictObject({ decision_id: IdSchema('dec'), ...explanationShape })
  .meta({ id: 'DecisionExplanation' })
export type DecisionExplanation = Immutable<z.infer<typeof DecisionExplanationSchema>>
