import { type BudgetPeriod, fromMicro } from '@countersign/contract'
import type { Evaluation } from '../evaluation.js'
import { withArticle } from '../reason.js'
import { shortenText } from '../shorten.js'
import type { BudgetNeed } from './asked-budget.js'
import { type BudgetViolation, leftOf } from './violation.js'

const EACH: Readonly<Record<BudgetPeriod, string>> = {
  hourly: 'an hour',
  daily: 'a day',
  weekly: 'a week',
  monthly: 'a month',
  yearly: 'a year',
  total: 'in all',
}

/** Returns the evaluation after a budget violation: the policy of that budget and its winning rule decide. */
export function applyBudgetViolation(evaluation: Evaluation, violation: BudgetViolation): Evaluation {
  const { effect, reason_code, budget } = violation
  return {
    effect,
    reason: reasonOfViolation(violation),
    reason_code,
    policy_id: budget.policy_id,
    policy_revision: budget.policy_revision,
    rule: budget.rule,
    shadow: evaluation.shadow,
    budgeted: [],
    violation,
  }
}

export function reasonOfViolation({ reason_code, budget, balance }: BudgetViolation, hidesBalance = false): string {
  if (budget.need !== null) return `The budget needs ${describeNeed(budget.need)}.`
  if (reason_code === 'agent_not_registered')
    return 'The budget is kept for each agent, and this agent is not registered.'
  const { unit, period, limit, amount, reads_amount, account } = budget
  const whose = account.agent_id === null ? '' : ' for this agent'
  const asked = fromMicro(amount ?? 0n)
  const asking = reads_amount ? `${asked} ${unit} were asked` : `each decision takes ${asked}`
  const room = hidesBalance ? 'no room for this' : `${fromMicro(leftOf(budget, balance))} ${unit} left`
  return `The budget of ${fromMicro(limit)} ${unit} ${EACH[period]}${whose} has ${room}; ${asking}.`
}

function describeNeed({ path, needed, found }: BudgetNeed): string {
  return `${shortenText(path)} as ${needed}, and the request has ${describeFound(found, needed)}`
}

function describeFound(found: BudgetNeed['found'], needed: string): string {
  if (found === 'missing') return 'none'
  if (found === 'null') return 'null'
  if (found === 'number' && needed.startsWith('a number')) return 'another number'
  if (found === 'string' && needed.startsWith('"')) return 'another text'
  return withArticle(found)
}
