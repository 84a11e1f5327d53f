import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../ports/clock.js'
import { KNOWN_AFTER_MS, type Signer, type SigningKeyInfo, type TextSignature } from '../ports/signer.js'
import type { PublishedSigningKey, Replicas, SharedSigningKey } from '../ports/store/replicas.js'
import { StoreMutex } from './store-mutex.js'

type SharedStore = Pick<
  Replicas,
  'join' | 'publishSigningKeys' | 'markKeysKnown' | 'loadSigningKeys' | 'markKeySetRead' | 'wasKeySetRead'
>
type KeySet = ReturnType<Signer['jwks']>
type PublicJwk = KeySet['keys'][number]

/** How long one publication of a key lasts. The keys of a process that never returns disappear after this time. */
const PUBLISHED_FOR_MS = 86_400_000
/** The remaining publication that a key needs to sign: longer than a permit lives, and than publishing again takes. */
const MIN_PUBLISHED_MS = 2 * 3_600_000
/** The least time between two refreshes. */
const REFRESH_EVERY_MS = 1000

/**
 * The signing keys of processes that share a store. Each process signs with its own key and shares its secret with no
 * other. The store holds the public keys, so every process publishes all of them and verifies signatures of all
 * processes.
 */
export class SharedSigningKeys implements Pick<Signer, 'sign' | 'signText' | 'checkpointKeys' | 'jwks'> {
  private others: readonly PublishedSigningKey[] = []
  /** The time until which each of our keys is published, in milliseconds since 1970. */
  private readonly publishedUntilMs = new Map<string, number>()
  private readonly mutex = new StoreMutex()
  private nextRefresh: Promise<void> | null = null
  private refreshedAt = Number.NEGATIVE_INFINITY
  private knownFromMs = 0
  private firstRead: Promise<void> | null = null

  constructor(
    private readonly own: Signer,
    private readonly store: SharedStore,
    private readonly clock: Clock,
  ) {}

  /** Publishes the active key before it signs. */
  async sign(claims: Parameters<Signer['sign']>[0]): Promise<string> {
    await this.publishWhenDue()
    return this.own.sign(claims)
  }

  /** Publishes the active key before it signs. */
  async signText(text: string): Promise<TextSignature> {
    await this.publishWhenDue()
    return this.own.signText(text)
  }

  /** Includes the keys that other processes have published, as the store has them now. */
  async checkpointKeys(): Promise<readonly string[]> {
    return [...(await this.own.checkpointKeys()), ...(await publishedCheckpointKeys(this.store))]
  }

  private async publishWhenDue(): Promise<void> {
    if (this.isPublished()) return
    await this.mutex.join('publish', async () => {
      if (!this.isPublished()) await this.publish()
    })
  }

  jwks(): KeySet {
    const { keys } = this.own.jwks()
    const known = new Set(keys.map(({ kid }) => kid))
    const now = this.clock.now().toISOString()
    const others = this.others.filter(
      ({ kid, revoked_at, published_until }) => !known.has(kid) && revoked_at === null && published_until > now,
    )
    return { keys: [...keys, ...others.map(jwkOf)] }
  }

  /**
   * Joins the processes that share the store. Resolves with the issuers of the others.
   *
   * A verifier that read the key set before this process joined lacks a new key. So the keys are published first, and then
   * `wasKeySetRead` is asked: a verifier whose read is recorded after that finds the keys in the set. If no read is
   * recorded, all verifiers know the keys. The store keeps that fact, because one of the "other" processes may be this one
   * before it crashed.
   *
   * @throws StoreUnavailableError
   */
  async join(issuer: string): Promise<readonly string[]> {
    const before = await this.store.loadSigningKeys(this.clock.now().toISOString())
    await this.publish()
    const active = this.active()
    const found = before.find(({ kid }) => kid === active.kid)
    const publishedMs = found === undefined ? this.clock.now().getTime() : Date.parse(active.created_at)
    const wasRead = await this.store.wasKeySetRead()
    if (!wasRead) await this.store.markKeysKnown(this.own.jwks().keys.map(({ kid }) => kid))
    const isKnown = !wasRead || found?.is_known === true
    const others = await this.store.join(issuer)
    if (others.length > 0 && !isKnown) this.knownFromMs = publishedMs + KNOWN_AFTER_MS
    return others
  }

