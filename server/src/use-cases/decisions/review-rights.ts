import { type Caller, hasScope } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { StoredDecision, StoredKey } from '../../ports/documents.js'
import type { Keys } from '../../state/keys.js'

/**
 * No key reviews what it asked for itself, nor what its kin did; only a `*` key may, and the review is marked.
 *
 * @returns whether the reviewer is the key that asked or its kin
 * @throws DomainError self_approval
 */
export function assertMayReview(keys: Keys, caller: Caller, decision: StoredDecision): boolean {
  const isKin = rootOf(keys, caller.key.id) === rootOf(keys, decision.key_id)
  if (isKin && !isAdmin(caller.key)) throw new DomainError('self_approval')
  return isKin
}

/**
 * Keys with the same root are kin: whoever holds one of them could have made the others, or had them made. The root is the
 * key just below a `*` key in the line of who created whom; a `*` key, and one that nobody made, is its own.
 */
function rootOf(keys: Keys, id: string): string {
  const key = keys.find(id)
  if (key === undefined || isAdmin(key) || key.created_by === null) return id
  const parent = keys.find(key.created_by)
  return parent === undefined || isAdmin(parent) ? id : rootOf(keys, parent.id)
}

function isAdmin(key: StoredKey): boolean {
  return hasScope({ key }, '*')
}
