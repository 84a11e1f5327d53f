import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import { isLive } from '../../state/keys.js'
import { findKey } from './get.js'
import { assertNoWider } from './width.js'
import { type WriteKeyDeps, writeKey } from './write.js'

/**
 * Revokes a key with all its secrets, permanently.
 *
 * @throws DomainError not_found, key_too_wide, last_admin_key
 */
export function revokeKey(deps: WriteKeyDeps, caller: Caller, id: string): Promise<void> {
  return deps.changes.run(caller.key.id, async () => {
    const present = findKey(deps.keys, id)
    assertNoWider(caller, present)
    if (present.revoked_at !== null) return
    const now = deps.clock.now().toISOString()
    const isAdmin = present.scopes.includes('*') && isLive(present, now)
    const other = deps.keys.all().find((key) => key.id !== id && key.scopes.includes('*') && isLive(key, now))
    if (isAdmin && other === undefined) throw new DomainError('last_admin_key')
    const key = { ...present, version: present.version + 1, revoked_at: now }
    await writeKey(deps, key, {
      type: 'key.revoked',
      actor: caller.key.id,
      traceId: caller.traceId,
      at: now,
      idempotency: null,
      // Otherwise two processes that each revoke one of the last two admin keys could leave none.
      ...(isAdmin && { reliesOn: other }),
    })
  })
}
