import type { StoredDecision } from '@countersign/store-port/documents'
import type { ClosedDecision, ClosedFilter, Page, PageRequest } from '@countersign/store-port/store'
import { accountKeyOf } from './budgets/account-id.js'
import { hasUnsettled } from './budgets/ledger-lines.js'
import type { Settlements } from './budgets/settlements.js'
import { syncAccount } from './budgets/sync-account.js'
import { copyToLog } from './collections/audit.js'
import { OPEN_STATUSES } from './collections/decisions.js'
import { VOID } from './collections/fences.js'
import { type Database, READ_LIMIT_MS } from './connection/database.js'
import type { DecisionDocument } from './stored.js'

const CURSOR = /^(\d+)\/(.*)$/s

/** The oldest first. */
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
 * Removes decisions that have nothing on its way: every account holds what they are due and, then, no mark of theirs, and the
 * entry of their last record is in the log. A mark without its decision would be taken for one of a request that never
 * came, and given back.
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
  await database.call(() =>
    database.decisions.bulkWrite(
      over.map(({ _id, rev }) => ({ deleteOne: { filter: { _id, rev } } })),
      { ordered: false },
    ),
  )
  // Not what was deleted by an answer that may be that to a repetition, but what is gone.
  const ids = over.map(({ _id }) => _id)
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

/** None comes again for a decision that stays as it was read. */
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
 * A tombstone keeps out one write: the insert of a decision that others have given up, by a process that is slow or was
 * frozen, for ids are never given twice. That process looks at its clocks right before the insert leaves, and so does the
 * driver before each try: one that has had the record in hand for a minute sends it no more (LEAVES_WITHIN_MS in write-decisions.ts).
 * What has left arrives while TCP goes on with it, some 15 minutes, or not at all. A day is far beyond both, and beyond what
 * the clocks of two machines differ by. Whatever looks for the record later finds a void entry at its index.
 */
const TOMBSTONES_STAY_MS = 86_400_000
const MOST_TOMBSTONES = 1000

/** Removes tombstones that nothing is on its way to any more. */
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
