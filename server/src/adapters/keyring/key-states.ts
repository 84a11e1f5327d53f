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
import { type SigningKeyChange, type SigningKeyState, UnknownSigningKeyError } from '../../ports/signer.js'

/** One key as the file keeps it. Only next and active keys keep their secret: the others never sign again. */
export interface StoredSigningKey {
  readonly kid: string
  readonly state: SigningKeyState
  readonly created_at: string
  readonly activated_at: string | null
  readonly published_until: string | null
  readonly revoked_at: string | null
  readonly jwk: PublicJwk | PrivateJwk
}

/** Longest life of a permit (1 h), age at which a verifier reads the key set again (60 s), skew that it allows (5 s). */
const RETIRING_MS = (3600 + 60 + 5) * 1000

/** What a first start makes. */
export function firstKeys(now: Date): StoredSigningKey[] {
  return [newNextKey(now), activated(newNextKey(now), now)]
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

/** What happened between two states of the file, in the order in which it took effect. */
export function changesBetween(
  before: readonly StoredSigningKey[],
  after: readonly StoredSigningKey[],
): SigningKeyChange[] {
  const earlier = new Map(before.map((key) => [key.kid, key]))
  const change = (type: SigningKeyChange['type'], key: StoredSigningKey, at: string | null): SigningKeyChange => ({
    type,
    kid: key.kid,
    at: at ?? key.created_at,
    public_jwk: publicHalf(key.jwk),
  })
  const revokedNow = after.filter((key) => key.state === 'revoked' && earlier.get(key.kid)?.state !== 'revoked')
  // Of several rotations seen at once, each key that became active is told of, also one that retired again.
  const activatedNow = after.filter((key) => key.activated_at !== null && !earlier.get(key.kid)?.activated_at)
  const createdNow = after.filter((key) => !earlier.has(key.kid))
  return [
    ...revokedNow.map((key) => change('signing_key.revoked', key, key.revoked_at)),
    ...(before.length === 0 ? [] : activatedNow.map((key) => change('signing_key.rotated', key, key.activated_at))),
    ...createdNow.map((key) => change('signing_key.created', key, key.created_at)),
  ]
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
