import type { PermitClaims, PublicJwk, PublicKeySet } from '@countersign/permit'

/**
 * `next` is published but signs nothing yet; `active` signs; `retiring` is published until every permit that it signed
 * is over; `revoked` is published no longer, so that its permits verify nowhere.
 */
export type SigningKeyState = 'next' | 'active' | 'retiring' | 'revoked'

/** One signing key without its secret. Timestamps are null for what has not happened. */
export interface SigningKeyInfo {
  readonly kid: string
  readonly state: SigningKeyState
  readonly created_at: string
  /** When it took over from another key. */
  readonly activated_at: string | null
  /** When a retiring key leaves the key set. */
  readonly published_until: string | null
  readonly revoked_at: string | null
}

/**
 * One thing that happened to a signing key, for the audit log. `rotated` names the key that signs from now on.
 * The public half goes along: the log keeps it, so that an old permit can still be checked when its key is gone.
 */
export interface SigningKeyChange {
  readonly type: 'signing_key.created' | 'signing_key.rotated' | 'signing_key.revoked'
  readonly kid: string
  readonly at: string
  readonly public_jwk: PublicJwk
}

/**
 * The keys that sign permits.
 *
 * There is always exactly one active and one next key. What is changed is durable before the promise resolves, and
 * signing never waits for a change. Each change answers what happened, oldest first. Changes are made one after the other,
 * those of other processes too.
 */
export interface Signer {
  /** Signs with the active key. May sign before it returns: begin the durable write first. Rejects for claims that a verifier would refuse. */
  sign(claims: PermitClaims): Promise<string>
  /** The public keys that verify permits now: next, active and retiring. */
  jwks(): PublicKeySet
  /** All keys that are kept, newest first. */
  list(): SigningKeyInfo[]
  /** All that happened to the keys that are kept, oldest first; each type once for each key at most. */
  history(): SigningKeyChange[]
  /**
   * The next key becomes active, the active one retiring, and a new next key is made. Rejects with `EarlyRotationError`
   * while verifiers may not know the next key yet, unless it is forced.
   */
  rotate(options?: { readonly isForced: boolean }): Promise<SigningKeyChange[]>
  /**
   * Takes a key out of the key set at once. When it was active, the next key takes its place; a missing next key is made.
   * A key that is revoked already changes nothing (`[]`). Rejects with `UnknownSigningKeyError` for a kid that is not kept.
   */
  revoke(kid: string): Promise<SigningKeyChange[]>
}

/** So long after a key was published every verifier knows it: it reads the key set again after 60 s; 5 s for the way. */
export const KNOWN_AFTER_MS = (60 + 5) * 1000

export class UnknownSigningKeyError extends Error {
  override readonly name = 'UnknownSigningKeyError'
  constructor(readonly kid: string) {
    super(`There is no signing key ${kid}.`)
  }
}

export class EarlyRotationError extends Error {
  override readonly name = 'EarlyRotationError'
  constructor(knownFrom: Date) {
    super(
      `Verifiers may not know the next signing key yet, and would refuse what it signs. Rotate at ${knownFrom.toISOString()} or later.`,
    )
  }
}
