/** The position of a request on its way through the app. A question that was asked there does not apply elsewhere. */
import { DeniedError } from '@countersign/client'
import type { Request } from 'express'

export interface Place {
  /** Undefined before all routes. */
  readonly route: unknown
  readonly baseUrl: string
  readonly method: string
  /** The URL from the root of the app, including the parts that routers have removed. */
  readonly url: string
}

export function placeOf(req: Request): Place {
  return { route: req.route, baseUrl: req.baseUrl, method: req.method, url: wholeUrl(req) }
}

/** Whether the request is still at this place. */
export function isStillAt(req: Request, place: Place): boolean {
  return req.baseUrl === place.baseUrl && req.route === place.route && isWithin(req, place)
}

/** @throws DeniedError (`arguments_refused`) when the request was sent on since */
export function assertStillAt(req: Request, place: Place): void {
  if (isStillAt(req, place)) return
  const cause = new Error('the request was sent on while it was checked: some middleware calls next twice')
  throw new DeniedError('arguments_refused', { cause })
}

/**
 * Whether the request is in the same route, or below middleware that precedes several routes, and still has the same
 * method and URL.
 */
export function isWithin(req: Request, { route, method, url }: Place): boolean {
  return (route === undefined || req.route === route) && req.method === method && wholeUrl(req) === url
}

/**
 * Whether a router has sent the request elsewhere: only a router moves a part of the URL from one property to the
 * other.
 */
export function isRoutedAway(req: Request, { route, baseUrl, url }: Place): boolean {
  return req.route !== route || (req.baseUrl !== baseUrl && wholeUrl(req) === url)
}

function wholeUrl({ baseUrl, url }: Request): string {
  // In the form for proxies, a host comes first.
  const whole = String(url).replace(/^(?:[^/?]+:\/\/[^/?]*)?/, (host) => host + baseUrl)
  const [path = '', ...query] = whole.split('?')
  // A router adds a slash when its own path was the entire one.
  return [path.endsWith('/') ? path.slice(0, -1) : path, ...query].join('?')
}
