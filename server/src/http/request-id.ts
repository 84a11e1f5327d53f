import type { Ids } from '../ports/ids.js'

/** The caller's request id when it is well-formed, else a new one. */
export function requestIdOf(given: string | string[] | undefined, ids: Ids): string {
  return typeof given === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(given) ? given : ids.next('req')
}
