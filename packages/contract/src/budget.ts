import { z } from 'zod'
import { AMOUNT_RULE, AmountSchema, isAmount } from './amount.js'
import { countedItem } from './fault-count.js'
import type { Immutable } from './immutable.js'
import { LIMITS } from './limits.js'
import { isContextPath, PATH_PATTERNS } from './path.js'
import { ActionPatternSchema } from './pattern.js'

/** Calendar periods in UTC (weeks start on Monday); `total` never ends. */
export const BUDGET_PERIODS = ['hourly', 'daily', 'weekly', 'monthly', 'yearly', 'total'] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

const isContextReference = (value: unknown): value is string => typeof value === 'string' && isContextPath(value)
const contextPathJsonSchema = { type: 'string', pattern: PATH_PATTERNS.context }

/** The most that may be spent in a period. Source: docs/concepts/policies.md "Members". */
export const BudgetSchema = z
  .strictObject({
    limit: AmountSchema.meta({ description: 'The most that may be spent in a period.' }),
    unit: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/, { error: 'must be a currency code or a word such as calls' })
      .meta({ description: 'A currency code or a word such as `calls`; case is ignored.' }),
    period: z.enum(BUDGET_PERIODS),
    actions: z
      .array(countedItem(ActionPatternSchema))
      .min(1)
      .exactOptional()
      .meta({ description: 'Default: every action.' }),
    amount: z
      .custom<string | number>((value) => isContextReference(value) || (isAmount(value) && value > 0), {
        error: `must be a path that starts with context. or a number above ${AMOUNT_RULE}`,
      })
      .meta({
        anyOf: [contextPathJsonSchema, { type: 'number', exclusiveMinimum: 0, maximum: LIMITS.amount }],
        description: 'The path of the amount, or a fixed amount for each decision. Default: `context.amount`.',
      })
      .exactOptional(),
    currency: z
      .custom<string>(isContextReference, { error: 'must be a path that starts with context.' })
      .meta({
        ...contextPathJsonSchema,
        description:
          'The path of the currency, which every request must have. Without it, `context.currency` is compared if the request has one.',
      })
      .exactOptional(),
    scope: z
      .enum(['policy', 'agent'])
      .exactOptional()
      .meta({ description: 'One account for the policy, or one for each agent. Default: `policy`.' }),
    on_exceed: z.enum(['deny', 'review']).exactOptional().meta({ description: 'Default: `deny`.' }),
  })
  .meta({ id: 'Budget', title: 'Budget' })
export type Budget = Immutable<z.infer<typeof BudgetSchema>>

/** Fills in the defaults of a budget, except `currency`: setting it demands more than its default does. */
export function withBudgetDefaults(budget: Budget): Budget {
  const {
    limit,
    unit,
    period,
    actions,
    amount = 'context.amount',
    currency,
    scope = 'policy',
    on_exceed = 'deny',
  } = budget
  return {
    limit,
    unit,
    period,
    ...(actions && { actions }),
    amount,
    ...(currency !== undefined && { currency }),
    scope,
    on_exceed,
  }
}
