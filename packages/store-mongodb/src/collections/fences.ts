/**
 * A fence makes sure that a write which may still be in progress has no effect. The write of a document that exists is
 * conditional on its `rev`, which the fence raises. The insert of a document finds a tombstone with its id.
 */
import type { Collection } from 'mongodb'
import type { Database } from '../connection/database.js'
import type { DecisionDocument, Primary } from '../stored.js'

/** The status of a tombstone. */
export const VOID = 'void'

/** The tombstone of a decision that must not be written any more. */
function voidDecision(id: string): DecisionDocument {
  return {
    _id: id,
    rev: 1,
    version: 0,
    last: null,
    is_void: true,
    // Far from any range of time that is asked for.
    at_ms: Number.MIN_SAFE_INTEGER,
    status: VOID,
    // When it was put there.
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

/** False when there is something already. */
export async function insertVoid(database: Database, decision: string): Promise<boolean> {
  return (await insertVoids(database, [decision])).size === 0
}

/** Answers the positions of the ids that exist already. */
export function insertVoids(database: Database, decisions: readonly string[]): Promise<ReadonlySet<number>> {
  return database.insertNew(database.decisions, decisions.map(voidDecision))
}

/** Raises the `rev` of a primary. False when it was written meanwhile, or when the answer was lost: then look again. */
export async function fence<T extends Primary>(
  database: Database,
  primaries: Collection<T>,
  { _id, rev }: Pick<Primary, '_id' | 'rev'>,
): Promise<boolean> {
  // Of a primary of any kind, nothing but these two is used.
  const all = primaries as unknown as Collection<Primary>
  const { matchedCount } = await database.call(() => all.updateOne({ _id, rev }, { $inc: { rev: 1 } }))
  return matchedCount === 1
}
