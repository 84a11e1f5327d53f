import type { StoredDecision } from '@countersign/store-port/documents'
import type { Settlements } from '../budgets/settlements.js'
import { keepRevisions, type LastSeenWriter, unwrittenAgent } from '../collections/agents.js'
import { auditDocumentOf, auditId, copyToLog, isPlace, voidEntry } from '../collections/audit.js'
import { fence, fenceDecision, insertVoid } from '../collections/fences.js'
import { keepPolicyRevision } from '../collections/policies.js'
import { allDone } from '../connection/all-done.js'
import type { Database } from '../connection/database.js'
import type { Home, Intent, LogDocument } from '../stored.js'
import { releaseName } from './claims.js'
import { readHome } from './home.js'

/** What follows from records: when agents were last seen, and the accounts. */
export interface Followers {
  readonly lastSeen: LastSeenWriter
  readonly settlements: Settlements
}

/**
 * Settles what the last announced group of a log came to: a record that stands gets its entry, the place of any other is
 * filled with a void entry, once nothing can make it stand any more. Answers the next index. Only whoever has raised the
 * log's epoch may do it; it may be done again, and by several at once.
 */
export async function finishGroup(
  database: Database,
  followers: Followers,
  { start, group }: LogDocument,
): Promise<number> {
  // No two of a group have the same home.
  await allDone(group.map((intent) => finish(database, followers, intent)))
  return start + group.length
}

async function finish(database: Database, followers: Followers, intent: Intent): Promise<void> {
  for (;;) {
    // The home first: its last record leaves it only once its entry is in the log.
    const home = await readHome(database, intent.home)
    if (home !== null && isPlace(home.last, intent)) {
      await afterwards(database, followers, intent, home)
      await copyToLog(database, [home.last])
      return
    }
    const entry = await database.call(() => database.audit.findOne({ _id: auditId(intent) }, { projection: { id: 1 } }))
    if (entry !== null) return
    if (!(await fenceHome(database, intent, home))) continue
    if (intent.claim !== null) await releaseName(database, intent.claim, intent)
    await database.insertNew(database.audit, [auditDocumentOf(voidEntry(intent))])
    return
  }
}

/** What follows from a record that stands, besides its entry. */
async function afterwards(
  database: Database,
  { lastSeen, settlements }: Followers,
  { home: { kind, id } }: Intent,
  home: Home,
): Promise<void> {
  if (kind === 'decision') {
    const found = await database.call(() => database.decisions.findOne({ _id: { $eq: id } }))
    if (found === null || found.is_void) return
    const { agent_id, evaluated_at } = JSON.parse(found.document) as StoredDecision
    await lastSeen.mark([{ agent_id, at: evaluated_at }])
    await settlements.settle([found])
  }
  if (kind === 'agent' && 'document' in home && typeof home.document === 'string')
    await keepRevisions(database, [home.document])
  if (kind === 'policies') {
    const directory = await database.call(() => database.policyDirectory.findOne({ _id: { $eq: id } }))
    if (directory !== null) await keepPolicyRevision(database, directory)
  }
}

/** Makes sure that the record cannot come any more, as its home was read. False when that has changed since. */
async function fenceHome(database: Database, { home: { kind, id }, at }: Intent, home: Home | null): Promise<boolean> {
  const raise = { $inc: { rev: 1 } }
  switch (kind) {
    case 'decision':
      return home === null ? insertVoid(database, id) : fenceDecision(database, home)
    case 'agent':
      if (home === null) return (await database.insertNew(database.agents, [unwrittenAgent(id, at)])).size === 0
      return fence(() => database.agents.updateOne({ _id: id, rev: home.rev }, raise), database)
    case 'policies':
      return fence(() => database.policyDirectory.updateOne({ _id: id, rev: home?.rev ?? 0 }, raise), database)
    case 'keys':
      return fence(() => database.keyDirectory.updateOne({ _id: id, rev: home?.rev ?? 0 }, raise), database)
    case 'none':
      // The entry is all of the record: what fills its place keeps it out.
      return true
  }
}