  /**
   * The key set for a verifier, which may cache it. The first call records in the store that the set was read, and only then
   * loads the keys of the others: a process that joins either sees the record, or its keys are in the set.
   *
   * @throws StoreUnavailableError
   */
  async jwksForVerifiers(): Promise<KeySet> {
    this.firstRead ??= this.recordFirstRead().catch((error) => {
      this.firstRead = null
      throw error
    })
    await this.firstRead
    return this.jwks()
  }

  private async recordFirstRead(): Promise<void> {
    await this.store.markKeySetRead()
    await this.load()
  }

  /** False while some verifiers may not know the active key of this process. */
  get isKnown(): boolean {
    return this.clock.now().getTime() >= this.knownFromMs
  }

  /** @throws StoreUnavailableError */
  async publish(): Promise<void> {
    const now = this.clock.now()
    const keys = sharedKeysOf(this.own, now)
    await this.store.publishSigningKeys(keys, now.toISOString())
    for (const { kid, published_until, revoked_at } of keys)
      this.publishedUntilMs.set(kid, revoked_at === null ? Date.parse(published_until) : 0)
  }

  /**
   * Loads the keys of the other processes. Revokes those of our own keys that were revoked in the store.
   *
   * @throws StoreUnavailableError
   */
  load(): Promise<void> {
    return this.mutex.run('load', () => this.loadNow())
  }

  private async loadNow(): Promise<void> {
    this.others = await this.store.loadSigningKeys(this.clock.now().toISOString())
    const revoked = new Set(this.others.flatMap(({ kid, revoked_at }) => (revoked_at === null ? [] : [kid])))
    const revokedElsewhere = this.own.list().filter(({ kid, state }) => state !== 'revoked' && revoked.has(kid))
    for (const { kid } of revokedElsewhere) await this.own.revoke(kid)
    if (revokedElsewhere.length > 0) await this.publish()
  }

  /**
   * Reloads, for a permit whose key is unknown here. All calls that arrive before the read begins share it.
   *
   * @throws StoreUnavailableError
   */
  refresh(): Promise<void> {
    this.nextRefresh ??= pause(Math.max(0, this.refreshedAt + REFRESH_EVERY_MS - performance.now())).then(() => {
      this.nextRefresh = null
      this.refreshedAt = performance.now()
      return this.load()
    })
    return this.nextRefresh
  }

  private isPublished(): boolean {
    const until = this.publishedUntilMs.get(this.active().kid)
    return until !== undefined && until - this.clock.now().getTime() > MIN_PUBLISHED_MS
  }

  private active(): SigningKeyInfo {
    return this.own.list().find(({ state }) => state === 'active') as SigningKeyInfo
  }
}

/** The public keys that were ever published and are not revoked. */
export async function publishedCheckpointKeys(store: Pick<Replicas, 'loadSigningKeys'>): Promise<readonly string[]> {
  // No publication has expired at that time.
  const published = await store.loadSigningKeys(new Date(0).toISOString())
  return published.filter(({ revoked_at }) => revoked_at === null).map(({ x }) => x)
}

/** The public keys of a keyring, without their secrets. */
function sharedKeysOf(signer: Pick<Signer, 'list' | 'history'>, now: Date): SharedSigningKey[] {
  const publicJwks = new Map(signer.history().map(({ kid, public_jwk }) => [kid, public_jwk]))
  const until = new Date(now.getTime() + PUBLISHED_FOR_MS).toISOString()
  return signer.list().flatMap(({ kid, published_until, revoked_at }) => {
    const jwk = publicJwks.get(kid)
    return jwk === undefined ? [] : [{ kid, x: jwk.x, published_until: published_until ?? until, revoked_at }]
  })
}

function jwkOf({ kid, x }: SharedSigningKey): PublicJwk {
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }
}
