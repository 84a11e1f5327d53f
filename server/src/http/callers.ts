import type { IncomingHttpHeaders } from 'node:http'
import { isPlausibleKeyText } from '../api-key-text.js'
import { DomainError } from '../domain-error.js'
import type { Identified, Keys } from '../state/keys.js'

/** How the caller of a request is identified. Callers cannot tell the causes of a failure apart. */
export interface CallerStrategy {
  /** Whether answers may contain permits: a page has no use for them. */
  readonly showsPermits: boolean
  /**
   * Extracts from the headers the credential of their sender.
   *
   * @throws DomainError unauthorized when it cannot identify any caller, regardless of the state of this process;
   *   cross_origin
   */
  credentialOf(headers: IncomingHttpHeaders, method: string): string
  /** @throws DomainError unauthorized */
  identify(credential: string, now: string): Identified
}

/** @throws DomainError unauthorized: no API key can have this text */
export function bearerKeyOf({ authorization = '' }: IncomingHttpHeaders): string {
  const text = /^Bearer +([\x21-\x7e]{32,256})$/i.exec(authorization)?.[1]
  if (text === undefined || !isPlausibleKeyText(text)) throw new DomainError('unauthorized')
  return text
}

/** An API key as a bearer token. */
export function bearerKeys(keys: Keys): CallerStrategy {
  return {
    showsPermits: true,
    credentialOf: bearerKeyOf,
    identify(text, now) {
      const identified = keys.authenticate(text, now)
      if (identified === undefined) throw new DomainError('unauthorized')
      return identified
    },
  }
}
