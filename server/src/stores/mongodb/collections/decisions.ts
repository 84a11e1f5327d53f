import { patternTest } from '@countersign/contract/pattern-match'
import type { Document, Filter } from 'mongodb'
import type {
  DecisionFilter,
  DecisionWithRequest,
  HeldRequestFilter,
  OpenReview,
  OpenStatus,
  WaitingReviews,
} from '../../../ports/store/decisions.js'
import type { StoredDecision } from '../../../ports/store/documents.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { leaveOut, ofSoundRows, openDocument, rowDocument } from '../../../ports/store/row-document.js'
import { bookedLines } from '../budgets/ledger-lines.js'
import { type Database, READ_LIMIT_MS } from '../connection/database.js'
import type { DecisionDocument } from '../stored.js'
import { leftOf, NOTHING_PASSED, type Passed, passedWith } from './by-time.js'
import { equality, pageOf, partialPageOf } from './pages.js'

/** The statuses that end at `expires_at`. */
export const OPEN_STATUSES: readonly string[] = ['authorized', 'awaiting_review', 'approved']

/** The first document of a decision. */
export function decisionDocument(
  { decision, request }: DecisionWithRequest,
  members: Pick<DecisionDocument, 'last' | 'attempt' | 'ledger'>,
): DecisionDocument {
  return {
    _id: decision.id,
    rev: 1,
    version: decision.version,
    is_void: false,
    at_ms: Date.parse(decision.evaluated_at),
    status: decision.status,
    expires_ms: Date.parse(decision.expires_at),
    agent_id: decision.agent_id,
    action: decision.action,
    resource: decision.resource,
    effect: decision.effect,
    policy_id: decision.policy_id,
    request_hash: decision.request_hash,
    key_id: decision.key_id,
    ...(decision.trace_id !== undefined && { trace_id: decision.trace_id }),
    document: JSON.stringify(decision),
    context: request.context === null ? null : JSON.stringify(request.context),
    salt: request.salt,
    ...members,
  }
}

/** Writes decisions whose entries are in the log, and whose accounts include their amounts. */
export async function insertSettledDecisions(
  database: Database,
  decisions: readonly DecisionWithRequest[],
): Promise<void> {
  const documents = decisions.map((one) =>
    decisionDocument(one, { last: null, attempt: null, ledger: bookedLines(one.decision.postings) }),
  )
  await database.insertNew(database.decisions, documents)
}

export async function findDecisions(
  database: Database,
  decisions: readonly DecisionWithRequest[],
): Promise<readonly (DecisionWithRequest | null)[]> {
  const ids = decisions.map(({ decision }) => decision.id)
  return database.findInOrder(database.decisions, ids, (found) => (found.is_void ? null : decisionOf(found)))
}

export async function findDecision(database: Database, id: string): Promise<DecisionWithRequest | null> {
  const found = await database.findById(database.decisions, id)
  return found === null || found.is_void ? null : decisionOf(found)
}

export async function findDecisionStatus(
  database: Database,
  id: string,
): Promise<Pick<StoredDecision, 'status' | 'expires_at'> | null> {
  const projection = { status: 1, expires_ms: 1, is_void: 1 }
  const found = await database.call(() => database.decisions.findOne({ _id: { $eq: id } }, { projection }))
  if (found === null || found.is_void) return null
  return { status: found.status as StoredDecision['status'], expires_at: new Date(found.expires_ms).toISOString() }
}

export function listDecisions(
  database: Database,
  filter: DecisionFilter,
  page: PageRequest,
): Promise<Page<DecisionWithRequest>> {
  const test = filter.agents === null ? null : patternTest(filter.agents)
  return pageOf(
    database,
    {
      collection: database.decisions,
      conditions: [
        { is_void: false },
        ...equality('request_hash', filter.request_hash),
        ...equality('trace_id', filter.trace_id),
        ...equality('resource', filter.resource),
        ...presentStatus(filter),
        ...equality('agent_id', filter.agent_id),
        ...equality('policy_id', filter.policy_id),
        ...equality('action', filter.action),
        ...equality('effect', filter.effect),
      ],
      by: ['at_ms', '_id'],
      from: filter.from,
      to: filter.to,
      keep: test === null ? undefined : ({ agent_id }) => test(agent_id),
      looksAt: ['agent_id'],
    },
    decisionOf,
    page,
  )
}

