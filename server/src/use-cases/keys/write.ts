import type { JsonObject } from '@countersign/contract'
import type { Clock } from '../../ports/clock.js'
import type { IdempotencyRecord, StoredKey } from '../../ports/documents.js'
import type { RecordWriter } from '../../record-writer.js'
import type { Changes } from '../../state/changes.js'
import type { Keys } from '../../state/keys.js'

export interface WriteKeyDeps {
  readonly clock: Clock
  readonly keys: Keys
  readonly writer: RecordWriter
  /** Changes of keys happen one after the other. */
  readonly changes: Changes
}

interface KeyMove {
  readonly type: 'key.created' | 'key.rotated' | 'key.revoked'
  readonly actor: string | null
  readonly at: string
  readonly data: JsonObject
  readonly idempotency: IdempotencyRecord | null
  /** A key that the change counts on: made only while that one is as it was read. */
  readonly countsOn?: StoredKey | undefined
}

/** Writes one change of a key and makes it count for the next request. */
export async function writeKey(deps: WriteKeyDeps, key: StoredKey, move: KeyMove): Promise<void> {
  const { countsOn } = move
  await deps.writer.write({
    entry: { at: move.at, type: move.type, actor: move.actor, subject: key.id, agent_id: null, data: move.data },
    change: () => ({
      kind: 'key.write',
      key,
      expected_version: key.version - 1,
      beside: countsOn === undefined ? [] : [{ id: countsOn.id, version: countsOn.version }],
    }),
    idempotency: move.idempotency,
  })
  deps.keys.apply(key)
}
