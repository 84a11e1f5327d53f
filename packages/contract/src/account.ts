import { z } from 'zod'
import { BUDGET_PERIODS, type BudgetPeriod } from './budget.js'
import { PolicyIdSchema } from './id.js'
import type { Immutable } from './immutable.js'
import { TimestampSchema } from './timestamp.js'

/**
 * The members that identify an account. `unit` is in lower case, because case is ignored; `agent_id` is null unless the
 * budget's scope is the agent; `starts_at` is the start of the period, null for `total`.
 */
export interface AccountKey {
  readonly policy_id: string
  readonly unit: string
  readonly period: BudgetPeriod
  readonly agent_id: string | null
  readonly starts_at: string | null
}

/** A budget's account in one period: amounts in its unit. */
export const BudgetAccountSchema = z
  .strictObject({
    policy_id: PolicyIdSchema,
    agent_id: z.string().nullable().meta({ description: 'Null unless the scope is the agent.' }),
    unit: z.string(),
    limit: z.number(),
    period: z.enum(BUDGET_PERIODS),
    starts_at: TimestampSchema.nullable().meta({ description: 'Null for the period `total`.' }),
    resets_at: TimestampSchema.nullable().meta({ description: 'Null for the period `total`.' }),
    spent: z.number().meta({ description: 'The sum of confirmed and expired decisions.' }),
    reserved: z.number().meta({ description: 'The sum that unsettled decisions reserve.' }),
    remaining: z.number().meta({ description: 'Never below 0.' }),
    deleted_at: TimestampSchema.optional().meta({ description: 'When the policy was deleted.' }),
  })
  .meta({ id: 'BudgetAccount' })
export type BudgetAccount = Immutable<z.infer<typeof BudgetAccountSchema>>
