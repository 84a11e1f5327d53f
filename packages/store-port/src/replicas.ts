/**
 * What processes that share a store tell one another through it. They keep policies, agents and API keys in memory; each
 * looks at the revision again and again, and reads anew what has changed.
 */

/**
 * One text for each of what processes keep in memory. As long as a text is the same, nothing has changed: reads that began
 * after it was answered show all of it. Null: a change is on its way, so read now and look again.
 */
export interface Revision {
  readonly policies: string | null
  readonly agents: string | null
  readonly keys: string | null
  readonly signing_keys: string | null
}

/** The public half of an Ed25519 key that signs permits. */
export interface SharedSigningKey {
  readonly kid: string
  /** Base64url. */
  readonly x: string
  /** It verifies nothing from then on, unless it is published again. */
  readonly published_until: string
  readonly revoked_at: string | null
}

/**
 * What every adapter promises:
 * - A change whose `commit` resolved before `revision` was called shows in what is read after its answer. That holds
 *   across a change of the primary, too: who answers knows that it still speaks for the store.
 * - A change that a process left half done, because it died, shows as soon as it counts.
 * - Whoever revokes a signing key, it stays revoked: publishing it again changes nothing.
 * - A call that cannot be served rejects with `StoreUnavailableError`.
 */
export interface Replicas {
  /** Says that this process serves, with permits of this issuer. Answers the issuers of the others that were seen of late. */
  join(issuer: string): Promise<readonly string[]>
  /** Cheap: it is called all the time. */
  revision(): Promise<Revision>
  publishSigningKeys(keys: readonly SharedSigningKey[]): Promise<void>
  /** Those that are published still, and those that were revoked. */
  loadSigningKeys(now: string): Promise<readonly SharedSigningKey[]>
}
