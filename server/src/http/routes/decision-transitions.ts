import type { Decision } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import type { StoredDecision } from '../../ports/store/documents.js'
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
import { type Call, routesOf } from '../route.js'

export type DecisionTransitionDeps = ApproveDeps & ClaimDeps

/** The transitions of a decision: POST /v1/decisions/{id}/<verb>. */
export function decisionTransitionRoutes(deps: DecisionTransitionDeps) {
  return routesOf({
    'decisions.claim': transition(deps, {
      assertAllowed: ({ caller }, decision) => assertMayClaim(caller, decision),
      transition: claimDecision,
      view: (caller, decision, now) => viewWithPermit(deps, caller, decision, now),
    }),
    'decisions.confirm': transition(deps, {
      assertAllowed: ({ caller, body }, decision) =>
        assertMaySettle(caller, decision, { result: 'confirmed', amount: body.amount ?? null }),
      transition: confirmDecision,
    }),
    'decisions.reject': transition(deps, {
      assertAllowed: ({ caller }, decision) => assertMaySettle(caller, decision, { result: 'rejected' }),
      transition: rejectDecision,
    }),
    'decisions.correct': transition(deps, {
      assertAllowed: ({ caller }, decision) => assertMayCorrect(caller, decision),
      transition: correctDecision,
    }),
    'decisions.approve': transition(deps, {
      assertAllowed: ({ caller }, decision) => assertMayReview(deps, caller, decision),
      transition: approveDecision,
    }),
    'decisions.decline': transition(deps, {
      assertAllowed: ({ caller }, decision) => assertMayReview(deps, caller, decision),
      transition: declineDecision,
    }),
  })
}

interface Transition<Body> {
  /** Throws the 403 that comes before the error about a reused idempotency key. */
  readonly assertAllowed: (call: Call<Body>, decision: StoredDecision) => unknown
  readonly transition: (deps: DecisionTransitionDeps, call: TransitionCall, body: Body) => Promise<Decision>
  /** The answer to a repeated call; without it, the decision without its permit. */
  readonly view?: (caller: Caller, decision: StoredDecision, now: string) => Promise<Decision> | Decision
}

function transition<Body>(deps: DecisionTransitionDeps, definition: Transition<Body>) {
  const {
    assertAllowed,
    transition,
    view = (caller, decision, now) => viewDecision(decision, caller, now),
  } = definition
  const find = (call: Call, id: string): Promise<StoredDecision> =>
    findVisible(deps.store, call.caller, id).then(({ decision }) => decision)
  return {
    replay: {
      present: async (call: Call, id: string) => {
        const decision = await find(call, id)
        return { body: await view(call.caller, decision, deps.clock.now().toISOString()) }
      },
      assertAllowed: async (call: Call<Body>) => {
        await assertAllowed(call, await find(call, call.params.id as string))
      },
    },
    handle: async (call: Call<Body>) => ({
      body: await transition(deps, { ...call, id: call.params.id as string }, call.body),
    }),
  }
}
