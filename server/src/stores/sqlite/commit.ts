import type { Conflict } from '../../ports/store/store.js'
import type { Connection } from './driver.js'
import type { WritableMutation } from './group-text.js'
import { Movements } from './movements.js'
import { Sightings } from './sightings.js'
import { writeAgent } from './tables/agents.js'
import { insertAuditEntry } from './tables/audit-entries.js'
import { insertDecision, readPostings, sightingOf, updateDecision } from './tables/decisions.js'
import { eraseResponses } from './tables/deliveries.js'
import { eraseRequest } from './tables/held-requests.js'
import { insertIdempotency, isTaken } from './tables/idempotency.js'
import { writeKey } from './tables/keys.js'
import { writePolicy } from './tables/policies.js'
import { writeWebhook } from './tables/webhooks.js'
import type { Committed } from './writer-tasks.js'

/** The mutation of a group that cannot be written, and the reason. */
class MetConflict extends Error {
  constructor(
    readonly index: number,
    readonly conflict: Conflict,
  ) {
    super(conflict)
  }
}

/**
 * Makes the mutations durable together, up to the first that meets a conflict: one transaction, one fsync. A conflict
 * is rare: the transaction is rolled back, and the mutations before the conflict are written again.
 */
export function commitMutations(db: Connection, mutations: readonly WritableMutation[]): Committed {
  try {
    const accounts = db.transaction(() => writeGroup(db, mutations))
    return { written: mutations.length, conflict: null, accounts }
  } catch (error) {
    if (!(error instanceof MetConflict)) throw error
    const { index, conflict } = error
    const committed = { ...commitMutations(db, mutations.slice(0, index)), conflict }
    const repeated = conflict === 'idempotency_key' ? repeatedAfter(db, mutations, index) : []
    return repeated.length === 0 ? committed : { ...committed, repeated: new Set(repeated) }
  }
}

/** Returns the mutations after `index` whose calls have a record. */
function repeatedAfter(db: Connection, mutations: readonly WritableMutation[], index: number): readonly number[] {
  return mutations.flatMap(({ idempotency }, i) =>
    i > index && idempotency !== null && isTaken(db, idempotency) ? [i] : [],
  )
}

/** @returns the accounts that the group changed, in their new state; throws MetConflict */
function writeGroup(db: Connection, mutations: readonly WritableMutation[]): Committed['accounts'] {
  const group = { movements: new Movements(), sightings: new Sightings() }
  for (const [index, mutation] of mutations.entries()) {
    const conflict = writeMutation(db, mutation, group)
    if (conflict !== null) throw new MetConflict(index, conflict)
  }
  group.sightings.write(db)
  return group.movements.write(db)
}

/** The changes of a group besides the rows of its mutations: summed up, so that each row is written once. */
interface GroupSums {
  readonly movements: Movements
  readonly sightings: Sightings
}

function writeMutation(db: Connection, mutation: WritableMutation, group: GroupSums): Conflict | null {
  const { entry, entryText, idempotency } = mutation
  if (entry !== null && !insertAuditEntry(db, entry, entryText)) return 'log_index'
  if (idempotency !== null && !insertIdempotency(db, idempotency)) return 'idempotency_key'
  return writeChange(db, mutation, group)
}

function writeChange(
  db: Connection,
  { change, decisionText, contextText }: WritableMutation,
  { movements, sightings }: GroupSums,
): Conflict | null {
  switch (change.kind) {
    case 'decision.create': {
      if (!insertDecision(db, change.columns, decisionText, contextText)) return 'version'
      movements.add([], change.postings)
      sightings.add(sightingOf(change.columns))
      return null
    }
    case 'decision.update': {
      const before = readPostings(db, change.columns[0])
      if (!updateDecision(db, change.columns, decisionText)) return 'version'
      if (change.erasesRequest) {
        eraseRequest(db, change.columns[0])
        eraseResponses(db, change.columns[0])
      }
      movements.add(before, change.postings)
      return null
    }
    case 'policy.write':
      return writePolicy(db, change.policy, change.expected_version)
    case 'agent.write':
      // The store may know the agent from a decision of this same group.
      sightings.write(db)
      return writeAgent(db, change.agent, change.expected_version) ? null : 'version'
    case 'key.write':
      return writeKey(db, change)
    case 'webhook.write':
      return writeWebhook(db, change.webhook, change.expected_version) ? null : 'version'
    case 'entry.only':
    case 'call.only':
      return null
  }
}
