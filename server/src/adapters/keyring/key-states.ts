/**
 * The life of a signing key as pure steps: next -> active -> retiring -> gone, or revoked from anywhere.
 * Every step leaves exactly one next and one active key. Reading and writing them is the key file's task.
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

/** One key as the file keeps it. Only next and active keys keep their secret: the others never sign again. */
export interface StoredSigningKey extends SigningKeyInfo {
  readonly jwk: PublicJwk | PrivateJwk
}

/** Longest life of a permit (1 h). */
const RETIRING_MS = 3_600_000 + KNOWN_AFTER_MS

/** What a first start makes. The active one took over from no other. */
export function firstKeys(now: Date): StoredSigningKey[] {
  return [newNextKey(now), { ...newNextKey(now), state: 'active' }]
}

/**
 * From when on every verifier that follows the key set knows the next key. One that was there from the start is known to
 * all.
 */
export function nextKnownFrom(keys: readonly StoredSigningKey[]): Date {
  const next = keys.find((key) => key.state === 'next') as StoredSigningKey
  const isFirst = keys.every((key) => key.activated_at === null && key.revoked_at === null)
  return new Date(Date.parse(next.created_at) + (isFirst ? 0 : KNOWN_AFTER_MS))
}

/** The next key becomes active, the active one retiring, and a new next key is made. */
export function rotateKeys(keys: readonly StoredSigningKey[], now: Date): StoredSigningKey[] {
  const turned = keys.map((key) => {
    if (key.state === 'next') return activated(key, now)
    if (key.state === 'active') return retired(key, now)
    return key
  })
  return [newNextKey(now), ...withoutOver(turned, now)]
}

/**
 * The key is revoked; a next key takes the place of an active one, and there is a next key again. The same array when
 * the key is revoked already.
 *
 * @throws UnknownSigningKeyError when no such key is kept
 */
export function revokeKey(keys: readonly StoredSigningKey[], kid: string, now: Date): readonly StoredSigningKey[] {
  const target = withoutOver(keys, now).find((key) => key.kid === kid)
  if (target === undefined) throw new UnknownSigningKeyError(kid)
  if (target.state === 'revoked') return keys
  const turned = keys.map((key) => {
    if (key.kid === kid) return revoked(key, now)
    if (key.state === 'next' && target.state === 'active') return activated(key, now)
    return key
  })
  const kept = withoutOver(turned, now)
  return target.state === 'retiring' ? kept : [newNextKey(now), ...kept]
}

/** The keys without those whose last permit is over. */
export function withoutOver(keys: readonly StoredSigningKey[], now: Date): StoredSigningKey[] {
  return keys.filter((key) => key.published_until === null || Date.parse(key.published_until) > now.getTime())
}

/** The public halves that verify permits at this moment. */
export function publishedKeys(keys: readonly StoredSigningKey[], now: Date): PublicKeySet {
  const published = withoutOver(keys, now).filter((key) => key.state !== 'revoked')
  return { keys: published.map((key) => publicHalf(key.jwk)) }
}

/** All that happened to the keys, in the order in which it took effect. */
export function historyOf(keys: readonly StoredSigningKey[]): SigningKeyChange[] {
  const happened = (type: SigningKeyChange['type'], when: 'revoked_at' | 'activated_at' | 'created_at') =>
    keys.flatMap(({ kid, jwk, [when]: at }) => (at === null ? [] : [{ type, kid, at, public_jwk: publicHalf(jwk) }]))
  return [
    ...happened('signing_key.revoked', 'revoked_at'),
    ...happened('signing_key.rotated', 'activated_at'),
    ...happened('signing_key.created', 'created_at'),
  ].sort((one, other) => Date.parse(one.at) - Date.parse(other.at))
}

/** What happened to the keys after the state `before`. */
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
  return { ...key, state: 'retiring', published_until, jwk: publicHalf(key.jwk) }
}

function revoked(key: StoredSigningKey, now: Date): StoredSigningKey {
  return { ...key, state: 'revoked', published_until: null, revoked_at: now.toISOString(), jwk: publicHalf(key.jwk) }
}

function publicHalf({ kty, crv, x, kid, alg, use }: PublicJwk): PublicJwk {
  return { kty, crv, x, kid, alg, use }
}
