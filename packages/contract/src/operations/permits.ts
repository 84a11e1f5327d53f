import { DecisionSchema } from '../decision.js'
import { RedeemSchema } from '../permit.js'
import { bodyOf, operation } from './operation.js'

export const PERMIT_OPERATIONS = {
  'permits.redeem': operation('POST', '/v1/permits/redeem', {
    summary: 'Redeem a permit. Only the first call with a permit gets the decision.',
    scopes: { all: ['permits:redeem'] },
    takesKey: true,
    body: bodyOf(RedeemSchema),
    answer: { status: 200, description: 'The decision of the permit.', schema: DecisionSchema },
    problems: [
      'permit_invalid',
      'not_found',
      'permit_already_used',
      'agent_suspended',
      'invalid_transition',
      'store_unavailable',
    ],
  }),
}
