/** The gates that the quick tier leaves out, and the proxy over HTTP, against the server as it is shipped. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { gatedServersV1, gatedServersV2, proxiedServers } from './gated-servers.js'

const point = useDecisionPoint()
enforcementSuite(gatedServersV1('server'), point)
enforcementSuite(gatedServersV1('transport'), point)
enforcementSuite(gatedServersV2('server'), point)
enforcementSuite(proxiedServers(), point)
