/** Guarded agents, against the server as it is shipped. Guarded tools are in the slow tier. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { guardedAgents } from './guarded-agents.js'

const point = useDecisionPoint()
enforcementSuite(guardedAgents(), point)
