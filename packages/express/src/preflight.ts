import type { Request } from 'express'

/**
 * A question of a browser about a route, which is not to do what the route does: it carries neither credentials nor a body.
 * Only where there is a route to leave.
 */
export function isPreflight({ method, headers, route }: Request): boolean {
  const isAsking = headers.origin !== undefined && headers['access-control-request-method'] !== undefined
  return method === 'OPTIONS' && isAsking && route !== undefined
}
