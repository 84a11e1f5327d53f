import type { ClosedDecision, ClosedFilter } from '../../ports/store/decisions.js'
import type { StoredDecision } from '../../ports/store/documents.js'
import type { Page, PageRequest } from '../../ports/store/page.js'
import { accountKeyOf } from './budgets/account-id.js'
import { hasUnsettled } from './budgets/ledger-lines.js'
import type { Settlements } from './budgets/settlements.js'
import { syncAccount } from './budgets/sync-account.js'
import { copyToLog } from './collections/audit.js'
import { OPEN_STATUSES } from './collections/decisions.js'
import { VOID } from './collections/fences.js'
import { type Database, READ_LIMIT_MS } from './connection/database.js'
import { eraseResponses } from './feed/deliveries.js'
import type { DecisionDocument } from './stored.js'

const CURSOR = /^(\d+)\/(.*)$/s

/** Lists the oldest first. */
export async function listClosed(
  database: Database,
  { evaluated_before, ended_before }: ClosedFilter,
  { limit, after }: PageRequest,
): Promise<Page<ClosedDecision>> {
  const [, ms = '-1', id = ''] = CURSOR.exec(after ?? '') ?? []
  const found = await database.call(() =>
    database.decisions
      .find({
        $and: [
          { is_void: false, status: { $nin: [...OPEN_STATUSES] } },
          { at_ms: { $gte: Number(ms), $lt: Date.parse(evaluated_before) } },
          { expires_ms: { $lt: Date.parse(ended_before) } },
          { $or: [{ at_ms: { $gt: Number(ms) } }, { _id: { $gt: id } }] },
        ],
      })
      .sort({ at_ms: 1, _id: 1 })
      .limit(limit + 1)
      .maxTimeMS(READ_LIMIT_MS)
      .project<Pick<DecisionDocument, '_id' | 'at_ms' | 'version' | 'ledger'>>({ at_ms: 1, version: 1, ledger: 1 })
      .toArray(),
  )
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return {
    items: items.map(({ _id, version, ledger }) => {
      const postings = Object.values(ledger).map(({ key, due: { spent, reserved } }) => {
        return { account: accountKeyOf(key), spent, reserved }
      })
      return { id: _id, version, postings }
    }),
    next: found.length > limit ? `${last?.at_ms}/${last?._id}` : null,
  }
}

/**
 * Removes decisions without pending work: every account includes the amounts that they owe and has no mark of theirs,
 * and the entry of their last record is in the log. A mark without its decision would be taken for one of a request
 * that was never written, and be released.
 */
export async function removeDecisions(
  database: Database,
  settlements: Settlements,
  decisions: readonly Pick<StoredDecision, 'id' | 'version'>[],
  now: string,
): Promise<number> {
  const versions = new Map(decisions.map(({ id, version }) => [id, version]))
  const found = await database.call(() => database.decisions.find({ _id: { $in: [...versions.keys()] } }).toArray())
  const settled = found.filter(
    (decision) =>
      decision.version === versions.get(decision._id) &&
      !decision.is_void &&
      decision.unsettled === undefined &&
      decision.erased_hash === undefined &&
      !hasUnsettled(decision.ledger),
  )
  const named = await namedByCalls(database, settled, Date.parse(now))
  const over = settled.filter(({ _id }) => !named.has(_id))
  if (over.length === 0) return 0
  await dropMarks(database, settlements, over)
  await copyToLog(
    database,
    over.map(({ last }) => last),
  )
  const ids = over.map(({ _id }) => _id)
  // Done before, so that the next run finds the decision if a process dies here, and again after, because an answer may
  // have come in between.
  await eraseResponses(database, ids)
  await database.call(() =>
    database.decisions.bulkWrite(
      over.map(({ _id, rev }) => ({ deleteOne: { filter: { _id, rev } } })),
      { ordered: false },
    ),
  )
  await eraseResponses(database, ids)
  // The deletion may have been repeated, so this does not count what it reports but what is gone.
  return ids.length - (await database.call(() => database.decisions.countDocuments({ _id: { $in: ids } })))
}

async function namedByCalls(
  database: Database,
  decisions: readonly DecisionDocument[],
  nowMs: number,
): Promise<ReadonlySet<string>> {
  const ids = decisions.map(({ _id }) => _id)
  const found = await database.call(() =>
    database.claims
      .find({ subject: { $in: ids }, expires_ms: { $gt: nowMs } })
      .project<{ subject: string }>({ subject: 1 })
      .toArray(),
  )
  return new Set(found.map(({ subject }) => subject))
}

/** No new mark appears for a decision that stays as it was read. */
async function dropMarks(
  database: Database,
  settlements: Settlements,
  decisions: readonly DecisionDocument[],
): Promise<void> {
  const ids = new Set(decisions.map(({ _id }) => _id))
  const accounts = new Set(decisions.flatMap(({ ledger }) => Object.keys(ledger)))
  const found = await database.call(() => database.accounts.find({ _id: { $in: [...accounts] } }).toArray())
  for (const account of found) {
    const marked = new Set(Object.values(account.marks).map(({ decision }) => decision))
    await syncAccount(
      database,
      settlements,
      account,
      [...marked].filter((id) => ids.has(id)),
    )
  }
}

/**
 * A tombstone blocks one write: the insert of a decision that others have given up, by a process that is slow or was
 * frozen; ids are never reused. That process checks its clocks right before it sends the insert, and so does the driver
 * before each try: a process that has held the record for a minute does not send it (LEAVES_WITHIN_MS in
 * write-decisions.ts). A sent insert arrives while TCP retries, some 15 minutes, or never. A day is far beyond both,
 * and beyond the clock difference of two machines. A later search for the record finds a void entry at its index.
 */
const TOMBSTONES_STAY_MS = 86_400_000
const MOST_TOMBSTONES = 1000

/** Removes tombstones for which no write can be in progress. */
export async function removeTombstones(database: Database, nowMs: number): Promise<void> {
  const old = await database.call(() =>
    database.decisions
      .find({ status: VOID, expires_ms: { $lte: nowMs - TOMBSTONES_STAY_MS } })
      .limit(MOST_TOMBSTONES)
      .project<{ _id: string }>({ _id: 1 })
      .toArray(),
  )
  if (old.length === 0) return
  const deletions = old.map(({ _id }) => ({ deleteOne: { filter: { _id, is_void: true } } }))
  await database.call(() => database.decisions.bulkWrite(deletions, { ordered: false }))
}
