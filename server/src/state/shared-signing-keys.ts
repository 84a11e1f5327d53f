import { setTimeout as pause } from 'node:timers/promises'
import type { PublishedSigningKey, Replicas, SharedSigningKey } from '@countersign/store-port/replicas'
import type { Clock } from '../ports/clock.js'
import { KNOWN_AFTER_MS, type Signer, type SigningKeyChange, type SigningKeyInfo } from '../ports/signer.js'
import { StoreMutex } from './store-mutex.js'

type SharedStore = Pick<
  Replicas,
  'join' | 'publishSigningKeys' | 'sayKeysAreKnown' | 'loadSigningKeys' | 'sayKeySetIsRead' | 'wasKeySetRead'
>
type KeySet = ReturnType<Signer['jwks']>
type PublicJwk = KeySet['keys'][number]

/** How long a key that may sign is published at a time: a process that is gone for good leaves none behind for longer. */
const PUBLISHED_FOR_MS = 86_400_000
/** Longer than a permit lives, and than it takes to publish a key again. */
const NEEDED_FOR_MS = 2 * 3_600_000
/** How soon the store is asked again for a key that nobody knows. */
const ASKED_AGAIN_AFTER_MS = 1000

/**
 * The signing keys of processes that share a store. Each signs with a key of its own, whose secret it keeps to itself; the
 * public halves are in the store, so that every process publishes all of them and verifies what any of them signed.
 */
export class SharedSigningKeys implements Signer {
  private others: readonly PublishedSigningKey[] = []
  /** Until when each of our keys is known to be published. */
  private readonly published = new Map<string, number>()
  private publishing: Promise<void> | null = null
  private readonly mutex = new StoreMutex()
  private nextLook: Promise<void> | null = null
  private askedAt = Number.NEGATIVE_INFINITY
  private knownFromMs = 0
  private firstReading: Promise<void> | null = null

  constructor(
    private readonly own: Signer,
    private readonly store: SharedStore,
    private readonly clock: Clock,
  ) {}

  /** A key is published before it signs. */
  async sign(claims: Parameters<Signer['sign']>[0]): Promise<string> {
    if (!this.isPublished()) {
      this.publishing ??= this.publish().finally(() => {
        this.publishing = null
      })
      await this.publishing
    }
    return this.own.sign(claims)
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

  list(): SigningKeyInfo[] {
    return this.own.list()
  }
  history(): SigningKeyChange[] {
    return this.own.history()
  }
  rotate(options?: { readonly isForced: boolean }): Promise<SigningKeyChange[]> {
    return this.own.rotate(options)
  }
  revoke(kid: string): Promise<SigningKeyChange[]> {
    return this.own.revoke(kid)
  }

  /**
   * Joins the processes that share the store, and answers the issuers of the others. A verifier that read the key set from
   * one of them may lack a key that is new. The keys are published first: who says only behind that look that its key set
   * is read has them in it. So where nobody had said so, they are known for good; that is kept, for one of those that are
   * seen of late may be this process, as it was before it died.
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
    if (!wasRead) await this.store.sayKeysAreKnown(this.own.jwks().keys.map(({ kid }) => kid))
    const isKnown = !wasRead || found?.is_known === true
    const others = await this.store.join(issuer)
    if (others.length > 0 && !isKnown) this.knownFromMs = publishedMs + KNOWN_AFTER_MS
    return others
  }

  /**
   * The key set for a verifier, which may keep it for a while. The first time this is said before the keys of others are
   * read: whoever joins either sees that, or is in it.
   *
   * @throws StoreUnavailableError
   */
  async jwksForVerifiers(): Promise<KeySet> {
    this.firstReading ??= this.beginReading().catch((error) => {
      this.firstReading = null
      throw error
    })
    await this.firstReading
    return this.jwks()
  }

  private async beginReading(): Promise<void> {
    await this.store.sayKeySetIsRead()
    await this.load()
  }

  /** False while there may be verifiers that do not know the key that signs here. */
  get isKnown(): boolean {
    return this.clock.now().getTime() >= this.knownFromMs
  }

  /** @throws StoreUnavailableError */
  async publish(): Promise<void> {
    const now = this.clock.now()
    const keys = sharedKeysOf(this.own, now)
    await this.store.publishSigningKeys(keys, now.toISOString())
    for (const { kid, published_until, revoked_at } of keys)
      this.published.set(kid, revoked_at === null ? Date.parse(published_until) : 0)
  }

  /**
   * Takes over what the store holds. A key of ours that was revoked there signs no more.
   *
   * @throws StoreUnavailableError
   */
  load(): Promise<void> {
    return this.mutex.run('load', () => this.takeOver())
  }

  private async takeOver(): Promise<void> {
    this.others = await this.store.loadSigningKeys(this.clock.now().toISOString())
    const revoked = new Set(this.others.flatMap(({ kid, revoked_at }) => (revoked_at === null ? [] : [kid])))
    const lost = this.own.list().filter(({ kid, state }) => state !== 'revoked' && revoked.has(kid))
    for (const { kid } of lost) await this.own.revoke(kid)
    if (lost.length > 0) await this.publish()
  }

  /**
   * For a permit of a key that nobody here knows: reads the store once for all who ask before the read begins.
   *
   * @throws StoreUnavailableError
   */
  lookAgain(): Promise<void> {
    this.nextLook ??= pause(Math.max(0, this.askedAt + ASKED_AGAIN_AFTER_MS - performance.now())).then(() => {
      this.nextLook = null
      this.askedAt = performance.now()
      return this.load()
    })
    return this.nextLook
  }

  private isPublished(): boolean {
    const until = this.published.get(this.active().kid)
    return until !== undefined && until - this.clock.now().getTime() > NEEDED_FOR_MS
  }

  private active(): SigningKeyInfo {
    return this.own.list().find(({ state }) => state === 'active') as SigningKeyInfo
  }
}

/** The keys of a keyring as others may know them. */
function sharedKeysOf(signer: Pick<Signer, 'list' | 'history'>, now: Date): SharedSigningKey[] {
  const halves = new Map(signer.history().map(({ kid, public_jwk }) => [kid, public_jwk]))
  const until = new Date(now.getTime() + PUBLISHED_FOR_MS).toISOString()
  return signer.list().flatMap(({ kid, published_until, revoked_at }) => {
    const half = halves.get(kid)
    return half === undefined ? [] : [{ kid, x: half.x, published_until: published_until ?? until, revoked_at }]
  })
}

function jwkOf({ kid, x }: SharedSigningKey): PublicJwk {
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }
}
