import type { Application, ErrorRequestHandler, RequestHandler } from 'express'
import { checkRoutes } from './check-routes.js'
import { denialOf } from './denial-of.js'
import { noteError } from './response-end.js'
import { RouteDeniedError } from './route-denied-error.js'

/**
 * Answers refusals as `application/problem+json`, and tells the guards of a route what it threw: an error in the middle
 * of its response, or one with an unknown outcome. Any other error goes to the next error handler. Put it after the
 * routes, before other error handlers: `app.use` of it checks the routes before it, as `checkRoutes` does.
 *
 * Source: docs/express.md "Refusals".
 */
export function permitErrors(): ErrorRequestHandler {
  const answer: ErrorRequestHandler = (error: unknown, _req, res, next) => {
    noteError(res, error)
    const denial = denialOf(error)
    if (!RouteDeniedError.isInstance(denial) || res.headersSent) return next(error)
    res
      .status(denial.status)
      .set(denial.headers)
      .type('application/problem+json')
      .send(JSON.stringify(denial.toProblem()))
  }
  return checkedWhereMounted(answer)
}

/**
 * Express tells only an app where it is mounted: `app.use` mounts it, and then tells it. A router uses the handler
 * unchanged.
 */
function checkedWhereMounted(answer: ErrorRequestHandler): ErrorRequestHandler {
  const passOn: RequestHandler = (_req, _res, next) => next()
  const mountable = Object.assign(
    ((error, req, res, next) => answer(error, req, res, next)) satisfies ErrorRequestHandler,
    {
      mountpath: '/',
      handle: passOn,
      set: () => mountable,
      emit(_event: 'mount', app: Application) {
        checkRoutes(app)
        app.use(mountable.mountpath, answer)
      },
    },
  )
  return mountable
}
