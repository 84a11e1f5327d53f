import type { Request } from 'express'
import { challenge } from './denial-of.js'
import { RouteDeniedError } from './route-denied-error.js'

const SCHEME = /^Bearer /i

/** How a permit is shown: as a Bearer token, or alone in another header. */
export function schemeOf(header: string): string {
  return header === 'authorization' ? 'Bearer' : 'Permit'
}

/**
 * Returns the only token that the request shows in this header. Nothing else is read: a permit in a URL would end up in
 * logs.
 *
 * @throws RouteDeniedError `permit_missing`, `permit_ambiguous` (401)
 */
export function shownToken(req: Request, header: string): string {
  // For repeated headers, `req.headers` keeps one, or joins them.
  const [value, ...more] = req.headersDistinct[header] ?? []
  if (value === undefined || value === '') throw refusal('permit_missing', header)
  if (more.length > 0) throw refusal('permit_ambiguous', header)
  if (header !== 'authorization') return value
  if (!SCHEME.test(value)) throw refusal('permit_missing', header)
  return value.replace(SCHEME, '')
}

function refusal(code: 'permit_missing' | 'permit_ambiguous', header: string): RouteDeniedError {
  const scheme = schemeOf(header)
  const headers = code === 'permit_missing' ? challenge(scheme) : challenge(scheme, 'invalid_request', code)
  return new RouteDeniedError({ code, status: 401, headers })
}
