import {
  type Budget,
  type BudgetPeriod,
  compilePattern,
  type Pattern,
  toMicro,
  withBudgetDefaults,
} from '@countersign/contract'
import type { Path, PathParser } from '../path.js'

const DEFAULT_CURRENCY = 'context.currency'

/** A policy's budget, ready to be asked. */
export interface CompiledBudget {
  readonly limit: bigint
  /** In the spelling of the policy. */
  readonly unit: string
  /** In lower case, as in the key of the account. */
  readonly unitKey: string
  readonly period: BudgetPeriod
  /** Null when every action counts. */
  readonly actions: readonly Pattern[] | null
  /** The amount of each decision, or the path at which the request gives it. */
  readonly amount: bigint | Path
  readonly currency: Path
  /** Whether the request must give the currency; otherwise it is compared only when present. */
  readonly needsCurrency: boolean
  readonly scope: 'policy' | 'agent'
  readonly onExceed: 'deny' | 'review'
}

/** A rule that won in its policy and may have to reserve in the policy's budget. */
export interface BudgetedRule {
  readonly policy_id: string
  readonly policy_revision: number | null
  readonly rule: number
  readonly budget: CompiledBudget
}

export function compileBudget(source: Budget, parsePath: PathParser): CompiledBudget {
  const budget = withBudgetDefaults(source) as Budget & Required<Pick<Budget, 'amount' | 'scope' | 'on_exceed'>>
  const { amount, currency, actions } = budget
  return {
    limit: toMicro(budget.limit),
    unit: budget.unit,
    unitKey: budget.unit.toLowerCase(),
    period: budget.period,
    actions: actions?.map(compilePattern) ?? null,
    amount: typeof amount === 'number' ? toMicro(amount) : parsePath(amount),
    currency: parsePath(currency ?? DEFAULT_CURRENCY),
    needsCurrency: currency !== undefined,
    scope: budget.scope,
    onExceed: budget.on_exceed,
  }
}
