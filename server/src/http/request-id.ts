import type { Ids } from '../ports/ids.js'
import type { Reply } from './reply.js'

/** The caller's request id when it is well-formed, else a new one. */
export function requestIdOf(given: string | string[] | undefined, ids: Ids): string {
  return typeof given === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(given) ? given : ids.next('req')
}

export function withRequestId(reply: Reply, requestId: string): Reply {
  return { ...reply, headers: { 'Cache-Control': 'no-store', ...reply.headers, 'X-Request-Id': requestId } }
}
