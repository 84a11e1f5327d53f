import type { Advice } from '../wire.js'
import { CountersignError, errorFamily } from './countersign-error.js'
import { refusalMessage } from './refusal-sentences.js'

const FAMILY = 'DeniedError'

/**
 * - `denied`: by policy;
 * - `review_required`: a person has to approve it first; ask again with the same `idempotencyKey`, or wait;
 * - `declined`, `withdrawn`: a person declined it, or the caller withdrew it;
 * - `expired`: it may not run any more, or nobody answered or claimed it in time;
 * - `settled`: it was confirmed or rejected already, so it ran or will not run;
 * - `already_claimed`: another holder runs it, or this process has begun it before;
 * - `permit_already_used`: its permit was redeemed;
 * - `policy_denies`: it was approved, and the present policies deny it;
 * - `agent_suspended`: the agent was suspended after the decision;
 * - `unavailable`: no answer of the decision point that can be trusted;
 * - `refused`: the decision point rejected the request: key, scope, form or size;
 * - `mapping_failed`: there was no question to ask, because what maps to it threw or gave something else; nothing was sent;
 * - `question_refused`: a part of the agent, action or resource looks like a value that was missing; nothing was sent;
 * - `unmapped`: nobody said which action this is; nothing was sent;
 * - `arguments_refused`: the arguments are not plain data; nothing was sent.
 */
export type DeniedReason =
  | 'denied'
  | 'review_required'
  | 'declined'
  | 'withdrawn'
  | 'expired'
  | 'settled'
  | 'already_claimed'
  | 'permit_already_used'
  | 'policy_denies'
  | 'agent_suspended'
  | 'unavailable'
  | 'refused'
  | 'mapping_failed'
  | 'question_refused'
  | 'unmapped'
  | 'arguments_refused'

/** What an error has in addition to the reason. */
export interface DeniedFields {
  /** The sentence in the place of that of the reason, where it can name what is at fault. For the caller. */
  readonly detail?: string | undefined
  readonly decision_id?: string | null | undefined
  readonly advice?: Advice | null | undefined
  readonly retryAfterSeconds?: number | null | undefined
  readonly cause?: unknown
}

/**
 * An enforcement point stopped an action: it has not run.
 *
 * Message and fields can be shown to a model or a caller: they say what happened and what to do next, with the reason and
 * the decision's id, and hold neither permit nor policy. `cause` is for the operator's log alone.
 * Source: docs/enforcement.md "Refusals".
 */
export class DeniedError extends CountersignError {
  readonly reason: DeniedReason
  /** Null when no decision is known. */
  readonly decision_id: string | null
  /** Names what is at fault, in a sentence for the caller; null when the sentence of the reason says it all. */
  readonly detail: string | null
  /** What a program or a model may do now, in words without policy internals; null when nobody said. */
  readonly advice: Advice | null
  /** Seconds after which asking again may help; null when the decision point did not say. */
  readonly retryAfterSeconds: number | null

  constructor(reason: DeniedReason, { detail, decision_id, advice, retryAfterSeconds, ...rest }: DeniedFields = {}) {
    const message = refusalMessage(reason, { decision_id, advice: advice?.message ?? detail })
    super(FAMILY, message, 'cause' in rest ? { cause: rest.cause } : undefined)
    this.reason = reason
    this.decision_id = decision_id ?? null
    this.detail = detail ?? null
    this.advice = advice ?? null
    this.retryAfterSeconds = retryAfterSeconds ?? null
  }

  static override isInstance(value: unknown): value is DeniedError {
    return errorFamily(value) === FAMILY
  }
}
