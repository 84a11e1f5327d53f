/**
 * `/dashboard/session`: signs in, shows who is signed in, signs out. Also has the caller strategy of `/dashboard/v1`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { LIMITS, type Session, type SignIn, SignInSchema } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import type { Keys } from '../../state/keys.js'
import { viewKey } from '../../use-cases/keys/view.js'
import { type SignInDeps, signIn } from '../../use-cases/sessions/sign-in.js'
import { signOut } from '../../use-cases/sessions/sign-out.js'
import { type BodySource, readBody } from '../body.js'
import type { CallerStrategy } from '../callers.js'
import type { PublicPage } from '../public-pages.js'
import type { Reply } from '../reply.js'
import { assertCsrfToken, assertSameOrigin, csrfTokenOf, isSecure } from './origins.js'
import { endingCookie, sessionTextOf, startingCookie } from './session-cookie.js'

const PATH = '/dashboard/session'
const BODY = { schema: SignInSchema, maxBytes: LIMITS.bodyBytes, maxDepth: LIMITS.bodyDepth }

/** Identifies a signed-in browser as the caller. Every method except GET needs the CSRF token. */
export function sessionCallers(keys: Keys): CallerStrategy {
  return {
    showsPermits: false,
    credentialOf(headers, method) {
      const text = sessionCredentialOf(headers)
      if (method !== 'GET') assertCsrfToken(headers, text)
      return text
    },
    identify(text, now) {
      const identified = keys.authenticateSession(text, now)
      if (identified === undefined) throw signedOut()
      return identified
    },
  }
}

/** @throws DomainError cross_origin; unauthorized: no session can have this text */
export function sessionCredentialOf(headers: IncomingHttpHeaders): string {
  assertSameOrigin(headers)
  const text = sessionTextOf(headers)
  if (text === null) throw signedOut()
  return text
}

export function sessionPages(deps: SignInDeps): PublicPage[] {
  return [
    { path: PATH, method: 'POST', answer: (headers, body) => start(deps, headers, body) },
    { path: PATH, answer: (headers) => present(deps, headers) },
    { path: PATH, method: 'DELETE', answer: (headers) => end(deps, headers) },
  ]
}

/** @throws DomainError cross_origin, insecure_origin, unauthorized, and those of a body */
async function start(deps: SignInDeps, headers: IncomingHttpHeaders, body: BodySource): Promise<Reply> {
  assertSameOrigin(headers)
  const secure = isSecure(headers)
  const given = (await readBody(BODY, headers, body)) as SignIn
  const { text, key, expires_at } = await signIn(deps, given)
  // The browser loses its previous session here, so the session must end: no later sign-out could end it.
  const before = sessionTextOf(headers)
  if (before !== null) await signOut(deps, before)
  return {
    status: 201,
    headers: { 'Set-Cookie': startingCookie(headers, text, secure) },
    body: { key: viewKey(key, deps.keys), expires_at, csrf_token: csrfTokenOf(text) } satisfies Session,
  }
}

/** Answers without content when no one is signed in; that is not an error. @throws DomainError cross_origin */
async function present({ keys, clock }: SignInDeps, headers: IncomingHttpHeaders): Promise<Reply> {
  assertSameOrigin(headers)
  const text = sessionTextOf(headers)
  const identified = text === null ? undefined : keys.authenticateSession(text, now(clock))
  if (text === null || identified === undefined) return { status: 204 }
  const { key, until } = identified
  const session: Session = { key: viewKey(key, keys), expires_at: until as string, csrf_token: csrfTokenOf(text) }
  return { status: 200, body: session }
}

/** @throws DomainError cross_origin */
async function end(deps: SignInDeps, headers: IncomingHttpHeaders): Promise<Reply> {
  assertSameOrigin(headers)
  const text = sessionTextOf(headers)
  if (text !== null) {
    assertCsrfToken(headers, text)
    await signOut(deps, text)
  }
  return { status: 204, headers: { 'Set-Cookie': endingCookie(headers) } }
}

function signedOut(): DomainError {
  return new DomainError('unauthorized', { detail: 'You are not signed in, or your session has ended. Sign in again.' })
}

function now(clock: Clock): string {
  return clock.now().toISOString()
}
