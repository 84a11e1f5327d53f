/** One gate against the server as it is shipped. The slow tier runs the suite against the others. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { gatedServersV2 } from './gated-servers.js'

const point = useDecisionPoint()
enforcementSuite(gatedServersV2('transport'), point)
