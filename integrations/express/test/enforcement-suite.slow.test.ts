/** A guarded route, against the server as it is shipped. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { guardedRoutes } from './guarded-routes.js'

const point = useDecisionPoint()
enforcementSuite(guardedRoutes('a route with a guard before its handler'), point)
