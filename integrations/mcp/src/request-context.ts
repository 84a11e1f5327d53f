/** What a handler is told beside its request: `extra` of 1.x and `ctx` of 2.x. */
import type { AuthInfo } from './gated-call.js'

export interface RequestContext {
  readonly authInfo: AuthInfo | undefined
  readonly sessionId: string | undefined
  readonly signal: AbortSignal | undefined
}

export function requestContext(told: unknown): RequestContext {
  const { mcpReq, http, sessionId, authInfo, signal } = Object(told)
  return mcpReq === undefined
    ? { authInfo, sessionId, signal }
    : { authInfo: http?.authInfo, sessionId, signal: mcpReq.signal }
}
