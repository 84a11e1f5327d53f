import type { ErrorRequestHandler } from 'express'
import { denialOf } from './denial-of.js'
import { noteError } from './response-end.js'
import { RouteDeniedError } from './route-denied-error.js'

/**
 * Answers refusals as `application/problem+json`, and tells the guards of a route what it threw: in the middle of its
 * response, or what says that nobody knows whether it was done. Any other error goes on to the next error handler. To be put behind the routes, before other error handlers.
 *
 * Source: docs/express.md "Refusals".
 */
export function permitErrors(): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    noteError(res, error)
    const denial = denialOf(error)
    if (!RouteDeniedError.isInstance(denial) || res.headersSent) return next(error)
    res
      .status(denial.status)
      .set(denial.headers)
      .type('application/problem+json')
      .send(JSON.stringify(denial.toProblem()))
  }
}
