/** Guarded routes, against the server as it is shipped. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'

import { guardedRoutes, wrappedRoutes } from './guarded-routes.js'

const point = useDecisionPoint()
enforcementSuite(wrappedRoutes('a route whose handler is wrapped'), point)
enforcementSuite(guardedRoutes('a route with a guard before its handler'), point)
