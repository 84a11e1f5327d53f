import { LIMITS, type SignIn } from '@countersign/contract'
import { generateSessionText, hashKeyText, isPlausibleKeyText } from '../../api-key-text.js'
import { DomainError } from '../../domain-error.js'
import type { KeySession, StoredKey } from '../../ports/store/documents.js'
import { isLive, sessionsAt } from '../../state/keys.js'
import type { SignInCodes } from '../../state/sign-in-codes.js'
import { type WriteKeyDeps, writeKey } from '../keys/write.js'

export type SignInDeps = WriteKeyDeps & {
  readonly signInCodes: SignInCodes
  /** Counts a call of the key. @throws DomainError rate_limited */
  readonly admit: (keyId: string) => void
}

export interface SignedIn {
  /** Only the browser knows this text: the store holds its hash. */
  readonly text: string
  readonly key: StoredKey
  readonly expires_at: string
}

/**
 * Exchanges an API key, or the code of a one-time link, for a session. The session ends after 12 hours, at a sign-out,
 * or with its key. When a key has too many sessions, its oldest one ends.
 *
 * @throws DomainError unauthorized, rate_limited, limit_reached
 */
export async function signIn(deps: SignInDeps, given: SignIn): Promise<SignedIn> {
  const keyId = keyIdOf(deps, given)
  if (keyId === undefined) throw new DomainError('unauthorized', { detail: refusalOf(given) })
  // Each sign-in is a durable write that other changes wait for.
  deps.admit(keyId)
  const text = generateSessionText()
  return deps.changes.run(keyId, async () => {
    const present = deps.keys.find(keyId) as StoredKey
    const now = deps.clock.now()
    // From here on the code is taken. If the write fails, it becomes valid again.
    const putBack = given.code == null ? undefined : deps.signInCodes.take(given.code, now)
    if (putBack === null) throw new DomainError('unauthorized', { detail: refusalOf(given) })
    const at = now.toISOString()
    const end = new Date(now.getTime() + LIMITS.sessionSeconds * 1000).toISOString()
    const expires_at = present.expires_at !== null && present.expires_at < end ? present.expires_at : end
    const started: KeySession = { hash: hashKeyText(text), started_at: at, expires_at }
    const sessions = [started, ...sessionsAt(present, at)].slice(0, LIMITS.sessions)
    const key = { ...present, version: present.version + 1, sessions }
    try {
      await writeKey(deps, key, { type: 'key.signed_in', actor: keyId, at, traceId: null, idempotency: null })
    } catch (error) {
      putBack?.()
      throw error
    }
    return { text, key, expires_at }
  })
}

/**
 * Returns the key that a one-time link signs in as: the oldest live key with every right. Undefined when there is none.
 */
export function operatorKey({ keys, clock }: Pick<SignInDeps, 'keys' | 'clock'>): StoredKey | undefined {
  const now = clock.now().toISOString()
  return keys.all().findLast((key) => key.scopes.includes('*') && isLive(key, now))
}

function keyIdOf({ keys, clock, signInCodes }: SignInDeps, given: SignIn): string | undefined {
  const now = clock.now()
  if (given.code != null) return signInCodes.keyOf(given.code, now)
  const { key } = given
  if (key == null || !isPlausibleKeyText(key)) return undefined
  return keys.authenticate(key, now.toISOString())?.key.id
}

function refusalOf(given: SignIn): string {
  if (given.code == null) return 'This is not a valid API key.'
  return 'The link was used or is older than 10 minutes. Sign in with an API key, or start the server again for a new link.'
}
