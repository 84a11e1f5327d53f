/**
 * Section "Budgets" of the contract read aloud, upon the naive evaluator: it uses nothing of the engine. Amounts are whole
 * numbers of millionths, periods are found by walking from one to the next.
 */
import type { AccountKey, Budget, BudgetPeriod, DecisionBudget, Effect, Json } from '@countersign/contract'
import {
  decidingVerdicts,
  evaluateNaively,
  like,
  type NaiveFacts,
  type NaivePolicy,
  type NaiveRequest,
  valueAt,
} from './naive-evaluator.js'

/** What is used of an account, in millionths. */
export interface NaiveBalance {
  readonly spent: bigint
  readonly reserved: bigint
}

/** A decision, budgets and all; of the advice what a program reads. */
export interface BudgetAnswer {
  readonly effect: Effect
  readonly reason_code: string
  readonly policy_id: string
  readonly rule: number | null
  readonly budgets: readonly DecisionBudget[]
  readonly accounts: readonly AccountKey[]
  /** Of a violation by a budget only. */
  readonly advice: {
    readonly retry: string
    readonly after?: string | undefined
    readonly max_amount?: number | undefined
  } | null
}

interface Asked {
  readonly policy: NaivePolicy
  readonly rule: number
  readonly budget: Budget
  readonly amount: bigint | null
  readonly fault: string | null
  readonly balance: NaiveBalance
  readonly bounds: { readonly starts_at: string | null; readonly resets_at: string | null }
}

/** `balances` are those of the first, second, … budget that is asked. */
export function decideNaively(
  policies: readonly NaivePolicy[],
  request: NaiveRequest,
  facts: NaiveFacts,
  phase: 'decision' | 'approval',
  balances: readonly NaiveBalance[],
): BudgetAnswer {
  const { effect, reason_code, policy_id, rule } = evaluateNaively(policies, request, facts)
  const winners = effect === 'allow' || effect === 'review' ? decidingVerdicts(policies, request, facts) : []
  const concerned = winners
    .filter((winner) => winner.effect === 'allow' || winner.effect === 'review')
    .filter((winner) => effect === 'review' || phase === 'approval' || winner.effect === 'allow')
    .filter(({ policy: { budget } }) => budget?.actions?.some((action) => like(action, request.action)) ?? budget)
    .sort((one, other) => (one.policy.id < other.policy.id ? -1 : 1))
  const asking = (winner: (typeof concerned)[number], at: number) =>
    ask(winner.policy, winner.rule, request, facts, balances[at] as NaiveBalance)
  // Of a review only those are asked that keep everybody from approving it.
  const asked =
    effect === 'review' && phase === 'decision'
      ? concerned.filter((winner, at) => isBeyondApproval(asking(winner, at))).map(asking)
      : concerned.map(asking)
  const violations = asked.filter((one) => one.fault !== null || !hasRoom(one))
  const denies = violations.filter((one) => one.fault !== null || one.budget.on_exceed !== 'review')
  const [violation] = [...denies, ...violations]
  const rest = {
    budgets: asked.map((one) => rowOf(one, violation === undefined)),
    accounts: asked.map((one) => accountOf(one, request)),
  }
  if (violation === undefined) return { effect, reason_code, policy_id, rule, ...rest, advice: null }
  return {
    effect: denies.length > 0 ? 'deny' : 'review',
    reason_code: violation.fault ?? 'budget_exceeded',
    policy_id: violation.policy.id,
    rule: violation.rule,
    ...rest,
    advice: adviceOn(violation),
  }
}

function ask(
  policy: NaivePolicy,
  rule: number,
  request: NaiveRequest,
  facts: NaiveFacts,
  balance: NaiveBalance,
): Asked {
  const budget = policy.budget as Budget
  const value = typeof budget.amount === 'number' ? budget.amount : readAmount(budget, request, facts)
  const amount = typeof value === 'number' && value >= 0 && value <= 1e12 ? millionths(value) : null
  return { policy, rule, budget, amount, fault: faultOf(), balance, bounds: boundsAt(budget.period, facts.now) }

  function faultOf(): string | null {
    if (amount === null) return 'budget_amount_invalid'
    if (typeof budget.amount !== 'number' && !isUnitRight(budget, request, facts)) return 'budget_unit_mismatch'
    return budget.scope === 'agent' && facts.metadata === null ? 'agent_not_registered' : null
  }
}

