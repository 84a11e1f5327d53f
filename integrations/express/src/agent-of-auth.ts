import type { IncomingMessage } from 'node:http'

/**
 * Returns the agent that a verified access token names: `sub` of the claims that express-jwt puts into `req.auth`, or
 * of the payload that express-oauth2-jwt-bearer puts there. Undefined when there is none.
 */
export function agentOfAuth(req: IncomingMessage): string | undefined {
  const subject = ownMember(claimsOf(req), 'sub')
  return typeof subject === 'string' && subject !== '' ? subject : undefined
}

/** Returns the claims of a verified access token, from either place. */
export function claimsOf(req: IncomingMessage): unknown {
  const auth = ownMember(req, 'auth')
  const payload = ownMember(auth, 'payload')
  // A claim that happens to be named payload does not count as a payload.
  const isResult =
    isObject(payload) &&
    isObject(ownMember(auth, 'header')) &&
    typeof ownMember(auth, 'token') === 'string' &&
    ownMember(auth, 'sub') === undefined
  return isResult ? payload : auth
}

/** Ignores inherited members, so that a polluted Object.prototype cannot name an agent. */
function ownMember(object: unknown, name: string): unknown {
  return isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
