import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, type JWK } from 'jose'
import { PermitError } from './permit-error.js'
import { parseStrictObject } from './strict-object.js'

/** A JSON Web Key Set (RFC 7517) that is only read. */
interface ReadableKeySet {
  readonly keys: readonly Readonly<JWK>[]
}

/** Where a verifier finds public keys: a key set, the URL of one, or a function that reads one. */
export type KeySetInput = ReadableKeySet | string | URL | (() => Promise<ReadableKeySet>)

/** Finds the public key of a kid. Rejects with PermitError key_unknown, key_unusable or key_set_unavailable. */
export type KeySource = (kid: string) => Promise<CryptoKey>

/** How long a loaded key set is used without asking again, and how long when asking fails. */
const MAX_AGE_MS = 60_000
const MAX_STALE_MS = 3_600_000
/** The delay before it is read again for an unknown kid, and after a failure. */
const UNKNOWN_KID_COOLDOWN_MS = 30_000
const FAILURE_COOLDOWN_MS = 10_000
const FETCH_TIMEOUT_MS = 5_000
const MAX_KEY_SET_BYTES = 64 * 1024

/** @throws TypeError when the input is not a key set, an http(s) URL or a function */
export function createKeySource(input: KeySetInput, now: () => number): KeySource {
  if (typeof input === 'function') return cachedKeySource(input, now)
  if (typeof input === 'string' || input instanceof URL) {
    const url = new URL(input)
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new TypeError('The URL of a key set must be http or https.')
    return cachedKeySource(() => fetchKeySet(url), now)
  }
  const find = keyFinder(input)
  return async (kid) => (await find(kid)) ?? refuseUnknown()
}

type KeyFinder = (kid: string) => Promise<CryptoKey | null>

function keyFinder(keySet: ReadableKeySet): KeyFinder {
  let select: ReturnType<typeof createLocalJWKSet>
  try {
    select = createLocalJWKSet(keySet as JSONWebKeySet)
  } catch (cause) {
    throw new TypeError('This is not a JSON Web Key Set.', { cause })
  }
  const kids = new Set(keySet.keys.map((jwk) => jwk.kid))
  return async (kid) => {
    if (!kids.has(kid)) return null
    try {
      return await select({ alg: 'EdDSA', kid })
    } catch (cause) {
      const why =
        cause instanceof errors.JWKSMultipleMatchingKeys ? 'occurs twice' : 'is not a public Ed25519 key for signatures'
      throw new PermitError('key_unusable', `The key that the permit names ${why}.`, { cause })
    }
  }
}

function refuseUnknown(): never {
  throw new PermitError('key_unknown', 'The key set lacks the key that the permit names.')
}

interface ReadKeySet {
  readonly find: KeyFinder
  readonly at: number
}

function cachedKeySource(read: () => Promise<ReadableKeySet>, now: () => number): KeySource {
  let current: ReadKeySet | null = null
  let failure: { readonly at: number; readonly cause: unknown } | null = null
  let reading: Promise<void> | null = null

  /** A clock that was set back says nothing about age, so a key set from the future counts as old. */
  const isWithin = (ms: number, at: number | undefined) => at !== undefined && now() >= at && now() - at < ms

  const readAgain = () => {
    reading ??= Promise.resolve()
      .then(read)
      .then((keySet) => {
        current = { find: keyFinder(keySet), at: now() }
      })
      .catch((cause: unknown) => {
        failure = { at: now(), cause }
      })
      .finally(() => {
        reading = null
      })
    return reading
  }
  const readUnlessWithin = async (ms: number) => {
    if (isWithin(ms, current?.at) || isWithin(FAILURE_COOLDOWN_MS, failure?.at)) return
    await readAgain()
  }
  const find = async (kid: string) => {
    if (current === null || !isWithin(MAX_STALE_MS, current.at)) {
      const { at, cause } = failure ?? { at: now(), cause: undefined }
      const waitMs = at + FAILURE_COOLDOWN_MS - now()
      // Also handles a clock that returns no number, or was set back.
      const retryAfterSeconds = waitMs > 0 ? Math.ceil(Math.min(waitMs, FAILURE_COOLDOWN_MS) / 1_000) : 1
      throw new PermitError('key_set_unavailable', 'The key set could not be read.', { cause, retryAfterSeconds })
    }
    return current.find(kid)
  }

  return async (kid) => {
    await readUnlessWithin(MAX_AGE_MS)
    const key = await find(kid)
    if (key !== null) return key
    await readUnlessWithin(UNKNOWN_KID_COOLDOWN_MS)
    return (await find(kid)) ?? refuseUnknown()
  }
}

async function fetchKeySet(url: URL): Promise<ReadableKeySet> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  })
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel()
    throw new Error(`${url.href} answered ${response.status}.`)
  }
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body) {
    length += chunk.byteLength
    if (length > MAX_KEY_SET_BYTES) throw new Error(`${url.href} answered more than ${MAX_KEY_SET_BYTES} bytes.`)
    chunks.push(chunk)
  }
  return parseStrictObject(Buffer.concat(chunks)) as unknown as ReadableKeySet
}
