import { DecisionSchema, LIMITS, RedeemSchema } from '@countersign/contract'
import { findVisible } from '../../use-cases/decisions/get.js'
import { findByPermit, type RedeemDeps, redeemPermit } from '../../use-cases/decisions/transitions/redeem.js'
import { viewDecision } from '../../use-cases/decisions/view.js'
import { type Route, route } from '../route.js'

export function permitRoutes(deps: RedeemDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/permits/redeem',
      name: 'permits.redeem',
      summary: 'Redeem a permit. Only the first of all calls with this permit gets the decision.',
      scopes: { all: ['permits:redeem'] },
      body: { schema: RedeemSchema, maxBytes: LIMITS.bodyBytes, maxDepth: LIMITS.bodyDepth },
      answer: { status: 200, description: 'The decision of the permit.', schema: DecisionSchema },
      problems: [
        'permit_invalid',
        'not_found',
        'permit_already_used',
        'agent_suspended',
        'invalid_transition',
        'store_unavailable',
      ],
      replay: {
        present: async ({ caller }, id) => {
          const { decision } = await findVisible(deps.store, caller, id)
          return { body: viewDecision(decision, caller, deps.clock.now().toISOString()) }
        },
        assertAllowed: ({ caller, body }) => findByPermit(deps, caller, body.permit_token),
      },
      handle: async (call) => ({ body: await redeemPermit(deps, call, call.body) }),
    }),
  ]
}
