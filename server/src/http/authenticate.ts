import type { IncomingHttpHeaders } from 'node:http'
import type { StoredKey } from '@countersign/store-port/documents'
import { isPlausibleKeyText } from '../api-key-text.js'
import { DomainError } from '../domain-error.js'
import type { Clock } from '../ports/clock.js'
import type { Keys } from '../state/keys.js'

/**
 * What may be the text of a key. Every way to fail looks the same from outside.
 *
 * @throws DomainError unauthorized, whatever keys there are
 */
export function keyTextOf(headers: IncomingHttpHeaders): string {
  const text = /^Bearer +([\x21-\x7e]{32,256})$/i.exec(headers.authorization ?? '')?.[1]
  if (text === undefined || !isPlausibleKeyText(text)) throw new DomainError('unauthorized')
  return text
}

/**
 * The key of who calls.
 *
 * @throws DomainError unauthorized
 */
export function authenticate(deps: { readonly keys: Keys; readonly clock: Clock }, text: string): StoredKey {
  const key = deps.keys.authenticate(text, deps.clock.now().toISOString())
  if (key === undefined) throw new DomainError('unauthorized')
  return key
}
