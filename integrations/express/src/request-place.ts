/** Where a request is on its way through the app: what was asked about it there holds nowhere else. */
import { DeniedError } from '@countersign/client'
import type { Request } from 'express'

export interface Place {
  /** Undefined before all routes. */
  readonly route: unknown
  readonly baseUrl: string
  readonly method: string
  /** From the root of the app, however many routers have taken their part off it. */
  readonly url: string
}

export function placeOf(req: Request): Place {
  return { route: req.route, baseUrl: req.baseUrl, method: req.method, url: wholeUrl(req) }
}

/** Whether nothing has sent the request on meanwhile. */
export function isStillAt(req: Request, place: Place): boolean {
  return req.baseUrl === place.baseUrl && req.route === place.route && isWithin(req, place)
}

/** @throws DeniedError (`arguments_refused`) when something has sent the request on meanwhile */
export function assertStillAt(req: Request, place: Place): void {
  if (isStillAt(req, place)) return
  const cause = new Error('the request was sent on while it was checked: some middleware calls next twice')
  throw new DeniedError('arguments_refused', { cause })
}

/** Whether it is in the same route, or below what stands before many; and still says the same. */
export function isWithin(req: Request, { route, method, url }: Place): boolean {
  return (route === undefined || req.route === route) && req.method === method && wholeUrl(req) === url
}

/** Whether a router has sent the request elsewhere: only a router takes from one part of the URL what it adds to the other. */
export function isRoutedAway(req: Request, { route, baseUrl, url }: Place): boolean {
  return req.route !== route || (req.baseUrl !== baseUrl && wholeUrl(req) === url)
}

function wholeUrl({ baseUrl, url }: Request): string {
  // In the form that proxies are asked in, a host comes first.
  const whole = String(url).replace(/^(?:[^/?]+:\/\/[^/?]*)?/, (host) => host + baseUrl)
  const [path = '', ...query] = whole.split('?')
  // A router adds a slash where its own path was the whole one.
  return [path.endsWith('/') ? path.slice(0, -1) : path, ...query].join('?')
}
