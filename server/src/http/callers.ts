import type { IncomingHttpHeaders } from 'node:http'
import { isPlausibleKeyText } from '../api-key-text.js'
import { DomainError } from '../domain-error.js'
import type { Identified, Keys } from '../state/keys.js'

/** How the caller of a request is identified. Callers cannot tell the causes of a failure apart. */
export interface CallerStrategy {
  /** Whether answers may contain permits: a page has no use for them. */
  readonly showsPermits: boolean
  /**
   * What the headers give to identify their sender.
   *
   * @throws DomainError unauthorized when it identifies nobody, whatever this process knows; cross_origin
   */
  credentialOf(headers: IncomingHttpHeaders, method: string): string
  /** @throws DomainError unauthorized */
  identify(credential: string, now: string): Identified
}

/** An API key as a bearer token. */
export function bearerKeys(keys: Keys): CallerStrategy {
  return {
    showsPermits: true,
    credentialOf(headers) {
      const text = /^Bearer +([\x21-\x7e]{32,256})$/i.exec(headers.authorization ?? '')?.[1]
      if (text === undefined || !isPlausibleKeyText(text)) throw new DomainError('unauthorized')
      return text
    },
    identify(text, now) {
      const identified = keys.authenticate(text, now)
      if (identified === undefined) throw new DomainError('unauthorized')
      return identified
    },
  }
}
