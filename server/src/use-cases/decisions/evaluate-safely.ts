import {
  type AskedBudget,
  askBudgets,
  type EngineRequest,
  type Evaluation,
  type evaluate,
  evaluationError,
  type Facts,
  type PolicySet,
} from '@countersign/engine'
import type { Log } from '../../ports/log.js'

export interface EvaluateDeps {
  readonly evaluate: typeof evaluate
  readonly maxEvaluationSteps: number
  readonly log: Log
}

/** A request with its evaluation by the policies. */
export interface Evaluated {
  readonly evaluation: Evaluation
  /** The budgets that must have room for the request. */
  readonly budgets: readonly AskedBudget[]
}

/**
 * Evaluates a request and names the budgets that must have room for it. An internal error never turns into an allow: it
 * becomes a denial, which is recorded like every other decision.
 */
export function evaluateSafely(
  { evaluate, maxEvaluationSteps, log }: EvaluateDeps,
  requestId: string,
  set: PolicySet,
  request: EngineRequest,
  facts: Facts,
  phase: 'decision' | 'approval' = 'decision',
): Evaluated {
  try {
    const evaluation = evaluate(set, request, facts, maxEvaluationSteps)
    return { evaluation, budgets: askBudgets(evaluation, request, facts, phase) }
  } catch (err) {
    log.error({ err, request_id: requestId }, 'evaluation failed; the request is denied')
    return { evaluation: evaluationError(), budgets: [] }
  }
}
