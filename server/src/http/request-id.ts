import type { Ids } from '../ports/ids.js'

/**
 * Any visible ASCII except the comma, with which Node joins repeated headers. The id is copied into logs and headers,
 * so it must not contain anything like a line end or a control sequence.
 */
const REQUEST_ID = /^[!-+\--~]{1,128}$/

/** The caller's request id when it is well-formed, else a new one. */
export function requestIdOf(given: string | string[] | undefined, ids: Ids): string {
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : ids.next('req')
}
