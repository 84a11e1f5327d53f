import type { CompiledBudget } from '../budget/compiled-budget.js'
import { ALLOW, DENY, LOG, MostRestrictive, NOTHING, type Outcomes, outcomeOf } from './outcomes.js'

/**
 * The combined result of the policies of one priority, each of which can have any of its results independently of the
 * others.
 */
export class Level {
  private readonly evaluated = new MostRestrictive()
  /** Results while the evaluation is an allow: only then are budgets asked. */
  private readonly allowed = new MostRestrictive()

  /**
   * @param said the possible results of the rules of a policy
   * @param budgeted the possible results of its allow
   */
  add(said: Outcomes, budgeted: Outcomes): void {
    this.evaluated.add(said)
    this.allowed.add((said & (NOTHING | LOG)) | ((said & ALLOW) === 0 ? 0 : budgeted))
  }

  get outcomes(): Outcomes {
    const { outcomes } = this.evaluated
    return (outcomes & ALLOW) === 0 ? outcomes : (outcomes & ~ALLOW) | this.allowed.outcomes
  }
}

/** Returns the possible results of an allow after this budget is asked, over every amount, currency and balance. */
export function outcomesOfBudget({ scope, amount, limit, onExceed }: CompiledBudget, isRegistered: boolean): Outcomes {
  if (scope === 'agent' && !isRegistered) return DENY
  const exceeded = outcomeOf(onExceed)
  if (typeof amount !== 'bigint') return ALLOW | DENY | exceeded
  return amount > limit ? exceeded : ALLOW | exceeded
}
