/** What a handler is told beside its request: `extra` of 1.x and `ctx` of 2.x. */
import type { AuthInfo } from './gated-call.js'

export interface RequestContext {
  readonly authInfo: AuthInfo | undefined
  readonly sessionId: string | undefined
  /** Aborted when the caller has cancelled the request, and when the connection is closed. */
  readonly signal: AbortSignal | undefined
  /** Of protocol 2026-07-28: nothing is known of the caller but what comes with each request. */
  readonly isStateless: boolean
}

export function requestContext(told: unknown): RequestContext {
  const { mcpReq, http, sessionId, authInfo, signal } = Object(told)
  if (mcpReq === undefined) return { authInfo, sessionId, signal, isStateless: false }
  return { authInfo: http?.authInfo, sessionId, signal: mcpReq.signal, isStateless: mcpReq.envelope !== undefined }
}
