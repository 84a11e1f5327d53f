/** Guarded tools, against the server as it is shipped. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { guardedTools } from './guarded-agents.js'

const point = useDecisionPoint()
enforcementSuite(guardedTools(), point)
