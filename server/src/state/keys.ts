import { hashKeyText } from '../api-key-text.js'
import { DomainError } from '../domain-error.js'
import type { KeySession, StoredKey } from '../ports/store/documents.js'

/** The API key of a caller, as of one moment. */
export interface Identified {
  readonly key: StoredKey
  /** When the text or session that the caller sent expires; null if it never does by itself. */
  readonly until: string | null
}

/** A secret that a caller can send: the text of a key or of a session. */
interface Secret {
  readonly id: string
  readonly expires_at: string | null
}

/** All API keys, indexed by the hash of their text. A revocation takes effect as soon as it is applied. */
export class Keys {
  private readonly byId = new Map<string, StoredKey>()
  private readonly byHash = new Map<string, Secret>()
  private readonly bySession = new Map<string, Secret>()
  private readonly uses: Map<string, string>
  private unsaved = new Map<string, string>()

  constructor(loaded: readonly StoredKey[], uses: ReadonlyMap<string, string>) {
    this.load(loaded)
    this.uses = new Map(uses)
  }

  /**
   * Replaces the keys with those of the store. @param unusable ids that are no longer accepted, unless they are among
   * the keys
   */
  load(loaded: readonly StoredKey[], unusable: readonly string[] = []): void {
    for (const id of unusable) this.drop(id)
    for (const key of loaded) this.apply(key)
  }

  get size(): number {
    return this.byId.size
  }

  /** Counts the sessions that have not ended. */
  sessionCount(now: string): number {
    let count = 0
    for (const { id, expires_at } of this.bySession.values()) {
      const key = this.byId.get(id)
      if (key !== undefined && isLive(key, now) && !isOver(expires_at, now)) count += 1
    }
    return count
  }

  find(id: string): StoredKey | undefined {
    return this.byId.get(id)
  }

  /** Whether any key has this secret, revoked keys included. */
  hasSecret(hash: string): boolean {
    return this.byHash.has(hash)
  }

  /** Newest first. */
  all(): StoredKey[] {
    return [...this.byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1))
  }

  /** Returns the key with this text, if it is valid at `now`. Records its use. */
  authenticate(text: string, now: string): Identified | undefined {
    return this.identify(this.byHash.get(hashKeyText(text)), now)
  }

  /** Returns the key of the session with this text, if both are valid at `now`. Records its use. */
  authenticateSession(text: string, now: string): Identified | undefined {
    return this.identify(this.bySession.get(hashKeyText(text)), now)
  }

  private identify(secret: Secret | undefined, now: string): Identified | undefined {
    if (secret === undefined || isOver(secret.expires_at, now)) return undefined
    const key = this.byId.get(secret.id)
    if (key === undefined || !isLive(key, now)) return undefined
    if (this.uses.get(key.id) !== now) {
      this.uses.set(key.id, now)
      this.unsaved.set(key.id, now)
    }
    return { key, until: secret.expires_at }
  }

  /** Whether authenticating the caller again would give the same result. */
  stillHolds({ key, until }: Identified, now: string): boolean {
    return this.byId.get(key.id) === key && isLive(key, now) && !isOver(until, now)
  }

  /** @throws DomainError unauthorized */
  assertLive(id: string, now: string): void {
    const key = this.byId.get(id)
    if (key === undefined || !isLive(key, now)) throw new DomainError('unauthorized')
  }

  lastUsed(id: string): string | null {
    return this.uses.get(id) ?? null
  }

  /** Returns the uses since the last call, to be saved. */
  takeUnsavedUses(): ReadonlyMap<string, string> {
    const taken = this.unsaved
    this.unsaved = new Map()
    return taken
  }

  /** Applies a durable write. */
  apply(key: StoredKey): void {
    this.drop(key.id)
    this.byId.set(key.id, key)
    for (const { hash, expires_at } of key.secrets) this.byHash.set(hash, { id: key.id, expires_at })
    for (const { hash, expires_at } of key.sessions ?? []) this.bySession.set(hash, { id: key.id, expires_at })
  }

  private drop(id: string): void {
    const { secrets = [], sessions = [] } = this.byId.get(id) ?? {}
    for (const { hash } of secrets) this.byHash.delete(hash)
    for (const { hash } of sessions) this.bySession.delete(hash)
    this.byId.delete(id)
  }
}

export function isLive(key: StoredKey, now: string): boolean {
  return key.revoked_at === null && !isOver(key.expires_at, now)
}

/** Returns the sessions of a key that have not ended. */
export function sessionsAt({ sessions = [] }: StoredKey, now: string): readonly KeySession[] {
  return sessions.filter(({ expires_at }) => !isOver(expires_at, now))
}

function isOver(expiresAt: string | null, now: string): boolean {
  return expiresAt !== null && expiresAt <= now
}
