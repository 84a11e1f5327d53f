/** Plain functions that the SDK guards, against the real server. Those that it protects are in the slow tier. */
import { enforcementSuite } from '@countersign/testkit/enforcement-suite'
import { guardAdapter } from './plain-functions.js'
import { useDecisionPoint } from './running-point.js'

const point = useDecisionPoint()
enforcementSuite(guardAdapter, point)
