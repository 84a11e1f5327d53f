import type { IncomingMessage } from 'node:http'

/**
 * The agent that a verified access token names: `sub` of what express-jwt puts into `req.auth`, or of the payload that
 * express-oauth2-jwt-bearer puts there. Undefined when there is none.
 */
export function agentOfAuth(req: IncomingMessage): string | undefined {
  const subject = ownMember(claimsOf(req), 'sub')
  return typeof subject === 'string' && subject !== '' ? subject : undefined
}

/** The claims of a verified access token, wherever either of them puts them. */
export function claimsOf(req: IncomingMessage): unknown {
  const auth = ownMember(req, 'auth')
  const payload = ownMember(auth, 'payload')
  // A claim that happens to be called payload is not taken for a payload.
  const isResult =
    isObject(payload) &&
    isObject(ownMember(auth, 'header')) &&
    typeof ownMember(auth, 'token') === 'string' &&
    ownMember(auth, 'sub') === undefined
  return isResult ? payload : auth
}

/** What was put on Object.prototype by somebody else's fault names nobody. */
export function ownMember(object: unknown, name: string): unknown {
  return isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
