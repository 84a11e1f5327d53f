/**
 * Refuses a request, and detects that Express itself answers the refusal, which shows its caller an HTML page instead
 * of the problem.
 */
import type { ServerResponse } from 'node:http'
import { warnOperator } from '@countersign/client/kernel'
import type { NextFunction, Response } from 'express'
import { RouteDeniedError } from './route-denied-error.js'

let isReported = false

/** Passes a refusal to the error handlers of the app. */
export function refuse(res: Response, denial: unknown, next: NextFunction): void {
  if (RouteDeniedError.isInstance(denial)) watchDefaultAnswer(res, denial)
  next(denial)
}

function watchDefaultAnswer(res: ServerResponse, { status }: RouteDeniedError): void {
  if (isReported) return
  res.once('finish', () => {
    if (isReported || res.statusCode !== status || !isByExpress(res)) return
    isReported = true
    warnOperator(
      'COUNTERSIGN_NO_PERMIT_ERRORS',
      `Express itself answered a refusal (status ${status}), as a page of HTML without code, decision_id and advice. Put app.use(permitErrors()) after the routes, or answer error.toProblem() in your own error handler.`,
    )
  })
}

/** Recognizes the answer of finalhandler, the last error handler of every app. */
function isByExpress(res: ServerResponse): boolean {
  return (
    res.getHeader('content-security-policy') === "default-src 'none'" &&
    String(res.getHeader('content-type')).startsWith('text/html')
  )
}
