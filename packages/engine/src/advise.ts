import type { Advice } from '@countersign/contract'
import { GIVE_UP, waitForReview } from './advice-sentences.js'
import { adviseOnViolation } from './budget/advise.js'
import type { Evaluation } from './evaluation.js'
import type { Indeterminate } from './indeterminate.js'
import { holderOf, withArticle } from './reason.js'
import type { EngineRequest } from './request.js'
import { shortenText } from './shorten.js'

/**
 * Returns what a program or a model may do after this evaluation; null on allow and log.
 *
 * The advice is for the caller: it names the fact to fix and reveals nothing else about the policies. Advice to wait
 * for a review names `decisionId`. If the caller has changed the effect or the reason code of the evaluation (a deny
 * because too many reviews are open), the advice follows from the changed one.
 */
export function adviseOn(evaluation: Evaluation, request: EngineRequest, decisionId: string): Advice | null {
  if (evaluation.effect === 'allow' || evaluation.effect === 'log') return null
  const { violation } = evaluation
  if (violation !== undefined && violation.reason_code === evaluation.reason_code)
    return adviseOnViolation(violation, decisionId)
  if (evaluation.effect === 'review') return { retry: 'after_approval', message: waitForReview(decisionId) }
  if (evaluation.reason_code === 'evaluation_limit') return { retry: 'changed', message: HOW_TO_READ_LESS }
  if (evaluation.indeterminate !== undefined) return { retry: 'changed', message: howToMend(evaluation.indeterminate) }
  return { retry: 'never', message: `${whyNever(evaluation, request)} ${GIVE_UP}` }
}

const HOW_TO_READ_LESS =
  'Shorten the texts and lists of the context and ask again. If they are short, do not try again; tell the person you work for.'

function howToMend({ path, expected }: Indeterminate): string {
  const fact = `${shortenText(path)} as ${withArticle(expected)}`
  if (holderOf(path) === 'the agent') return `Have ${fact} put into the agent's metadata and ask again.`
  return `Give ${fact} and ask again.`
}

function whyNever({ reason_code }: Evaluation, { action }: EngineRequest): string {
  switch (reason_code) {
    case 'no_matching_policy':
      return `No policy allows ${action} for this agent.`
    case 'agent_suspended':
      return 'This agent is suspended.'
    case 'evaluation_error':
      return 'The decision point failed, so nothing was permitted.'
    case 'too_many_reviews':
      return 'Too many requests are already waiting for a person.'
    default:
      return `${action} is denied for this agent.`
  }
}
