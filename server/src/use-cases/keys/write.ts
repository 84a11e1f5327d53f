import { keyState } from '@countersign/audit-log'
import type { JsonObject } from '@countersign/contract'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Clock } from '../../ports/clock.js'
import type { IdempotencyRecord, StoredKey } from '../../ports/store/documents.js'
import type { Changes } from '../../state/changes.js'
import type { Keys } from '../../state/keys.js'

export interface WriteKeyDeps {
  readonly clock: Clock
  readonly keys: Keys
  readonly writer: MutationWriter
  /** Runs changes of keys one at a time. */
  readonly changes: Changes
}

/** Writes a new key. @returns the key */
export async function writeNewKey(
  deps: WriteKeyDeps,
  made: Omit<StoredKey, 'version' | 'revoked_at'>,
  { idempotency = null, traceId = null }: Partial<Pick<KeyChange, 'idempotency' | 'traceId'>> = {},
): Promise<StoredKey> {
  const { created_at: at, created_by: actor } = made
  const key = { ...made, version: 1, revoked_at: null }
  await writeKey(deps, key, { type: 'key.created', actor, at, idempotency, traceId })
  return key
}

interface KeyChange {
  readonly type: 'key.created' | 'key.rotated' | 'key.revoked' | 'key.signed_in' | 'key.signed_out'
  readonly actor: string | null
  /** As in `Caller`. */
  readonly traceId: string | null
  readonly at: string
  /** Data for the audit entry, added to the state after the change. */
  readonly data?: JsonObject
  readonly idempotency: IdempotencyRecord | null
  /** Another key that the change relies on: the write fails if that key changed after it was read. */
  readonly reliesOn?: StoredKey | undefined
}

/**
 * Writes one change of a key. It applies from the next request on. The write fails if another process has changed the
 * calling key, so a key that was just revoked changes nothing.
 */
export async function writeKey(deps: WriteKeyDeps, key: StoredKey, change: KeyChange): Promise<void> {
  const { actor, at, type, data, idempotency, reliesOn, traceId } = change
  const others = [actor === null ? undefined : deps.keys.find(actor), reliesOn]
  const beside = others.flatMap((one) =>
    one === undefined || one.id === key.id ? [] : [{ id: one.id, version: one.version }],
  )
  await deps.writer.write({
    entry: {
      ...{ at, type, actor, subject: key.id, agent_id: null, trace_id: traceId },
      data: { ...data, ...keyState({ ...key }) },
    },
    change: { kind: 'key.write', key, expected_version: key.version - 1, beside },
    idempotency,
  })
  deps.keys.apply(key)
}
