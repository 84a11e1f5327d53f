/** Gated servers and transports of both SDKs, against the server as it is shipped. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { gatedServersV1, gatedServersV2 } from './gated-servers.js'

const point = useDecisionPoint()
for (const placement of ['server', 'transport'] as const) {
  enforcementSuite(gatedServersV1(placement), point)
  enforcementSuite(gatedServersV2(placement), point)
}
