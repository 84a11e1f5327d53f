/** Guarded routes, against the server as it is shipped. */
import { enforcementSuite } from '@countersign/testkit/enforcement-suite'
import { useDecisionPoint } from './decision-point.js'
import { guardedRoutes } from './guarded-routes.js'

enforcementSuite(guardedRoutes('a guarded route'), useDecisionPoint())