export function listHeldRequests(
  database: Database,
  { agent_id, evaluated_from, evaluated_before }: HeldRequestFilter,
  page: PageRequest,
): Promise<Page<Pick<StoredDecision, 'id' | 'evaluated_at'>>> {
  return partialPageOf(
    database,
    {
      collection: database.decisions,
      conditions: [{ is_void: false }, ...equality('agent_id', agent_id)],
      by: ['at_ms', '_id'],
      isOldestFirst: true,
      from: evaluated_from,
      to: evaluated_before,
      // Tested here, because nearly all requests of an old database may be erased, and the search for the others must
      // end.
      keep: ({ salt }) => salt !== null,
      looksAt: ['salt'],
    },
    ({ _id, at_ms }) => ({ id: _id, evaluated_at: new Date(at_ms).toISOString() }),
    page,
  )
}

export async function listOpenReviews(database: Database, now: string): Promise<readonly OpenReview[]> {
  const found = await database.call(() =>
    database.decisions
      .find({ status: 'awaiting_review', expires_ms: { $gt: Date.parse(now) } })
      .sort({ expires_ms: 1 })
      .project<Pick<DecisionDocument, '_id' | 'agent_id' | 'key_id' | 'expires_ms'>>({
        agent_id: 1,
        key_id: 1,
        expires_ms: 1,
      })
      .toArray(),
  )
  return found.map(({ _id, agent_id, key_id, expires_ms }) => ({
    id: _id,
    agent_id,
    key_id,
    expires_at: new Date(expires_ms).toISOString(),
  }))
}

export async function measureReviews(database: Database, now: string): Promise<WaitingReviews> {
  const { decisions } = database
  const waiting = { status: 'awaiting_review', expires_ms: { $gt: Date.parse(now) } }
  const [count, oldest] = await Promise.all([
    database.call(() => decisions.countDocuments(waiting, { maxTimeMS: READ_LIMIT_MS })),
    database.call(() =>
      decisions
        .find(waiting)
        .sort({ at_ms: 1, _id: 1 })
        .limit(1)
        .project<Pick<DecisionDocument, 'at_ms'>>({ at_ms: 1 })
        .maxTimeMS(READ_LIMIT_MS)
        .toArray(),
    ),
  ])
  const [first] = oldest
  return { waiting: count, oldest_at: first === undefined ? null : new Date(first.at_ms).toISOString() }
}

export async function listOverdue(
  database: Database,
  status: OpenStatus,
  now: string,
  { limit, after }: PageRequest,
): Promise<Page<StoredDecision>> {
  const passed = passedUpTo(after)
  const { time, _id } = leftOf(passed, Date.parse(now))
  const found = await database.call(() =>
    database.decisions
      .find({ status, expires_ms: time, _id })
      .sort({ expires_ms: 1 })
      .limit(limit + 1)
      .maxTimeMS(READ_LIMIT_MS)
      .toArray(),
  )
  const page = found.slice(0, limit)
  const { ms, ids } = passedWith(passed, page, ({ expires_ms }) => expires_ms)
  return {
    items: ofSoundRows(page, openOf, leaveOut),
    next: found.length > limit ? [ms, ...ids].join('/') : null,
  }
}

/** A cursor of `listOverdue` contains the time and the ids. */
function passedUpTo(cursor: string | null): Passed {
  if (cursor === null) return NOTHING_PASSED
  const [ms, ...ids] = cursor.split('/')
  return { ms: Number(ms), ids }
}

/** Returns the ids of the decisions among these that are open at a time. */
export async function openAmong(
  database: Database,
  ids: readonly string[],
  nowMs: number,
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const found = await database.call(() =>
    database.decisions
      .find({ _id: { $in: [...ids] }, status: { $in: [...OPEN_STATUSES] }, expires_ms: { $gt: nowMs } })
      .project<{ _id: string }>({ _id: 1 })
      .toArray(),
  )
  return new Set(found.map(({ _id }) => _id))
}

/** Derives the status from the written one and the time. */
function presentStatus({ status, now }: DecisionFilter): readonly Filter<Document>[] {
  const nowMs = Date.parse(now)
  switch (status) {
    case undefined:
      return []
    case 'expired':
      return [{ $or: [{ status }, { status: { $in: OPEN_STATUSES }, expires_ms: { $lte: nowMs } }] }]
    case 'authorized':
    case 'awaiting_review':
    case 'approved':
      return [{ status }, { expires_ms: { $gt: nowMs } }]
    default:
      return [{ status }]
  }
}

function decisionOf(found: DecisionDocument): DecisionWithRequest {
  const { context, salt } = found
  return {
    decision: documentOf(found),
    request: { context: context === null ? null : JSON.parse(context), salt },
  }
}

function documentOf({ _id: id, version, document }: DecisionDocument): StoredDecision {
  return rowDocument('decision', { id, version }, document)
}

function openOf({ _id: id, version, status, expires_ms, document }: DecisionDocument): StoredDecision {
  return openDocument({ id, version, status, expires_ms }, document)
}
