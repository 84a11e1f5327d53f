import type { ApiKeyWithSecret } from '@countersign/contract'
import { generateKeyText, hintOf } from '../../api-key-text.js'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import { hashKeyText } from '../../state/keys.js'
import type { IdempotencyDraft } from '../idempotency.js'
import { findKey } from './get.js'
import { viewKey } from './view.js'
import { assertNoWider } from './width.js'
import { type WriteKeyDeps, writeKey } from './write.js'

/**
 * Gives a key a new text; the old one lives on for the grace, so that its users can change over.
 *
 * @throws DomainError not_found (unknown, or revoked: it cannot be brought back), key_too_wide
 */
export function rotateKey(
  deps: WriteKeyDeps,
  caller: Caller,
  id: string,
  graceSeconds: number,
  idempotency: IdempotencyDraft | null,
): Promise<ApiKeyWithSecret> {
  return deps.changes.run(async () => {
    const present = findKey(deps.keys, id)
    if (present.revoked_at !== null) throw new DomainError('not_found', { detail: 'The key is revoked.' })
    assertNoWider(caller, present)
    const at = deps.clock.now()
    const now = at.toISOString()
    const graceEnd = new Date(at.getTime() + graceSeconds * 1000).toISOString()
    const text = generateKeyText()
    const old = present.secrets
      .map((secret) => ({ ...secret, expires_at: earlier(secret.expires_at, graceEnd) }))
      .filter((secret) => secret.expires_at > now)
    const key = {
      ...present,
      version: present.version + 1,
      secrets: [{ hash: hashKeyText(text), hint: hintOf(text), expires_at: null }, ...old],
    }
    await writeKey(deps, key, {
      type: 'key.rotated',
      actor: caller.key.id,
      at: now,
      data: { grace_seconds: graceSeconds },
      idempotency: idempotency?.(id, 200, now) ?? null,
    })
    return { ...viewKey(key, deps.keys), key: text }
  })
}

function earlier(end: string | null, other: string): string {
  return end !== null && end < other ? end : other
}
