import { type Advice, fromMicro } from '@countersign/contract'
import { GIVE_UP, waitForReview } from '../advice-sentences.js'
import { shortenText } from '../shorten.js'
import type { AskedBudget, BudgetNeed } from './asked-budget.js'
import { type BudgetViolation, leftOf } from './violation.js'

/** Returns what the caller may do after a budget violation. It reveals what is left, but not the limit. */
export function adviseOnViolation(violation: BudgetViolation, decisionId: string): Advice {
  const { need, unit } = violation.budget
  switch (violation.reason_code) {
    case 'budget_amount_invalid':
      return { retry: 'changed', message: `Give ${describe(need as BudgetNeed)} and ask again.` }
    case 'budget_unit_mismatch':
      return {
        retry: 'changed',
        message: `Give ${describe(need as BudgetNeed)}, with the amount in ${unit}, and ask again.`,
      }
    case 'agent_not_registered':
      return { retry: 'never', message: `An operator has to register this agent. ${GIVE_UP}` }
    case 'budget_exceeded':
      return adviseOnRoom(violation, decisionId)
  }
}

/**
 * A smaller amount does not help when the budget takes the same amount each time. Waiting does not help when the amount
 * alone exceeds the limit, or when the budget never restarts.
 */
function adviseOnRoom({ effect, budget, balance }: BudgetViolation, decisionId: string): Advice {
  const isTooMuch = (budget.amount ?? 0n) > budget.limit
  const after = isTooMuch ? null : budget.resets_at
  const left = fromMicro(leftOf(budget, balance))
  const bounds = { ...(after !== null && { after }), ...(budget.reads_amount && { max_amount: left }) }
  const cause = isTooMuch ? `This takes more than the whole ${nameOf(budget)}.` : describeUse(budget)
  const now = budget.reads_amount && left > 0 ? `At most ${left} ${budget.unit} now` : null
  if (effect === 'review') {
    const message = [cause, ...(now === null ? [] : [`${now} without a person.`]), waitForReview(decisionId)].join(' ')
    return { retry: 'after_approval', ...bounds, message }
  }
  if (after === null) return { retry: 'never', ...bounds, message: `${cause} ${now === null ? GIVE_UP : `${now}.`}` }
  const again = `sk again after ${formatTime(after)}.`
  return { retry: 'after', ...bounds, message: `${cause} ${now === null ? `A${again}` : `${now}, or a${again}`}` }
}

function describe({ path, needed }: BudgetNeed): string {
  return `${shortenText(path)} as ${needed}`
}

function describeUse(budget: AskedBudget): string {
  return `The ${nameOf(budget)} is used up${budget.period === 'total' ? ' and is never renewed' : ''}.`
}

function nameOf({ period }: AskedBudget): string {
  return period === 'total' ? 'budget' : `${period} budget`
}

/** Writes `2026-12-01` for midnight, otherwise `2026-11-21 11:00 UTC`. */
function formatTime(timestamp: string): string {
  const [day, time = ''] = timestamp.split('T')
  return time.startsWith('00:00') ? `${day}` : `${day} ${time.slice(0, 5)} UTC`
}
