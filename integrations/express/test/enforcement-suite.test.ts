/** A guarded route, against the server as it is shipped. The other way to guard one is in the slow tier. */
import { enforcementSuite, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { wrappedRoutes } from './guarded-routes.js'

const point = useDecisionPoint()
enforcementSuite(wrappedRoutes('a route whose handler is wrapped'), point)
