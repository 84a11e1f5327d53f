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

/** As the store holds it. */
export interface PublishedSigningKey extends SharedSigningKey {
  /** True: it was published before anybody had read the key set, and ever since, so that no verifier lacks it. */
  readonly is_known: boolean
}

/** One review that counts against the limit of its agent or of its API key, the owner. */
export interface ReviewSlot {
  readonly owner: string
  /** Of the decision. */
  readonly id: string
}

export interface WantedSlot extends ReviewSlot {
  /** So many reviews of the owner may wait. */
  readonly limit: number
  readonly at: string
  readonly expires_at: string
}

/**
 * How many reviews wait, counted over all processes. A review takes its slots before it is recorded. What every adapter
 * promises:
 * - At most `limit` slots of an owner are taken at any time, however many processes take some at once. Taking a slot that
 *   is taken already answers true and changes nothing.
 * - A decision that awaits its review keeps its slots until it expires.
 */
export interface ReviewSlots {
  /** For each slot, whether it is taken now. False when `limit` are taken, though some of their reviews may wait no longer. */
  take(wanted: readonly WantedSlot[]): Promise<readonly boolean[]>
  /** Releases the slots of reviews that wait no longer, or were never recorded. */
  release(slots: readonly ReviewSlot[]): Promise<void>
  /**
   * Releases the slots of an owner whose reviews wait no longer, as the store shows them, and those that were taken so
   * long ago without a record that none will come.
   */
  clear(owner: string, now: string): Promise<void>
  /** Forgets owners whose reviews are all over. */
  forgetOver(now: string): Promise<void>
}

/**
 * What every adapter promises:
 * - A change whose `commit` resolved before `revision` was called shows in what is read after its answer. That holds
 *   across a change of the primary, too: who answers knows that it still speaks for the store.
 * - A change that a process left half done, because it died, shows as soon as it counts.
 * - Whoever revokes a signing key, it stays revoked: publishing it again changes nothing.
 * - A key that was not published for a while is known no longer, though it is published again.
 * - A call that cannot be served rejects with `StoreUnavailableError`.
 */
export interface Replicas {
  readonly reviewSlots: ReviewSlots
  /** Says that this process serves, with permits of this issuer. Answers the issuers of the others that were seen of late. */
  join(issuer: string): Promise<readonly string[]>
  /** Cheap: it is called all the time. */
  revision(): Promise<Revision>
  /**
   * May call back when another process has changed something, so that it is seen before the next look: nothing rests on it.
   * Answers how to stop, which waits for what is in progress.
   */
  listen(onChange: () => void): () => Promise<void>
  publishSigningKeys(keys: readonly SharedSigningKey[], now: string): Promise<void>
  /** Says that these keys are known: they are published, and nobody had read the key set then. */
  markKeysKnown(kids: readonly string[]): Promise<void>
  /** Says that a verifier reads the key set, and may keep it for a while. */
  markKeySetRead(): Promise<void>
  /** Whether any process ever said so. */
  wasKeySetRead(): Promise<boolean>
  /** Those that are published still, and those that were revoked. */
  loadSigningKeys(now: string): Promise<readonly PublishedSigningKey[]>
}
