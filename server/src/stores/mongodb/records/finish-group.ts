import type { StoredDecision } from '../../../ports/store/documents.js'
import type { Settlements } from '../budgets/settlements.js'
import { keepRevisions, type LastSeenWriter, unwrittenAgent } from '../collections/agents.js'
import { auditDocumentOf, auditId, copyToLog, isSameEntry, voidEntry } from '../collections/audit.js'
import { fence, insertVoid } from '../collections/fences.js'
import { keepPolicyRevision } from '../collections/policies.js'
import { allDone } from '../connection/all-done.js'
import type { Database } from '../connection/database.js'
import type { Intent, LogDocument, Primary } from '../stored.js'
import { releaseName } from './claims.js'
import { finishErasures } from './erasures.js'
import { primariesOf, readPrimary } from './read-primary.js'

/** The work that follows records: updating the accounts and when agents were last seen. */
export interface Followers {
  readonly lastSeen: LastSeenWriter
  readonly settlements: Settlements
}

/**
 * Completes the last group of a log. A committed record gets its entry. Any other record is fenced, so that it can
 * never be committed, and a void entry takes its index. Returns the next index. The caller must have incremented the
 * log's epoch. The work may be repeated, and done by several processes at once.
 */
export async function finishGroup(
  database: Database,
  followers: Followers,
  { start, group }: LogDocument,
): Promise<number> {
  // No two records of a group have the same primary.
  await allDone(group.map((intent) => finish(database, followers, intent)))
  return start + group.length
}

async function finish(database: Database, followers: Followers, intent: Intent): Promise<void> {
  for (;;) {
    // Reads the primary first, because it drops its last record only after the entry is in the log.
    const primary = await readPrimary(database, intent.home)
    if (primary !== null && isSameEntry(primary.last, intent)) {
      await afterwards(database, followers, intent, primary)
      await copyToLog(database, [primary.last])
      return
    }
    const entry = await database.call(() => database.audit.findOne({ _id: auditId(intent) }, { projection: { id: 1 } }))
    if (entry !== null) {
      // The decision may have been written again since, by a process that left this to the owner of the log.
      if (intent.home.kind === 'decision') await finishErasures(database, [intent.home.id])
      return
    }
    if (!(await fencePrimary(database, intent, primary))) continue
    if (intent.claim !== null) await releaseName(database, intent.claim, intent)
    await database.insertNew(database.audit, [auditDocumentOf(voidEntry(intent))])
    return
  }
}

/** Does the work that follows a committed record, besides its entry. */
async function afterwards(
  database: Database,
  { lastSeen, settlements }: Followers,
  { home: { kind, id } }: Intent,
  primary: Primary,
): Promise<void> {
  if (kind === 'decision') {
    const found = await database.call(() => database.decisions.findOne({ _id: { $eq: id } }))
    if (found === null || found.is_void) return
    const { agent_id, evaluated_at } = JSON.parse(found.document) as StoredDecision
    await lastSeen.mark([{ agent_id, at: evaluated_at }])
    await settlements.settle([found])
    await finishErasures(database, [id])
  }
  if (kind === 'agent' && 'document' in primary && typeof primary.document === 'string')
    await keepRevisions(database, [primary.document])
  if (kind === 'policies') {
    const directory = await database.call(() => database.policyDirectory.findOne({ _id: { $eq: id } }))
    if (directory !== null) await keepPolicyRevision(database, directory)
  }
}

/** Makes sure that the record can never be committed. False when the primary was written since it was read. */
async function fencePrimary(
  database: Database,
  { home: { kind, id }, at }: Intent,
  primary: Primary | null,
): Promise<boolean> {
  const primaries = primariesOf(database, kind)
  // The entry is the whole mutation: the void entry at its index blocks it.
  if (primaries === null) return true
  if (primary !== null) return fence(database, primaries, primary)
  if (kind === 'decision') return insertVoid(database, id)
  return kind === 'agent' && (await database.insertNew(database.agents, [unwrittenAgent(id, at)])).size === 0
}
