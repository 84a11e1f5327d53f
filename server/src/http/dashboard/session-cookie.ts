/**
 * The cookie of a session. Scripts cannot read it, and a browser sends it only to this host, from pages of this host.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { LIMITS } from '@countersign/contract'

const PATH = '/dashboard'
const FORM = /^[A-Za-z0-9_-]{43}$/

export function sessionTextOf(headers: IncomingHttpHeaders): string | null {
  const name = cookieName(headers)
  const found = (headers.cookie ?? '').split(/; */).find((one) => one.startsWith(`${name}=`))
  const text = found?.slice(name.length + 1) ?? ''
  return FORM.test(text) ? text : null
}

/** Returns the `Set-Cookie` value that starts a session. */
export function startingCookie(headers: IncomingHttpHeaders, text: string, isSecure: boolean): string {
  return cookie(headers, text, LIMITS.sessionSeconds, isSecure)
}

/** Returns the `Set-Cookie` value that removes the cookie. */
export function endingCookie(headers: IncomingHttpHeaders): string {
  return cookie(headers, '', 0, false)
}

function cookie(headers: IncomingHttpHeaders, text: string, seconds: number, isSecure: boolean): string {
  const attributes = `Path=${PATH}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  return `${cookieName(headers)}=${text}; ${attributes}`
}

/** Cookies ignore ports, but two servers on one machine must not end each other's sessions. */
function cookieName({ host = '' }: IncomingHttpHeaders): string {
  const port = /:(\d{1,5})$/.exec(host)?.[1]
  return `countersign_session${port === undefined ? '' : `_${port}`}`
}
