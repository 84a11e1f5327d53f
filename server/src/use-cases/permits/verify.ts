import { any, createPermitVerifier, PermitError } from '@countersign/permit'
import { DomainError } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import type { Signer } from '../../ports/signer.js'
import type { PermitSettings } from '../decisions/permit-claims.js'

/**
 * Makes the check of our own permits: form, signature, claims, time. Whether a permit was used is the store's to say.
 *
 * @returns resolves with the id of the permit's decision; rejects with DomainError permit_invalid
 */
export function permitCheck(
  signer: Pick<Signer, 'jwks'>,
  clock: Clock,
  settings: PermitSettings,
): (token: string) => Promise<string> {
  const verifier = createPermitVerifier({
    issuer: settings.issuer,
    audience: settings.audience,
    jwks: async () => signer.jwks(),
    now: () => clock.now().getTime(),
    seen: false,
  })
  return async (token) => {
    try {
      const claims = await verifier.verify(token, { action: any, resource: any, allowLog: true })
      return claims.jti
    } catch (error) {
      if (error instanceof PermitError) throw new DomainError('permit_invalid', { detail: error.message, cause: error })
      throw error
    }
  }
}
