/** Which budgets a request is asked for, and what they say; written from the contract alone. */
import { micro, number, type Period, periodOf } from './reference-money.js'
import { type Judgement, matches, type ReferenceBudget, type ReferenceRequest, valueAt } from './reference-policies.js'

/** What makes an account one account. */
export interface Account {
  readonly policy_id: string
  /** In lower case. */
  readonly unit: string
  readonly period: string
  readonly agent_id: string | null
  readonly starts_at: string | null
}

export interface Balance {
  readonly spent: bigint
  readonly reserved: bigint
}

export interface AskedBudget {
  readonly account: Account
  readonly budget: ReferenceBudget
  readonly rule: number
  readonly period: Period
  /** Null: the request gives none that is valid. */
  readonly amount: bigint | null
  readonly readsAmount: boolean
  readonly fault: string | null
}

export interface Violation {
  readonly effect: string
  readonly reason_code: string
  readonly policy_id: string
  readonly rule: number
}

export function accountOf(
  policyId: string,
  budget: ReferenceBudget,
  agentId: string,
  startsAt: string | null,
): Account {
  const agent_id = budget.scope === 'agent' ? agentId : null
  return { policy_id: policyId, unit: budget.unit.toLowerCase(), period: budget.period, agent_id, starts_at: startsAt }
}

/** In policy-id order, those of the policies whose own winning rule is one of `winners`. */
export function askedBudgets(
  { level }: Judgement,
  winners: readonly string[],
  request: ReferenceRequest,
  nowMs: number,
  isRegistered: boolean,
): AskedBudget[] {
  return level.flatMap(({ policy, rule, effect }) => {
    const { id, budget } = policy
    if (budget === undefined || !winners.includes(effect)) return []
    if (!(budget.actions ?? ['*']).some((pattern) => matches(pattern, request.action))) return []
    const period = periodOf(budget.period, nowMs)
    const account = accountOf(id, budget, request.agent_id, period.starts_at)
    const { amount, fault } = amountOf(budget, request, nowMs)
    const isStranger = budget.scope === 'agent' && !isRegistered
    return {
      ...{ account, budget, rule, period, amount, readsAmount: typeof budget.amount !== 'number' },
      fault: fault ?? (isStranger ? 'agent_not_registered' : null),
    }
  })
}

function amountOf(budget: ReferenceBudget, request: ReferenceRequest, nowMs: number) {
  const { amount: source = 'context.amount', currency = 'context.currency', unit } = budget
  if (typeof source === 'number') return { amount: micro(source), fault: null }
  const value = valueAt(source, request, nowMs)
  if (typeof value !== 'number' || value < 0 || value > 1e12) return { amount: null, fault: 'budget_amount_invalid' }
  const given = valueAt(currency, request, nowMs) ?? null
  const fits = given === null ? budget.currency === undefined : isSameUnit(given, unit)
  return { amount: micro(value), fault: fits ? null : 'budget_unit_mismatch' }
}

function isSameUnit(given: unknown, unit: string): boolean {
  return typeof given === 'string' && given.toLowerCase() === unit.toLowerCase()
}

/** Those that could not cover the amount even if nothing was used, and that nobody may exceed: nobody can approve. */
export function refusingApproval(asked: readonly AskedBudget[]): AskedBudget[] {
  return asked.filter(
    ({ budget, amount, fault }) =>
      fault === null && budget.on_exceed !== 'review' && (amount as bigint) > micro(budget.limit),
  )
}

export type BalanceOf = (account: Account) => Balance

/** The budget that decides when they cannot all be reserved: the first that denies, else the first that asks for review. */
export function violationOf(asked: readonly AskedBudget[], balanceOf: BalanceOf): Violation | null {
  const violations = asked.flatMap(({ account, budget, rule, amount, fault }) => {
    const about = { policy_id: account.policy_id, rule }
    if (fault !== null) return { effect: 'deny', reason_code: fault, ...about }
    const { spent, reserved } = balanceOf(account)
    if (spent + reserved + (amount as bigint) <= micro(budget.limit)) return []
    return { effect: budget.on_exceed ?? 'deny', reason_code: 'budget_exceeded', ...about }
  })
  return violations.find(({ effect }) => effect === 'deny') ?? violations[0] ?? null
}

/** What is left of a limit, as the wire says it. */
export function roomOf(limit: number, { spent, reserved }: Balance) {
  const left = micro(limit) - spent - reserved
  return { remaining: number(left < 0n ? 0n : left), over_limit: left < 0n }
}

export function rowsOf(asked: readonly AskedBudget[], balanceOf: BalanceOf, isReserved: boolean) {
  return asked.map(({ account, budget, period, amount }) => ({
    policy_id: account.policy_id,
    unit: budget.unit,
    amount: amount === null ? null : number(amount),
    period: budget.period,
    ...period,
    ...roomOf(budget.limit, balanceOf(account)),
    reserved: isReserved,
  }))
}
