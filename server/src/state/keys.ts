import type { StoredKey } from '@countersign/store-port/documents'
import { hashKeyText } from '../api-key-text.js'
import { DomainError } from '../domain-error.js'

/** The API key of a caller, as of one moment. */
export interface Identified {
  readonly key: StoredKey
  /** When the text or the session that the caller sent stops being valid; null: not by itself. */
  readonly until: string | null
}

/** What a caller can send: the text of a key, or that of a session. */
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

  /** Replaces the keys with those of the store. */
  load(loaded: readonly StoredKey[]): void {
    for (const key of loaded) this.apply(key)
  }

  get size(): number {
    return this.byId.size
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

  /** The key with this text, if it is valid at `now`. Records its use. */
  authenticate(text: string, now: string): Identified | undefined {
    return this.identify(this.byHash.get(hashKeyText(text)), now)
  }

  /** The key of the session with this text, if both are valid at `now`. Records its use. */
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

  /** Whether the caller would be identified as the same again. */
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

  /** The uses since the last call, to be saved. */
  takeUnsavedUses(): ReadonlyMap<string, string> {
    const taken = this.unsaved
    this.unsaved = new Map()
    return taken
  }

  /** Applies a durable write. */
  apply(key: StoredKey): void {
    const { secrets: oldSecrets = [], sessions: oldSessions = [] } = this.byId.get(key.id) ?? {}
    for (const { hash } of oldSecrets) this.byHash.delete(hash)
    for (const { hash } of oldSessions) this.bySession.delete(hash)
    this.byId.set(key.id, key)
    for (const { hash, expires_at } of key.secrets) this.byHash.set(hash, { id: key.id, expires_at })
    for (const { hash, expires_at } of key.sessions ?? []) this.bySession.set(hash, { id: key.id, expires_at })
  }
}

export function isLive(key: StoredKey, now: string): boolean {
  return key.revoked_at === null && !isOver(key.expires_at, now)
}

function isOver(expiresAt: string | null, now: string): boolean {
  return expiresAt !== null && expiresAt <= now
}
