import type { IncomingHttpHeaders } from 'node:http'
import { isPlausibleKeyText } from '../api-key-text.js'
import { DomainError } from '../domain-error.js'
import type { Clock } from '../ports/clock.js'
import type { StoredKey } from '../ports/documents.js'
import type { Keys } from '../state/keys.js'

/**
 * The key of who calls. Every way to fail looks the same from outside.
 *
 * @throws DomainError unauthorized
 */
export function authenticate(
  deps: { readonly keys: Keys; readonly clock: Clock },
  headers: IncomingHttpHeaders,
): StoredKey {
  const text = /^Bearer +([\x21-\x7e]{32,256})$/i.exec(headers.authorization ?? '')?.[1]
  const key =
    text !== undefined && isPlausibleKeyText(text)
      ? deps.keys.authenticate(text, deps.clock.now().toISOString())
      : undefined
  if (key === undefined) throw new DomainError('unauthorized')
  return key
}
