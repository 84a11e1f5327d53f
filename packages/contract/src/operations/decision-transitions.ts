/** The transitions of a decision: POST /v1/decisions/{id}/<verb>. */
import type { z } from 'zod'
import { DecisionSchema } from '../decision.js'
import type { ErrorCode } from '../errors.js'
import { IdSchema } from '../id.js'
import { ApproveSchema, ClaimSchema, ConfirmSchema, CorrectSchema, DeclineSchema, RejectSchema } from '../settlement.js'
import { bodyOf, operation, type ScopeRule } from './operation.js'

const SETTLE: ScopeRule = { any: ['decisions:write', 'permits:redeem', 'decisions:settle'] }

interface Transition {
  readonly summary: string
  readonly scopes: ScopeRule
  readonly problems: readonly ErrorCode[]
}

function transition<Body extends z.ZodType>(verb: string, schema: Body, { summary, scopes, problems }: Transition) {
  return operation('POST', `/v1/decisions/{id}/${verb}`, {
    summary,
    scopes,
    takesKey: true,
    params: { id: IdSchema('dec') },
    body: { ...bodyOf(schema), mayBeEmpty: verb !== 'correct' },
    answer: { status: 200, description: 'The decision with its current status.', schema: DecisionSchema },
    problems: ['not_found', 'invalid_transition', 'store_unavailable', ...problems],
  })
}

export const DECISION_TRANSITIONS = {
  'decisions.claim': transition('claim', ClaimSchema, {
    summary: 'Claim an approved decision to run its action. Only the first holder gets the permit.',
    scopes: { all: ['decisions:write'] },
    problems: ['not_asker', 'already_claimed', 'agent_suspended', 'policy_denies'],
  }),
  'decisions.confirm': transition('confirm', ConfirmSchema, {
    summary: 'Confirm that the action ran, and what it cost.',
    scopes: SETTLE,
    problems: ['insufficient_scope', 'permit_redeemed'],
  }),
  'decisions.reject': transition('reject', RejectSchema, {
    summary:
      'Report that the action did not run, and release the reserved amount. The caller withdraws a pending review the same way.',
    scopes: SETTLE,
    problems: ['insufficient_scope', 'permit_redeemed'],
  }),
  'decisions.correct': transition('correct', CorrectSchema, {
    summary: 'Correct the outcome that the caller reported.',
    scopes: { all: ['decisions:settle'] },
    problems: ['insufficient_scope'],
  }),
  'decisions.approve': transition('approve', ApproveSchema, {
    summary: 'Approve a decision that is waiting for review.',
    scopes: { all: ['reviews:write'] },
    problems: ['self_approval', 'agent_suspended', 'policy_denies', 'budget_exceeded', 'budget_busy'],
  }),
  'decisions.decline': transition('decline', DeclineSchema, {
    summary: 'Decline a decision that is waiting for review.',
    scopes: { all: ['reviews:write'] },
    problems: ['self_approval'],
  }),
}
