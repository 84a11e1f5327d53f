/** Plain functions that the SDK guards, and its own parts, against the real server. */
import { enforcementSuite } from '@countersign/testkit/enforcement-suite'
import { ownSettlementAdapter } from './own-settlements.js'
import { guardAdapter, protectAdapter } from './plain-functions.js'
import { useDecisionPoint } from './running-point.js'

const point = useDecisionPoint()
enforcementSuite(guardAdapter, point)
enforcementSuite(protectAdapter, point)
enforcementSuite(ownSettlementAdapter, point)
