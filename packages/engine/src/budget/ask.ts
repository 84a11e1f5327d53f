import { isBudgetAmount, LIMITS, matchesPattern, toMicro } from '@countersign/contract'
import type { Evaluation } from '../evaluation.js'
import { typeOf } from '../indeterminate.js'
import { type Path, readPath } from '../path.js'
import type { EngineRequest, Facts } from '../request.js'
import type { AskedBudget, BudgetNeed } from './asked-budget.js'
import type { BudgetedRule, CompiledBudget } from './compiled-budget.js'
import { periodAt } from './period.js'

const NO_BUDGETS: readonly AskedBudget[] = []

/**
 * Returns the budgets that a request must pass, in policy-id order, each with its account in the present period and
 * with any fault that exists before its room is checked.
 *
 * While a decision is being made, only an allow reserves. At approval, where the request is evaluated again, a review
 * reserves too: the approver decides what the rules left open, not what the budgets refuse. So while a review is being
 * created, only the budgets that would refuse every approval are asked.
 *
 * Source: docs/budgets.md "Which budgets apply", "When a budget is violated".
 */
export function askBudgets(
  evaluation: Evaluation,
  request: EngineRequest,
  facts: Facts,
  phase: 'decision' | 'approval',
): readonly AskedBudget[] {
  if (evaluation.budgeted.length === 0) return NO_BUDGETS
  const asked = evaluation.budgeted
    .filter(({ budget }) => countsAction(budget, request.action))
    .map((rule) => askBudget(rule, request, facts))
  if (phase === 'approval' || evaluation.effect === 'allow') return asked
  return asked.filter(refusesEveryApproval).map((budget) => ({ ...budget, fault: 'budget_exceeded' }))
}

/** Whether the budget could not cover the amount even in an empty period, and may not be exceeded. */
function refusesEveryApproval({ fault, amount, limit, on_exceed }: AskedBudget): boolean {
  return fault === null && on_exceed === 'deny' && amount !== null && amount > limit
}

/** Whether a request for this action counts in the budget. */
export function countsAction({ actions }: CompiledBudget, action: string): boolean {
  return actions === null || actions.some((pattern) => matchesPattern(pattern, action))
}

function askBudget(
  { policy_id, policy_revision, rule, budget }: BudgetedRule,
  request: EngineRequest,
  facts: Facts,
): AskedBudget {
  const { starts_at, resets_at } = periodAt(budget.period, facts.now)
  return {
    policy_id,
    policy_revision,
    rule,
    unit: budget.unit,
    period: budget.period,
    starts_at,
    resets_at,
    account: {
      policy_id,
      unit: budget.unitKey,
      period: budget.period,
      agent_id: budget.scope === 'agent' ? request.agent_id : null,
      starts_at,
    },
    limit: budget.limit,
    on_exceed: budget.onExceed,
    ...(typeof budget.amount === 'bigint'
      ? { amount: budget.amount, reads_amount: false, ...registrationOf(budget, facts) }
      : readAmount(budget, budget.amount, request, facts)),
  }
}

type Asking = Pick<AskedBudget, 'amount' | 'reads_amount' | 'fault' | 'need'>

/** Checks amount, unit and agent, in this order. */
function readAmount(budget: CompiledBudget, path: Path, request: EngineRequest, facts: Facts): Asking {
  const value = readPath(path, request, facts)
  if (!isBudgetAmount(value)) {
    const need = { path: path.source, needed: `a number from 0 to ${LIMITS.amount}`, found: typeOf(value) }
    return { amount: null, reads_amount: true, fault: 'budget_amount_invalid', need }
  }
  const amount = toMicro(value)
  const need = unitNeed(budget, request, facts)
  if (need !== null) return { amount, reads_amount: true, fault: 'budget_unit_mismatch', need }
  return { amount, reads_amount: true, ...registrationOf(budget, facts) }
}

/** Returns what is wrong with the currency; null when nothing is. */
function unitNeed(budget: CompiledBudget, request: EngineRequest, facts: Facts): BudgetNeed | null {
  const value = readPath(budget.currency, request, facts)
  const isMissing = value === undefined || value === null
  if (isMissing ? !budget.needsCurrency : isUnit(value, budget.unitKey)) return null
  return { path: budget.currency.source, needed: JSON.stringify(budget.unit), found: typeOf(value) }
}

const UNIT = /^[A-Za-z0-9_-]{1,32}$/

/** Only ASCII letters are compared without case: the Kelvin sign has the lower case k, but is not a K. */
function isUnit(value: unknown, unitKey: string): boolean {
  return typeof value === 'string' && UNIT.test(value) && value.toLowerCase() === unitKey
}

/** An unregistered agent could invent a new id to get a fresh limit. */
function registrationOf({ scope }: CompiledBudget, { metadata }: Facts): Pick<AskedBudget, 'fault' | 'need'> {
  const isUnknownAgent = scope === 'agent' && metadata === null
  return { fault: isUnknownAgent ? 'agent_not_registered' : null, need: null }
}
