/**
 * Decides which pages may use a session. A browser says where a request comes from (`Origin`, `Sec-Fetch-Site`), and
 * pages cannot change these headers. Older browsers omit some of them, so a change also needs the CSRF token, which
 * only our pages can read.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { ERRORS } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'

/** @throws DomainError cross_origin */
export function assertSameOrigin(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin')
    throw new DomainError('cross_origin', { detail: 'The request was sent by a page of another origin.' })
  const { origin } = headers
  if (origin !== undefined && !isHost(origin, headers.host))
    throw new DomainError('cross_origin', {
      detail:
        `The page is at ${origin}, and the request is for the host ${headers.host}. ` +
        'If a proxy is in front of the server, let it forward the header `Host` unchanged.',
    })
}

/**
 * Returns the CSRF token of a session, which each change must send. It is derived from the session's text, which no
 * page can read.
 *
 * @param text of the session
 */
export function csrfTokenOf(text: string): string {
  return createHash('sha256').update(`csrf ${text}`).digest('base64url')
}

/** @throws DomainError cross_origin */
export function assertCsrfToken(headers: IncomingHttpHeaders, text: string): void {
  const given = Buffer.from(String(headers['x-csrf-token'] ?? ''))
  const expected = Buffer.from(csrfTokenOf(text))
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new DomainError('cross_origin', { detail: 'The header `X-CSRF-Token` is missing or not of this session.' })
}

/**
 * Whether the browser uses HTTPS. `Origin` contains the scheme that the browser sees, also behind a proxy.
 *
 * @throws DomainError cross_origin (no `Origin`), insecure_origin (plain HTTP, and the host is not the browser's own
 *   machine)
 */
export function isSecure({ origin }: IncomingHttpHeaders): boolean {
  if (origin === undefined || !URL.canParse(origin))
    throw new DomainError('cross_origin', { detail: 'The header `Origin` is missing: sign in with a browser.' })
  const { protocol, hostname } = new URL(origin)
  if (protocol === 'https:') return true
  if (!isLoopback(hostname))
    throw new DomainError('insecure_origin', { detail: `This page is at ${origin}. ${ERRORS.insecure_origin.remedy}` })
  return false
}

/**
 * Whether both name the same host and port. `Host` may contain the default port of the scheme, which `Origin` omits.
 */
function isHost(origin: string, host: string | undefined): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, host: expected } = new URL(origin)
  const given = `${protocol}//${host}`
  return URL.canParse(given) && new URL(given).host === expected
}

/** As browsers define it: these names and addresses never leave the machine. */
function isLoopback(hostname: string): boolean {
  const isName = hostname === 'localhost' || hostname.endsWith('.localhost')
  return isName || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))
}
