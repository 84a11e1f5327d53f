import type { StoredKey } from '../../ports/store/documents.js'
import type { Keys } from '../../state/keys.js'

/**
 * Yields the key and its ancestors by `created_by`, including revoked and expired ones. The line ends at a key without
 * a creator: the first key, or a key that was created on the server's machine.
 */
export function* lineOf(keys: Keys, id: string): Generator<StoredKey, void, undefined> {
  for (let next: string | null = id; next !== null; ) {
    const key = keys.find(next)
    if (key === undefined) return
    yield key
    next = key.created_by
  }
}
