import type { ApiKey } from '@countersign/contract'
import { type Caller, hasScope } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { KeySecret, StoredKey } from '../../ports/store/documents.js'
import { isLive, type Keys, sessionsAt } from '../../state/keys.js'
import type { ChangingCall } from '../idempotency.js'
import { findKey } from './get.js'
import { lineOf } from './line.js'
import { viewKey } from './view.js'
import { assertNoWider } from './width.js'
import { type WriteKeyDeps, writeKey } from './write.js'

/**
 * Gives a key a new secret. The old secret stays valid for the grace period, so that its users can switch. Without a grace the
 * sessions of the key end, too.
 *
 * @throws DomainError not_found (unknown, or revoked or expired: it cannot be brought back), key_too_wide, not_own_key
 */
export function rotateKey(
  deps: WriteKeyDeps,
  { caller, idempotency }: ChangingCall,
  id: string,
  secret: KeySecret,
  graceSeconds: number,
): Promise<ApiKey> {
  return deps.changes.run(caller.key.id, async () => {
    const present = assertRotatable(deps, caller, id)
    const at = deps.clock.now()
    const now = at.toISOString()
    const graceEnd = new Date(at.getTime() + graceSeconds * 1000).toISOString()
    const old = present.secrets
      .map((one) => ({ ...one, expires_at: earlier(one.expires_at, graceEnd) }))
      .filter((one) => one.expires_at > now)
    // Without a grace period the old secret may have leaked, and someone else may have signed in with it.
    const sessions = graceSeconds === 0 ? [] : sessionsAt(present, now)
    const key = { ...present, version: present.version + 1, secrets: [secret, ...old], sessions }
    await writeKey(deps, key, {
      type: 'key.rotated',
      actor: caller.key.id,
      traceId: caller.traceId,
      at: now,
      data: { grace_seconds: graceSeconds },
      idempotency: idempotency?.recordOf(id, now) ?? null,
    })
    return viewKey(key, deps.keys)
  })
}

/** @throws DomainError not_found (unknown, or revoked or expired: it cannot be brought back), key_too_wide, not_own_key */
export function assertRotatable(deps: Pick<WriteKeyDeps, 'keys' | 'clock'>, caller: Caller, id: string): StoredKey {
  const key = findKey(deps.keys, id)
  if (!isLive(key, deps.clock.now().toISOString()))
    throw new DomainError('not_found', { detail: 'The key is revoked or expired, so it cannot be rotated.' })
  assertNoWider(caller, key)
  assertOwn(deps.keys, caller, key)
  return key
}

/**
 * The caller learns the new secret and can act with the key. If it could rotate another reviewer's key, it could
 * approve its own requests. A caller owns the keys that it created, directly or not.
 */
function assertOwn(keys: Keys, caller: Caller, target: StoredKey): void {
  if (hasScope(caller, '*')) return
  for (const { id } of lineOf(keys, target.id)) if (id === caller.key.id) return
  throw new DomainError('not_own_key')
}

function earlier(end: string | null, other: string): string {
  return end !== null && end < other ? end : other
}
