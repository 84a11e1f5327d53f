/** The proxy over HTTP, against the server as it is shipped. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { proxiedServers } from './gated-servers.js'

const point = useDecisionPoint()
enforcementSuite(proxiedServers(), point)
