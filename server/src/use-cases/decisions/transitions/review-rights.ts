import { type Caller, hasScope } from '../../../caller.js'
import { DomainError } from '../../../domain-error.js'
import type { StoredDecision, StoredKey } from '../../../ports/store/documents.js'
import type { Changes } from '../../../state/changes.js'
import type { Keys } from '../../../state/keys.js'
import { lineOf } from '../../keys/line.js'

export interface ReviewRightsDeps {
  readonly keys: Keys
  readonly changes: Changes
}

/**
 * Checks that no key reviews its own requests or those of its kin. Only a `*` key may, and the review is marked.
 *
 * @returns whether the reviewer is the key that asked or its kin
 * @throws DomainError self_approval
 * @throws StoreUnavailableError
 */
export async function assertMayReview(
  { keys, changes }: ReviewRightsDeps,
  caller: Caller,
  decision: StoredDecision,
): Promise<boolean> {
  // Another process may have created the asking key a moment ago, with this same reviewer as its creator.
  if (keys.find(decision.key_id) === undefined) await changes.catchUp()
  const root = rootOf(keys, decision.key_id)
  const isKin = root === null || root === rootOf(keys, caller.key.id)
  if (isKin && !isAdmin(caller.key)) throw new DomainError('self_approval')
  return isKin
}

/**
 * Keys with the same root are kin: the holder of one could have created the others. The root is the key just below a `*`
 * key in the line of creators. A `*` key is its own root, as is a key without a creator. Null for an unknown key.
 */
function rootOf(keys: Keys, id: string): string | null {
  let root: string | null = null
  for (const key of lineOf(keys, id)) {
    if (root !== null && isAdmin(key)) break
    root = key.id
    if (isAdmin(key)) break
  }
  return root
}

function isAdmin(key: StoredKey): boolean {
  return hasScope({ key }, '*')
}
