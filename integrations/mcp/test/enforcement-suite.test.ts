/** A gated server and a gated transport, one of each SDK, against the server as it is shipped. The others are in the slow tier. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { gatedServersV1, gatedServersV2 } from './gated-servers.js'

const point = useDecisionPoint()
enforcementSuite(gatedServersV1('server'), point)
enforcementSuite(gatedServersV2('transport'), point)
