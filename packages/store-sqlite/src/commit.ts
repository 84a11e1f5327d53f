import type { Posting } from '@countersign/store-port/documents'
import type { Change, CommitResult, Conflict, Mutation } from '@countersign/store-port/store'
import type { Connection } from './driver.js'
import { Movements } from './movements.js'
import { markSeen, writeAgent } from './tables/agents.js'
import { insertAuditEntry } from './tables/audit-entries.js'
import { insertDecision, readPostings, updateDecision } from './tables/decisions.js'
import { insertIdempotency } from './tables/idempotency.js'
import { writeKey } from './tables/keys.js'
import { writePolicy } from './tables/policies.js'
import type { Committed } from './writer-tasks.js'

/** Makes the mutations durable together, up to the first that meets a conflict: one transaction, one fsync. */
export function commitMutations(db: Connection, mutations: readonly Mutation[]): Committed {
  return db.transaction(() => {
    const movements = new Movements()
    const result = applyMutations(db, mutations, movements)
    return { ...result, accounts: movements.write(db) }
  })
}

function applyMutations(db: Connection, mutations: readonly Mutation[], movements: Movements): CommitResult {
  for (const [written, mutation] of mutations.entries()) {
    const [before, after] = postingsOf(db, mutation.change)
    db.run('SAVEPOINT mutation')
    const conflict = applyMutation(db, mutation)
    if (conflict !== null) db.run('ROLLBACK TO mutation')
    db.run('RELEASE mutation')
    if (conflict !== null) return { written, conflict }
    movements.add(before, after)
  }
  return { written: mutations.length, conflict: null }
}

/** What the decision of a change counted for, and what it counts for from then on. */
function postingsOf(db: Connection, change: Change): readonly [before: readonly Posting[], after: readonly Posting[]] {
  switch (change.kind) {
    case 'decision.create':
      return [[], change.decision.postings]
    case 'decision.update':
      return [readPostings(db, change.decision.id), change.decision.postings]
    default:
      return [[], []]
  }
}

function applyMutation(db: Connection, { change, entry, idempotency }: Mutation): Conflict | null {
  if (entry !== null && !insertAuditEntry(db, entry)) return 'log_index'
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
      return writeKey(db, change)
    case 'entry.only':
    case 'call.only':
      return null
  }
}
