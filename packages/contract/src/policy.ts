import { z } from 'zod'
import { type Budget, BudgetSchema, withBudgetDefaults } from './budget.js'
import { ConditionsSchema } from './conditions.js'
import { EFFECTS, type Effect } from './effect.js'
import { countedItem } from './fault-count.js'
import { IdSchema } from './id.js'
import type { Immutable } from './immutable.js'
import { isJsonObject } from './json.js'
import { LIMITS } from './limits.js'
import { NameSchema, textOf } from './names.js'
import { ActionPatternSchema, AgentPatternSchema, ResourcePatternSchema } from './pattern.js'
import { FieldErrorSchema } from './problem.js'
import { TimestampSchema } from './timestamp.js'

/** A rule of a policy: its effect on the requests that it matches. */
export const RuleSchema = z
  .strictObject({
    action: ActionPatternSchema,
    resource: ResourcePatternSchema.exactOptional(),
    effect: z.enum(EFFECTS),
    conditions: ConditionsSchema.exactOptional(),
    reason: textOf(0, LIMITS.reasonLength).exactOptional().meta({ description: 'Returned with the decision.' }),
    on_unknown: z.enum(['deny', 'skip']).exactOptional().meta({
      description: 'Only on deny and review rules. What an unknown condition does: `deny` (default) or `skip`.',
    }),
  })
  .refine((rule) => rule.on_unknown === undefined || rule.effect === 'deny' || rule.effect === 'review', {
    path: ['on_unknown'],
    error: 'is for deny and review rules only',
    // Reported next to the faults of other members, whenever there is an effect to compare with.
    when: ({ value }) => isJsonObject(value) && EFFECTS.includes(value.effect as Effect),
  })
  .meta({ id: 'Rule', title: 'Rule' })
export type Rule = Immutable<z.infer<typeof RuleSchema>>

const documentShape = {
  name: NameSchema,
  description: textOf(0, LIMITS.descriptionLength).exactOptional(),
  priority: z
    .int()
    .min(-LIMITS.priority)
    .max(LIMITS.priority)
    .exactOptional()
    .meta({ description: 'Policies with a higher priority are evaluated first. Default: 0.' }),
  enabled: z.boolean().exactOptional().meta({ description: 'Default: true.' }),
  mode: z.enum(['enforce', 'shadow']).exactOptional().meta({
    description: 'A shadow policy is evaluated and recorded, but never enforced. Default: `enforce`.',
  }),
  agents: z
    .array(countedItem(AgentPatternSchema))
    .min(1)
    .exactOptional()
    .meta({ description: 'Default: every agent.' }),
  rules: z.array(countedItem(RuleSchema)).min(1).meta({ description: 'The first rule that matches decides.' }),
  budget: BudgetSchema.exactOptional(),
}

/**
 * Members that the server adds. They are ignored wherever a whole policy is sent, so that an answer can be sent back.
 */
const ignored = z.unknown().optional().meta({ readOnly: true })
const addedShape = {
  revision: ignored,
  created_at: ignored,
  updated_at: ignored,
  created_by: ignored,
  warnings: ignored,
}
/** A policy as a person writes it. */
export interface PolicyDocument {
  readonly name: string
  readonly description?: string
  readonly priority?: number
  readonly enabled?: boolean
  readonly mode?: 'enforce' | 'shadow'
  readonly agents?: readonly string[]
  readonly rules: readonly Rule[]
  readonly budget?: Budget
}

/**
 * A policy as sent with POST, PUT and validate: members that the server adds are dropped, defaults are not filled in.
 * Unlike elsewhere, a null is a fault here: a missing value must never widen a policy.
 */
export const PolicyDocumentSchema = z
  .strictObject({ ...documentShape, id: ignored, ...addedShape })
  .meta({ id: 'PolicyDocument', title: 'Policy' })
  .transform(({ id, revision, created_at, updated_at, created_by, warnings, ...document }): PolicyDocument => document)

/** A policy of a simulation: as sent with POST, with the `id` that the simulation uses. */
export interface SimulatedPolicy extends PolicyDocument {
  readonly id?: string
}
/** See `SimulatedPolicy`. */
export const SimulatedPolicySchema = z
  .strictObject({
    ...documentShape,
    id: textOf(1, LIMITS.policyIdLength).exactOptional(),
    ...addedShape,
  })
  .meta({ id: 'SimulatedPolicy', title: 'Policy' })
  .transform(({ revision, created_at, updated_at, created_by, warnings, ...policy }): SimulatedPolicy => policy)

/** A policy with every default filled in; members without a fixed default stay absent if they were not set. */
export type CompletePolicyDocument = PolicyDocument & Required<Pick<PolicyDocument, 'priority' | 'enabled' | 'mode'>>

/** Fills in every default, with the members in the order of the reference. */
export function withDefaults(document: PolicyDocument): CompletePolicyDocument {
  const { name, description, priority = 0, enabled = true, mode = 'enforce', agents, rules, budget } = document
  return {
    name,
    ...(description !== undefined && { description }),
    priority,
    enabled,
    mode,
    ...(agents && { agents }),
    rules,
    ...(budget && { budget: withBudgetDefaults(budget) }),
  }
}

/** A lint finding: the policy is valid, but probably not what was meant. */
export const WarningSchema = z
  .strictObject({
    code: z.string(),
    pointer: z.string().meta({ description: 'JSON pointer (RFC 6901) into the policy.' }),
    message: z.string(),
  })
  .meta({ id: 'Warning' })
export type Warning = Immutable<z.infer<typeof WarningSchema>>

/** A policy as the server returns it; it can be sent back with PUT. */
export const PolicySchema = z
  .strictObject({
    id: IdSchema('pol'),
    ...documentShape,
    priority: documentShape.priority.unwrap(),
    enabled: documentShape.enabled.unwrap(),
    mode: documentShape.mode.unwrap(),
    revision: z.int().min(1).meta({ description: '1, 2, …; also sent as the `ETag`.' }),
    created_at: TimestampSchema,
    updated_at: TimestampSchema,
    created_by: z.string().nullable().meta({ description: 'Id of the API key.' }),
    warnings: z.array(WarningSchema),
  })
  .meta({ id: 'Policy' })
export type Policy = Immutable<z.infer<typeof PolicySchema>>

/** A revision is the whole policy as it was then. */
export type PolicyRevision = Policy

/** The answer that POST would give to a policy; has `warnings` only when it is valid. */
export const PolicyValidationSchema = z
  .strictObject({ valid: z.boolean(), errors: z.array(FieldErrorSchema), warnings: z.array(WarningSchema) })
  .meta({ id: 'PolicyValidation' })
export type PolicyValidation = Immutable<z.infer<typeof PolicyValidationSchema>>
