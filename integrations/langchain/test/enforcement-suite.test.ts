/** Guarded agents and tools, against the server as it is shipped. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { guardedAgents, guardedTools } from './guarded-agents.js'

const point = useDecisionPoint()
enforcementSuite(guardedAgents(), point)
enforcementSuite(guardedTools(), point)
