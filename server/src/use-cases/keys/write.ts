import type { JsonObject } from '@countersign/contract'
import type { IdempotencyRecord, StoredKey } from '@countersign/store-port/documents'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Clock } from '../../ports/clock.js'
import type { Changes } from '../../state/changes.js'
import type { Keys } from '../../state/keys.js'

export interface WriteKeyDeps {
  readonly clock: Clock
  readonly keys: Keys
  readonly writer: MutationWriter
  /** Changes of keys happen one after the other. */
  readonly changes: Changes
}

interface KeyChange {
  readonly type: 'key.created' | 'key.rotated' | 'key.revoked'
  readonly actor: string | null
  readonly at: string
  readonly data: JsonObject
  readonly idempotency: IdempotencyRecord | null
  /** A key that the change counts on: made only while that one is as it was read. */
  readonly countsOn?: StoredKey | undefined
}

/**
 * Writes one change of a key and makes it count for the next request. Also of a key that another process revokes in this
 * moment nothing comes: the one that makes the change has to be as it is known here.
 */
export async function writeKey(deps: WriteKeyDeps, key: StoredKey, change: KeyChange): Promise<void> {
  const { actor, at, type, data, idempotency, countsOn } = change
  const others = [actor === null ? undefined : deps.keys.find(actor), countsOn]
  const beside = others.flatMap((one) =>
    one === undefined || one.id === key.id ? [] : [{ id: one.id, version: one.version }],
  )
  await deps.writer.write({
    entry: { at, type, actor, subject: key.id, agent_id: null, data },
    change: () => ({ kind: 'key.write', key, expected_version: key.version - 1, beside }),
    idempotency,
  })
  deps.keys.apply(key)
}
