/** Notices that a refusal is answered by Express itself, which shows its caller a page in place of the problem. */
import type { ServerResponse } from 'node:http'
import { warnOperator } from '@countersign/client/kernel'
import type { RouteDeniedError } from './route-denied-error.js'

let isReported = false

/** To be called before the refusal goes to `next`. */
export function watchDefaultAnswer(res: ServerResponse, { status }: RouteDeniedError): void {
  if (isReported) return
  res.once('finish', () => {
    if (isReported || res.statusCode !== status || !isByExpress(res)) return
    isReported = true
    warnOperator(
      'COUNTERSIGN_NO_PERMIT_ERRORS',
      `Express itself answered a refusal (status ${status}), as a page of HTML without code, decision_id and advice. Put app.use(permitErrors()) behind the routes, or answer error.toProblem() in an error handler of your own.`,
    )
  })
}

/** As finalhandler answers, which is the last error handler of every app. */
function isByExpress(res: ServerResponse): boolean {
  return (
    res.getHeader('content-security-policy') === "default-src 'none'" &&
    String(res.getHeader('content-type')).startsWith('text/html')
  )
}
