/**
 * How processes that share a store inform one another through it. They keep policies, agents and API keys in memory;
 * each polls the revision and reads what has changed.
 */

/**
 * One text for each kind of data that processes keep in memory. While a text is the same, nothing has changed: reads
 * that begin after it was returned show all of the data. Null: a change is in progress, so read now and poll again.
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
  /** After this time it verifies nothing, unless it is published again. */
  readonly published_until: string
  readonly revoked_at: string | null
}

/** As the store holds it. */
export interface PublishedSigningKey extends SharedSigningKey {
  /** True: it was published before any verifier read the key set, and ever since, so that no verifier lacks it. */
  readonly is_known: boolean
}

/** One review that counts against the limit of its owner: its agent or its API key. */
export interface ReviewSlot {
  readonly owner: string
  /** The id of the decision. */
  readonly id: string
}

export interface WantedSlot extends ReviewSlot {
  /** The most reviews of the owner that may wait. */
  readonly limit: number
  readonly at: string
  readonly expires_at: string
}

/**
 * Counts the waiting reviews over all processes. A review takes its slots before it is recorded. What every adapter
 * promises:
 * - At most `limit` slots of an owner are taken at any time, even if several processes take some at once. Taking a slot
 *   that is already taken returns true and changes nothing.
 * - A decision that awaits its review keeps its slots until it expires.
 */
export interface ReviewSlots {
  /**
   * Returns for each slot whether it is taken now. False when `limit` are taken, even if some of their reviews no
   * longer wait.
   */
  take(wanted: readonly WantedSlot[]): Promise<readonly boolean[]>
  /** Releases the slots of reviews that no longer wait, or were never recorded. */
  release(slots: readonly ReviewSlot[]): Promise<void>
  /**
   * Releases the slots of an owner whose reviews no longer wait, according to the store, and those that were taken long
   * enough ago that a record will no longer appear.
   */
  clear(owner: string, now: string): Promise<void>
  /** Removes owners whose reviews have all ended. */
  forgetOver(now: string): Promise<void>
}

/**
 * What every adapter promises:
 * - A change whose `commit` resolved before `revision` was called is visible in reads after its answer. That also holds
 *   when the primary changes: the server that answers knows that it still is the primary.
 * - A change that a process left unfinished because it died becomes visible as soon as it applies.
 * - A revoked signing key stays revoked: publishing it again changes nothing.
 * - A key that was not published for a while is no longer known, even if it is published again.
 * - A call that cannot be served rejects with `StoreUnavailableError`.
 */
export interface Replicas {
  readonly reviewSlots: ReviewSlots
  /**
   * Announces that this process serves, with permits of this issuer. Returns the issuers of the other processes that
   * were active recently.
   */
  join(issuer: string): Promise<readonly string[]>
  /** Cheap, because it is called all the time. */
  revision(): Promise<Revision>
  /**
   * May call back when another process has changed something, so that it is seen before the next poll; correctness must
   * not depend on it. Returns a function that stops listening, and waits for callbacks in progress.
   */
  listen(onChange: () => void): () => Promise<void>
  publishSigningKeys(keys: readonly SharedSigningKey[], now: string): Promise<void>
  /** Records that these keys are known: they are published, and the key set had not been read then. */
  markKeysKnown(kids: readonly string[]): Promise<void>
  /** Records that a verifier reads the key set, and may keep it for a while. */
  markKeySetRead(): Promise<void>
  /** Whether any process has ever recorded that. */
  wasKeySetRead(): Promise<boolean>
  /** Loads the keys that are still published, and those that were revoked. */
  loadSigningKeys(now: string): Promise<readonly PublishedSigningKey[]>
}
