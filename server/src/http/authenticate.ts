import type { IncomingHttpHeaders } from 'node:http'
import type { StoredKey } from '@countersign/store-port/documents'
import { isPlausibleKeyText } from '../api-key-text.js'
import { DomainError } from '../domain-error.js'
import type { Clock } from '../ports/clock.js'
import type { Keys } from '../state/keys.js'

/**
 * The text of the API key in the headers. Callers cannot tell the causes of a failure apart.
 *
 * @throws DomainError unauthorized when it cannot be a key, whatever keys exist
 */
export function keyTextOf(headers: IncomingHttpHeaders): string {
  const text = /^Bearer +([\x21-\x7e]{32,256})$/i.exec(headers.authorization ?? '')?.[1]
  if (text === undefined || !isPlausibleKeyText(text)) throw new DomainError('unauthorized')
  return text
}

/**
 * The API key that the caller uses.
 *
 * @throws DomainError unauthorized
 */
export function authenticate(deps: { readonly keys: Keys; readonly clock: Clock }, text: string): StoredKey {
  const key = deps.keys.authenticate(text, deps.clock.now().toISOString())
  if (key === undefined) throw new DomainError('unauthorized')
  return key
}
