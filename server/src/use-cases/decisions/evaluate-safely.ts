import { type Evaluation, type evaluate, evaluationError } from '@countersign/engine'
import type { Log } from '../../ports/log.js'

export interface EvaluateDeps {
  readonly evaluate: typeof evaluate
  readonly log: Log
}

/** A fault of ours never turns into an allow: it denies, and is recorded like every other decision. */
export function evaluateSafely(
  { evaluate, log }: EvaluateDeps,
  requestId: string,
  ...asked: Parameters<typeof evaluate>
): Evaluation {
  try {
    return evaluate(...asked)
  } catch (err) {
    log.error({ err, request_id: requestId }, 'evaluation failed; the request is denied')
    return evaluationError()
  }
}
