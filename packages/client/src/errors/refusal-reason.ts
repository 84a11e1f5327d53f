/** Why an action was not run: the reasons of both refusals. */

/**
 * - `denied`: by policy;
 * - `review_required`: a person has to approve it first; ask again with the same `idempotencyKey`, or wait;
 * - `declined`, `withdrawn`: a person declined it, or the caller withdrew it;
 * - `expired`: it may no longer run, or it was not answered or claimed in time;
 * - `settled`: it was confirmed or rejected already, so it ran or will not run;
 * - `already_claimed`: another holder runs it, or this process has begun it before;
 * - `permit_already_used`: its permit was redeemed;
 * - `policy_denies`: it was approved, and the present policies deny it;
 * - `agent_suspended`: the agent was suspended after the decision;
 * - `unavailable`: there is no trustworthy answer of the decision point;
 * - `refused`: the decision point rejected the request: key, scope, form or size;
 * - `mapping_failed`: the mapping of the call to a question threw or returned something else; nothing was sent;
 * - `question_refused`: a part of the agent, action or resource looks like a missing value; nothing was sent;
 * - `unmapped`: no mapping names the action; nothing was sent;
 * - `arguments_refused`: the arguments are not plain data, or contain a number that no double represents; nothing was
 *   sent.
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

/**
 * - `denied`: by policy, there was nothing to wait for;
 * - `declined`: a person declined it;
 * - `withdrawn`: the caller withdrew it before it ran;
 * - `expired`: it was not answered or claimed in time;
 * - `settled`: it was confirmed or rejected already;
 * - `not_reviewed`: it needed no review, and belongs to the holder that asked;
 * - `already_claimed`: another holder runs it;
 * - `permit_already_used`: it was redeemed;
 * - `policy_denies`: it was approved, and the present policies deny it;
 * - `agent_suspended`: it was approved, and the agent is suspended.
 */
export type NotPermittedReason =
  | 'denied'
  | 'declined'
  | 'withdrawn'
  | 'expired'
  | 'settled'
  | 'not_reviewed'
  | 'already_claimed'
  | 'permit_already_used'
  | 'policy_denies'
  | 'agent_suspended'
