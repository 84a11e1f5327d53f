import type { StoredKey } from '@countersign/store-port/documents'
import type { Keys } from '../../state/keys.js'

/**
 * The key and those above it in the line of who created whom (`created_by`), revoked and expired ones too. It ends at a key
 * that nobody created: the first one, or one made on the machine.
 */
export function* lineOf(keys: Keys, id: string): Generator<StoredKey, void, undefined> {
  for (let next: string | null = id; next !== null; ) {
    const key = keys.find(next)
    if (key === undefined) return
    yield key
    next = key.created_by
  }
}
