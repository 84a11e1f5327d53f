import {
  ApproveSchema,
  ClaimSchema,
  ConfirmSchema,
  CorrectSchema,
  type Decision,
  DecisionSchema,
  DeclineSchema,
  type ErrorCode,
  LIMITS,
  RejectSchema,
} from '@countersign/contract'
import type { StoredDecision } from '@countersign/store-port/documents'
import type { z } from 'zod'
import { findVisible } from '../../use-cases/decisions/get.js'
import { viewWithPermit } from '../../use-cases/decisions/permit.js'
import { type ApproveDeps, approveDecision } from '../../use-cases/decisions/transitions/approve.js'
import { assertMayClaim, type ClaimDeps, claimDecision } from '../../use-cases/decisions/transitions/claim.js'
import { confirmDecision } from '../../use-cases/decisions/transitions/confirm.js'
import { correctDecision } from '../../use-cases/decisions/transitions/correct.js'
import { declineDecision } from '../../use-cases/decisions/transitions/decline.js'
import { rejectDecision } from '../../use-cases/decisions/transitions/reject.js'
import { assertMayReview } from '../../use-cases/decisions/transitions/review-rights.js'
import { assertMayCorrect, assertMaySettle } from '../../use-cases/decisions/transitions/settle-rights.js'
import type { TransitionCall } from '../../use-cases/decisions/transitions/transition.js'
import { viewDecision } from '../../use-cases/decisions/view.js'
import { type Call, type Route, route, type ScopeRule } from '../route.js'

export type DecisionTransitionDeps = ApproveDeps & ClaimDeps

type Verb = 'claim' | 'confirm' | 'reject' | 'correct' | 'approve' | 'decline'

const SETTLE: ScopeRule = { any: ['decisions:write', 'permits:redeem', 'decisions:settle'] }

/** The transitions of a decision: POST /v1/decisions/{id}/<verb>. */
export function decisionTransitionRoutes(deps: DecisionTransitionDeps): Route[] {
  return [
    transitionRoute(deps, 'claim', {
      summary: 'Claim an approved decision in order to run its action. Only the first holder gets the permit.',
      scopes: { all: ['decisions:write'] },
      schema: ClaimSchema,
      problems: ['not_asker', 'already_claimed', 'agent_suspended', 'policy_denies'],
      assertAllowed: ({ caller }, decision) => assertMayClaim(caller, decision),
      transition: claimDecision,
    }),
    transitionRoute(deps, 'confirm', {
      summary: 'Confirm that the action ran, and what it cost.',
      scopes: SETTLE,
      schema: ConfirmSchema,
      problems: ['insufficient_scope', 'permit_redeemed'],
      assertAllowed: ({ caller, body }, decision) =>
        assertMaySettle(caller, decision, { result: 'confirmed', amount: body.amount ?? null }),
      transition: confirmDecision,
    }),
    transitionRoute(deps, 'reject', {
      summary:
        'Report that the action did not run, and release the reserved amount. The caller withdraws a pending review the same way.',
      scopes: SETTLE,
      schema: RejectSchema,
      problems: ['insufficient_scope', 'permit_redeemed'],
      assertAllowed: ({ caller }, decision) => assertMaySettle(caller, decision, { result: 'rejected' }),
      transition: rejectDecision,
    }),
    transitionRoute(deps, 'correct', {
      summary: 'Correct the outcome that the caller reported.',
      scopes: { all: ['decisions:settle'] },
      schema: CorrectSchema,
      problems: ['insufficient_scope'],
      assertAllowed: ({ caller }, decision) => assertMayCorrect(caller, decision),
      transition: correctDecision,
    }),
    transitionRoute(deps, 'approve', {
      summary: 'Approve a decision that is waiting for review.',
      scopes: { all: ['reviews:write'] },
      schema: ApproveSchema,
      problems: ['self_approval', 'agent_suspended', 'policy_denies', 'budget_exceeded', 'budget_busy'],
      assertAllowed: ({ caller }, decision) => assertMayReview(deps, caller, decision),
      transition: approveDecision,
    }),
    transitionRoute(deps, 'decline', {
      summary: 'Decline a decision that is waiting for review.',
      scopes: { all: ['reviews:write'] },
      schema: DeclineSchema,
      problems: ['self_approval'],
      assertAllowed: ({ caller }, decision) => assertMayReview(deps, caller, decision),
      transition: declineDecision,
    }),
  ]
}

interface TransitionDefinition<Body extends z.ZodType> {
  readonly summary: string
  readonly scopes: ScopeRule
  readonly schema: Body
  readonly problems: readonly ErrorCode[]
  /** Throws the 403 that comes before the error about a reused idempotency key. */
  readonly assertAllowed: (call: Call<z.output<Body>>, decision: StoredDecision) => unknown
  readonly transition: (deps: DecisionTransitionDeps, call: TransitionCall, body: z.output<Body>) => Promise<Decision>
}

function transitionRoute<Body extends z.ZodType>(
  deps: DecisionTransitionDeps,
  verb: Verb,
  definition: TransitionDefinition<Body>,
): Route {
  const { summary, scopes, schema, problems, assertAllowed, transition } = definition
  const find = (call: Call, id: string): Promise<StoredDecision> =>
    findVisible(deps.store, call.caller, id).then(({ decision }) => decision)
  return route({
    method: 'POST',
    path: `/v1/decisions/{id}/${verb}`,
    name: `decisions.${verb}`,
    summary,
    scopes,
    body: { schema, maxBytes: LIMITS.bodyBytes, maxDepth: LIMITS.bodyDepth, mayBeEmpty: verb !== 'correct' },
    answer: { status: 200, description: 'The decision with its current status.', schema: DecisionSchema },
    problems: ['not_found', 'invalid_transition', 'store_unavailable', ...problems],
    replay: {
      present: async (call, id) => {
        const decision = await find(call, id)
        const now = deps.clock.now().toISOString()
        const view =
          verb === 'claim' ? viewWithPermit(deps, call.caller, decision, now) : viewDecision(decision, call.caller, now)
        return { body: await view }
      },
      assertAllowed: async (call) => {
        await assertAllowed(call, await find(call, call.params.id as string))
      },
    },
    handle: async (call) => ({ body: await transition(deps, { ...call, id: call.params.id as string }, call.body) }),
  })
}