function readAmount(budget: Budget, request: NaiveRequest, facts: NaiveFacts): Json | undefined {
  return valueAt(String(budget.amount ?? 'context.amount'), request, facts)
}

function isUnitRight(budget: Budget, request: NaiveRequest, facts: NaiveFacts): boolean {
  const value = valueAt(budget.currency ?? 'context.currency', request, facts) ?? null
  if (value === null) return budget.currency === undefined
  return typeof value === 'string' && lowered(value) === lowered(budget.unit)
}

/** Character by character, by the difference of 32 between the cases of ASCII. */
function lowered(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
  return units.map((unit) => String.fromCharCode(unit >= 65 && unit <= 90 ? unit + 32 : unit)).join('')
}

function hasRoom({ amount, budget, balance }: Asked): boolean {
  return balance.spent + balance.reserved + (amount as bigint) <= millionths(budget.limit)
}

function isBeyondApproval({ fault, amount, budget }: Asked): boolean {
  return fault === null && budget.on_exceed !== 'review' && (amount as bigint) > millionths(budget.limit)
}

function rowOf({ policy, budget, amount, balance, bounds }: Asked, reserved: boolean): DecisionBudget {
  const left = millionths(budget.limit) - balance.spent - balance.reserved - (reserved ? (amount as bigint) : 0n)
  return {
    policy_id: policy.id,
    unit: budget.unit,
    amount: amount === null ? null : asNumber(amount),
    period: budget.period,
    ...bounds,
    remaining: left < 0n ? 0 : asNumber(left),
    over_limit: left < 0n,
    reserved,
  }
}

function accountOf({ policy, budget, bounds }: Asked, request: NaiveRequest): AccountKey {
  return {
    policy_id: policy.id,
    unit: lowered(budget.unit),
    period: budget.period,
    agent_id: budget.scope === 'agent' ? request.agent_id : null,
    starts_at: bounds.starts_at,
  }
}

function adviceOn(violation: Asked): BudgetAnswer['advice'] {
  const { budget, amount, fault } = violation
  if (fault === 'agent_not_registered') return { retry: 'never' }
  if (fault !== null) return { retry: 'changed' }
  const { remaining, resets_at } = rowOf(violation, false)
  const canWait = resets_at !== null && (amount as bigint) <= millionths(budget.limit)
  return {
    retry: budget.on_exceed === 'review' ? 'after_approval' : canWait ? 'after' : 'never',
    ...(canWait && { after: resets_at }),
    ...(typeof budget.amount !== 'number' && { max_amount: remaining }),
  }
}

/** The shortest decimal as a fraction, the floor of it plus a half; more than nothing is at least one. */
function millionths(value: number): bigint {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', decimals = ''] = mantissa.split('.')
  const power = Number(exponent) - decimals.length + 6
  const top = BigInt(whole + decimals) * 10n ** BigInt(Math.max(power, 0))
  const bottom = 10n ** BigInt(Math.max(-power, 0))
  const rounded = (2n * top + bottom) / (2n * bottom)
  return rounded === 0n && value > 0 ? 1n : rounded
}

function asNumber(amount: bigint): number {
  const digits = String(amount).padStart(7, '0')
  return Number(`${digits.slice(0, -6)}.${digits.slice(-6)}`)
}

const HOUR = 3_600_000
const ZEROS = '0000-01-01T00:00:00.000Z'
/** How many characters of a timestamp tell the period of a moment. */
const TELLING: Partial<Record<BudgetPeriod, number>> = { hourly: 13, daily: 10, monthly: 7, yearly: 4 }

/** Goes on hour by hour, or day by day, until the period is another one. */
function boundsAt(period: BudgetPeriod, now: Date): Asked['bounds'] {
  if (period === 'total') return { starts_at: null, resets_at: null }
  const starts_at = startAt(period, now.getTime())
  let next = Date.parse(starts_at)
  while (startAt(period, next) === starts_at) next += period === 'hourly' ? HOUR : 24 * HOUR
  return { starts_at, resets_at: new Date(next).toISOString() }
}

function startAt(period: BudgetPeriod, moment: number): string {
  const text = new Date(moment).toISOString()
  const telling = TELLING[period]
  if (telling !== undefined) return text.slice(0, telling) + ZEROS.slice(telling)
  // A Monday: the days since then tell the week.
  const monday = Date.parse('1970-01-05T00:00:00.000Z')
  const week = 7 * 24 * HOUR
  return new Date(monday + Math.floor((moment - monday) / week) * week).toISOString()
}
