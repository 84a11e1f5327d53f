import { findVisible } from '../../use-cases/decisions/get.js'
import { findByPermit, type RedeemDeps, redeemPermit } from '../../use-cases/decisions/transitions/redeem.js'
import { viewDecision } from '../../use-cases/decisions/view.js'
import { routesOf } from '../route.js'

export function permitRoutes(deps: RedeemDeps) {
  return routesOf({
    'permits.redeem': {
      replay: {
        present: async ({ caller }, id) => {
          const { decision } = await findVisible(deps.store, caller, id)
          return { body: viewDecision(decision, caller, deps.clock.now().toISOString()) }
        },
        assertAllowed: ({ caller, body }) => findByPermit(deps, caller, body.permit_token),
      },
      handle: async (call) => ({ body: await redeemPermit(deps, call, call.body) }),
    },
  })
}
