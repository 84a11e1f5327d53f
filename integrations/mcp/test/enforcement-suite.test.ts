/** Gated servers of both SDKs, against the server as it is shipped. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { gatedServersV1, gatedServersV2 } from './gated-servers.js'

const point = useDecisionPoint()
enforcementSuite(gatedServersV1(), point)
enforcementSuite(gatedServersV2(), point)
