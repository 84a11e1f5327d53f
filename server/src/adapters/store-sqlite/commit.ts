import type { Change, CommitResult, Conflict, StoreRecord } from '../../ports/store.js'
import type { Connection } from './driver.js'
import { markSeen, writeAgent } from './tables/agents.js'
import { insertAuditEntry } from './tables/audit-entries.js'
import { insertDecision, updateDecision } from './tables/decisions.js'
import { insertIdempotency } from './tables/idempotency.js'
import { writeKey } from './tables/keys.js'
import { writePolicy } from './tables/policies.js'

/** Makes the records durable together, up to the first that meets a conflict: one transaction, one fsync. */
export function commitRecords(db: Connection, records: readonly StoreRecord[]): CommitResult {
  return db.transaction(() => {
    for (const [written, record] of records.entries()) {
      db.run('SAVEPOINT record')
      const conflict = applyRecord(db, record)
      if (conflict !== null) db.run('ROLLBACK TO record')
      db.run('RELEASE record')
      if (conflict !== null) return { written, conflict }
    }
    return { written: records.length, conflict: null }
  })
}

function applyRecord(db: Connection, { change, entry, idempotency }: StoreRecord): Conflict | null {
  if (!insertAuditEntry(db, entry)) return 'log_index'
  if (idempotency !== null && !insertIdempotency(db, idempotency)) return 'idempotency_key'
  return applyChange(db, change)
}

function applyChange(db: Connection, change: Change): Conflict | null {
  switch (change.kind) {
    case 'decision.create':
      if (!insertDecision(db, change.decision, change.request)) return 'version'
      markSeen(db, change.decision)
      return null
    case 'decision.update':
      return updateDecision(db, change.decision, change.expected_version) ? null : 'version'
    case 'policy.write':
      return writePolicy(db, change.policy, change.expected_version)
    case 'agent.write':
      return writeAgent(db, change.agent, change.expected_version) ? null : 'version'
    case 'key.write':
      return writeKey(db, change.key, change.expected_version)
    case 'entry.only':
      return null
  }
}
