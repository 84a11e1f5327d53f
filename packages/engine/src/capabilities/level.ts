import type { CompiledBudget } from '../budget/compiled-budget.js'
import { ALLOW, DENY, LOG, MostRestrictive, NOTHING, type Outcomes, outcomeOf } from './outcomes.js'

/** What the policies of one priority decide together, each free to say what it can whatever the others say. */
export class Level {
  private readonly evaluated = new MostRestrictive()
  /** While the evaluation is an allow: only then are budgets asked. */
  private readonly allowed = new MostRestrictive()

  /**
   * @param said what the rules of a policy can say
   * @param budgeted what becomes of its allow
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

/** What becomes of an allow that this budget is asked about, by every amount, currency and balance that there can be. */
export function outcomesOfBudget({ scope, amount, limit, onExceed }: CompiledBudget, isRegistered: boolean): Outcomes {
  if (scope === 'agent' && !isRegistered) return DENY
  const exceeded = outcomeOf(onExceed)
  if (typeof amount !== 'bigint') return ALLOW | DENY | exceeded
  return amount > limit ? exceeded : ALLOW | exceeded
}
