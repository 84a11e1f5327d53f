/**
 * A fence makes sure that a write which may still be in progress has no effect. The write of an existing document is
 * conditional on its `rev`, which the fence increments. The insert of a document finds a tombstone with its id.
 */
import type { Collection } from 'mongodb'
import type { Database } from '../connection/database.js'
import type { DecisionDocument, Primary } from '../stored.js'

/** The status of a tombstone. */
export const VOID = 'void'

/** The tombstone of a decision that must no longer be written. */
function voidDecision(id: string): DecisionDocument {
  return {
    _id: id,
    rev: 1,
    version: 0,
    last: null,
    is_void: true,
    // Far from any range of time that is queried.
    at_ms: Number.MIN_SAFE_INTEGER,
    status: VOID,
    // The time of its creation.
    expires_ms: Date.now(),
    agent_id: '',
    action: '',
    resource: null,
    effect: '',
    policy_id: '',
    request_hash: '',
    key_id: '',
    document: '',
    context: null,
    salt: '',
    attempt: null,
    ledger: {},
  }
}

/** Returns false when a document already exists. */
export async function insertVoid(database: Database, decision: string): Promise<boolean> {
  return (await insertVoids(database, [decision])).size === 0
}

/** Returns the indexes of the ids that already exist. */
export function insertVoids(database: Database, decisions: readonly string[]): Promise<ReadonlySet<number>> {
  return database.insertNew(database.decisions, decisions.map(voidDecision))
}

/**
 * Increments the `rev` of a primary. False when it was written in between, or when the answer was lost: then read it
 * again.
 */
export async function fence<T extends Primary>(
  database: Database,
  primaries: Collection<T>,
  { _id, rev }: Pick<Primary, '_id' | 'rev'>,
): Promise<boolean> {
  // Only these two members are used, which primaries of every kind have.
  const all = primaries as unknown as Collection<Primary>
  const { matchedCount } = await database.call(() => all.updateOne({ _id, rev }, { $inc: { rev: 1 } }))
  return matchedCount === 1
}
