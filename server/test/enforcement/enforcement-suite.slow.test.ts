/** Protected functions, and the parts of the SDK by themselves, against the real server. */
import { enforcementSuite } from '@countersign/testkit/enforcement-suite'
import { ownSettlementAdapter } from './own-settlements.js'
import { protectAdapter } from './plain-functions.js'
import { useDecisionPoint } from './running-point.js'

const point = useDecisionPoint()
enforcementSuite(protectAdapter, point)
enforcementSuite(ownSettlementAdapter, point)
