import type { IncomingMessage } from 'node:http'

type Members = Readonly<Record<string, unknown>>

/**
 * The agent that a verified access token names: `sub` of what express-jwt puts into `req.auth`, or of the payload that
 * express-oauth2-jwt-bearer puts there. Undefined when there is none.
 */
export function agentOfAuth(req: IncomingMessage): string | undefined {
  const { auth } = req as { readonly auth?: unknown }
  if (!isObject(auth)) return undefined
  // A claim that happens to be called payload is not taken for a payload.
  const isResult = isObject(auth.payload) && isObject(auth.header) && typeof auth.token === 'string' && !('sub' in auth)
  const subject = isResult ? (auth.payload as Members).sub : auth.sub
  return typeof subject === 'string' && subject !== '' ? subject : undefined
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null
}
