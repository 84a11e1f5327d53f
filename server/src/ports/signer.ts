import type { PermitClaims, PublicJwk, PublicKeySet } from '@countersign/permit'

/**
 * `next`: published, does not sign yet. `active`: signs. `retiring`: published until the last permit that it signed has
 * expired. `revoked`: no longer published, so its permits are not accepted anywhere.
 */
export type SigningKeyState = 'next' | 'active' | 'retiring' | 'revoked'

/** One signing key without its secret. A timestamp is null until its event happens. */
export interface SigningKeyInfo {
  readonly kid: string
  readonly state: SigningKeyState
  readonly created_at: string
  /** When it replaced another key as the active one. */
  readonly activated_at: string | null
  /** When a retiring key leaves the key set. */
  readonly published_until: string | null
  readonly revoked_at: string | null
}

/**
 * One change of a signing key, for the audit log. `rotated` names the key that signs from now on. The log stores the
 * public key, so that an old permit can still be checked when its key is gone.
 */
export interface SigningKeyChange {
  readonly type: 'signing_key.created' | 'signing_key.rotated' | 'signing_key.revoked'
  readonly kid: string
  readonly at: string
  readonly public_jwk: PublicJwk
}

/** The signature of a text, and the key that made it. Both in base64url. */
export interface TextSignature {
  readonly publicKey: string
  readonly signature: string
}

/**
 * The keys that sign permits.
 *
 * There is always exactly one active and one next key. A change is durable before its promise resolves, and resolves
 * with the changes, oldest first. Changes run one at a time, even across processes. Signing never waits for a change.
 */
export interface Signer {
  /**
   * Signs with the active key. This may block the calling thread, so begin the durable write first. Rejects claims that
   * a verifier would reject.
   */
  sign(claims: PermitClaims): Promise<string>
  /** Signs a text with the active key, using plain Ed25519. The key is published before. */
  signText(text: string): Promise<TextSignature>
  /**
   * Returns the public keys, in base64url, that may have signed a text and were not revoked, even if their permits have
   * expired.
   */
  checkpointKeys(): Promise<readonly string[]>
  /** Returns the public keys that verify permits now: next, active and retiring. */
  jwks(): PublicKeySet
  /** All stored keys, newest first. */
  list(): SigningKeyInfo[]
  /** All changes of the stored keys, oldest first; each type at most once for each key. */
  history(): SigningKeyChange[]
  /**
   * Makes the next key active and the active key retiring, and creates a new next key. Rejects with
   * `EarlyRotationError` while verifiers may not know the next key yet, unless it is forced.
   */
  rotate(options?: { readonly isForced: boolean }): Promise<SigningKeyChange[]>
  /**
   * Removes a key from the key set. The next key replaces a revoked active key; a missing next key is created. Resolves
   * with `[]` when the key was already revoked. Rejects with `UnknownSigningKeyError` when no stored key has the kid.
   */
  revoke(kid: string): Promise<SigningKeyChange[]>
}

/**
 * After this time every verifier knows a published key: it refreshes its key set after 60 s, plus 5 s for the transfer.
 */
export const KNOWN_AFTER_MS = (60 + 5) * 1000

export class UnknownSigningKeyError extends Error {
  override readonly name = 'UnknownSigningKeyError'
  constructor(readonly kid: string) {
    super(`The signing key ${kid} does not exist.`)
  }
}

export class EarlyRotationError extends Error {
  override readonly name = 'EarlyRotationError'
  constructor(knownFrom: Date) {
    super(
      `Verifiers may not know the next signing key yet and would reject its permits. Rotate at ${knownFrom.toISOString()} or later.`,
    )
  }
}
