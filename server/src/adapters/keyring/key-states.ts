/**
 * The states of a signing key, as pure functions: next -> active -> retiring -> gone; any of them -> revoked.
 * Every step leaves exactly one next and one active key. `key-file.ts` reads and writes them.
 */
import {
  exportSigningKey,
  generateSigningKey,
  type PrivateJwk,
  type PublicJwk,
  type PublicKeySet,
} from '@countersign/permit'
import {
  KNOWN_AFTER_MS,
  type SigningKeyChange,
  type SigningKeyInfo,
  UnknownSigningKeyError,
} from '../../ports/signer.js'

/** One key in the file. Only the next and the active key have a secret, because the others never sign again. */
export interface StoredSigningKey extends SigningKeyInfo {
  readonly jwk: PublicJwk | PrivateJwk
}

/** The longest lifetime of a permit is 1 h. */
const RETIRING_MS = 3_600_000 + KNOWN_AFTER_MS

/** The keys of a first start. The active key has replaced no other key. */
export function firstKeys(now: Date): StoredSigningKey[] {
  return [newNextKey(now), { ...newNextKey(now), state: 'active' }]
}

/**
 * The time at which every verifier that refreshes its key set knows the next key. All verifiers know a next key of the
 * first start.
 */
export function nextKnownFrom(keys: readonly StoredSigningKey[]): Date {
  const next = keys.find((key) => key.state === 'next') as StoredSigningKey
  const isFirst = keys.every((key) => key.activated_at === null && key.revoked_at === null)
  return new Date(Date.parse(next.created_at) + (isFirst ? 0 : KNOWN_AFTER_MS))
}

/** The next key becomes active, the active key retiring. Creates a new next key. */
export function rotateKeys(keys: readonly StoredSigningKey[], now: Date): StoredSigningKey[] {
  const changed = keys.map((key) => {
    if (key.state === 'next') return activated(key, now)
    if (key.state === 'active') return retired(key, now)
    return key
  })
  return [newNextKey(now), ...withoutOver(changed, now)]
}

/**
 * Revokes a key. The next key replaces a revoked active key, and a new next key replaces that. Returns the same array
 * when the key is already revoked.
 *
 * @throws UnknownSigningKeyError when no such key is stored
 */
export function revokeKey(keys: readonly StoredSigningKey[], kid: string, now: Date): readonly StoredSigningKey[] {
  const target = withoutOver(keys, now).find((key) => key.kid === kid)
  if (target === undefined) throw new UnknownSigningKeyError(kid)
  if (target.state === 'revoked') return keys
  const changed = keys.map((key) => {
    if (key.kid === kid) return revoked(key, now)
    if (key.state === 'next' && target.state === 'active') return activated(key, now)
    return key
  })
  const kept = withoutOver(changed, now)
  return target.state === 'retiring' ? kept : [newNextKey(now), ...kept]
}

/** Returns the keys without those whose last permit has expired. */
export function withoutOver(keys: readonly StoredSigningKey[], now: Date): StoredSigningKey[] {
  return keys.filter((key) => key.published_until === null || Date.parse(key.published_until) > now.getTime())
}

/** The public keys that verify permits at `now`. */
export function publishedKeys(keys: readonly StoredSigningKey[], now: Date): PublicKeySet {
  const published = withoutOver(keys, now).filter((key) => key.state !== 'revoked')
  return { keys: published.map((key) => publicJwkOf(key.jwk)) }
}

/** All changes of the keys, in the order in which they took effect. */
export function historyOf(keys: readonly StoredSigningKey[]): SigningKeyChange[] {
  const happened = (type: SigningKeyChange['type'], when: 'revoked_at' | 'activated_at' | 'created_at') =>
    keys.flatMap(({ kid, jwk, [when]: at }) => (at === null ? [] : [{ type, kid, at, public_jwk: publicJwkOf(jwk) }]))
  return [
    ...happened('signing_key.revoked', 'revoked_at'),
    ...happened('signing_key.rotated', 'activated_at'),
    ...happened('signing_key.created', 'created_at'),
  ].sort((one, other) => Date.parse(one.at) - Date.parse(other.at))
}

/** The changes of the keys after the state `before`. */
export function changesBetween(
  before: readonly StoredSigningKey[],
  after: readonly StoredSigningKey[],
): SigningKeyChange[] {
  const nameOf = ({ type, kid }: SigningKeyChange): string => `${type} ${kid}`
  const known = new Set(historyOf(before).map(nameOf))
  return historyOf(after).filter((change) => !known.has(nameOf(change)))
}

function newNextKey(now: Date): StoredSigningKey {
  const jwk = exportSigningKey(generateSigningKey())
  return {
    kid: jwk.kid,
    state: 'next',
    created_at: now.toISOString(),
    activated_at: null,
    published_until: null,
    revoked_at: null,
    jwk,
  }
}

function activated(key: StoredSigningKey, now: Date): StoredSigningKey {
  return { ...key, state: 'active', activated_at: now.toISOString() }
}

function retired(key: StoredSigningKey, now: Date): StoredSigningKey {
  const published_until = new Date(now.getTime() + RETIRING_MS).toISOString()
  return { ...key, state: 'retiring', published_until, jwk: publicJwkOf(key.jwk) }
}

function revoked(key: StoredSigningKey, now: Date): StoredSigningKey {
  return { ...key, state: 'revoked', published_until: null, revoked_at: now.toISOString(), jwk: publicJwkOf(key.jwk) }
}

function publicJwkOf({ kty, crv, x, kid, alg, use }: PublicJwk): PublicJwk {
  return { kty, crv, x, kid, alg, use }
}
