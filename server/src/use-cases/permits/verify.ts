import { any, createPermitVerifier, PermitError, type PermitVerifier } from '@countersign/permit'
import { DomainError } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import type { Signer } from '../../ports/signer.js'
import type { PermitSettings } from '../decisions/permit-claims.js'

interface KnownKeys extends Pick<Signer, 'jwks'> {
  /** Loads keys that are not known yet. */
  readonly refresh?: () => Promise<void>
}

/**
 * Creates the check of the server's own permits: form, signature, claims and time. Only the store knows whether a
 * permit was used.
 *
 * @returns resolves with the id of the permit's decision; rejects with DomainError permit_invalid
 */
export function permitCheck(
  known: KnownKeys,
  clock: Clock,
  { issuer, audience }: PermitSettings,
): (token: string) => Promise<string> {
  let cached: { readonly kids: string; readonly verifier: PermitVerifier } | null = null
  /** Reads the keys at each call, so that a revoked key no longer verifies anything. */
  const verify = async (token: string): Promise<string> => {
    const jwks = known.jwks()
    const kids = jwks.keys.map(({ kid }) => kid).join(' ')
    if (cached?.kids !== kids) {
      const now = () => clock.now().getTime()
      cached = { kids, verifier: createPermitVerifier({ issuer, audience, jwks, now, seen: false }) }
    }
    return (await cached.verifier.verify(token, { action: any, resource: any, allowLog: true })).jti
  }
  return async (token) => {
    try {
      return await verify(token).catch(async (error: unknown) => {
        if (!(error instanceof PermitError && error.code === 'key_unknown') || known.refresh === undefined) throw error
        await known.refresh()
        return verify(token)
      })
    } catch (error) {
      if (error instanceof PermitError) throw new DomainError('permit_invalid', { detail: error.message, cause: error })
      throw error
    }
  }
}
