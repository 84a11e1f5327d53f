import { msSince } from '../../../concurrency/moment.js'
import { StoreUnavailableError } from '../../../ports/store/errors.js'
import type { MongoLedger } from '../budgets/ledger.js'
import { hasUnsettled, nextLines } from '../budgets/ledger-lines.js'
import type { Reservation } from '../budgets/reservation.js'
import type { Settling } from '../budgets/settlements.js'
import { decisionDocument } from '../collections/decisions.js'
import type { Database } from '../connection/database.js'
import type { DecisionDocument, LedgerLine } from '../stored.js'
import { committedAmong, type Primaries } from './primaries.js'
import { type ChangeOf, lastOf, type Step } from './step.js'

export interface WriteDeps {
  readonly database: Database
  readonly ledger: MongoLedger
  readonly nowMs: () => number
}

/**
 * A new decision is sent to the store within this time, or never: a tombstone blocks a decision that others have given
 * up, and tombstones are removed (removal.ts). It is far longer than a record takes that a caller still waits for.
 */
const LEAVES_WITHIN_MS = 60_000

export async function writeNewDecisions(
  { database, ledger, nowMs }: WriteDeps,
  steps: readonly Step[],
  committed: Map<Step, Settling | null>,
): Promise<void> {
  const creates = steps.flatMap((step) => {
    const { change } = step.record
    return change.kind === 'decision.create'
      ? [{ step, document: newDecision(step, change, ledger.find(change.reservation), nowMs()) }]
      : []
  })
  const there = await database.insertNew(
    database.decisions,
    creates.map(({ document }) => document),
    () => {
      assertCurrent(creates)
      return LEAVES_WITHIN_MS - Math.max(...creates.map(({ step }) => msSince(step.begun)))
    },
  )
  const doubtful = creates.filter((_, i) => there.has(i)).map(({ step }) => step)
  const own = await committedAmong(database, doubtful)
  for (const { step, document } of creates) if (!doubtful.includes(step) || own.has(step)) committed.set(step, document)
}

/**
 * Called whenever the records are sent, also for a repeated attempt: the outcome of the first one is unknown by then,
 * so the group is in doubt.
 */
function assertCurrent(written: readonly { readonly step: Step }[]): void {
  if (written.some(({ step }) => step.record.holds?.() === false))
    throw new StoreUnavailableError('The data that the records depend on is no longer valid.')
}

function newDecision(
  step: Step,
  { decision, request }: ChangeOf<'decision.create'>,
  held: Reservation | null,
  nowMs: number,
): DecisionDocument {
  const ledger = nextLines({}, decision.postings, held)
  return {
    ...decisionDocument({ decision, request }, { last: lastOf(step), attempt: held?.attempt ?? null, ledger }),
    ...(hasUnsettled(ledger) && { unsettled: nowMs }),
  }
}

export async function writeTransitions(
  { database, ledger, nowMs }: WriteDeps,
  steps: readonly Step[],
  primaries: Primaries,
  committed: Map<Step, Settling | null>,
): Promise<void> {
  const transitions = steps.flatMap((step) => {
    const { change } = step.record
    if (change.kind !== 'decision.update') return []
    const before = primaries.decisions.get(change.decision.id) as DecisionDocument
    const held = ledger.find(change.reservation)
    const lines = nextLines(before.ledger, change.decision.postings, held)
    const after: Settling = {
      _id: before._id,
      rev: before.rev + 1,
      attempt: held?.attempt ?? before.attempt,
      ledger: lines,
    }
    return [{ step, after, update: transitionOf(step, change, before, after, nowMs()) }]
  })
  if (transitions.length === 0) return
  const { matchedCount } = await database.call(async () => {
    assertCurrent(transitions)
    return database.decisions.bulkWrite(
      transitions.map(({ after: { _id, rev }, update }) => ({ updateOne: { filter: { _id, rev: rev - 1 }, update } })),
      { ordered: false },
    )
  })
  const own =
    matchedCount === transitions.length
      ? null
      : await committedAmong(
          database,
          transitions.map(({ step }) => step),
        )
  for (const { step, after } of transitions) if (own === null || own.has(step)) committed.set(step, after)
}

/** Sets single members, because the booked amounts may have changed since the decision was read. */
function transitionOf(
  step: Step,
  { decision, erases_request }: ChangeOf<'decision.update'>,
  before: DecisionDocument,
  after: Settling,
  nowMs: number,
) {
  const lines = Object.entries(after.ledger).map(([id, line]): [string, LedgerLine | LedgerLine['due']] =>
    before.ledger[id] === undefined ? [`ledger.${id}`, line] : [`ledger.${id}.due`, line.due],
  )
  return {
    $set: {
      rev: after.rev,
      version: decision.version,
      last: lastOf(step),
      status: decision.status,
      expires_ms: Date.parse(decision.expires_at),
      document: JSON.stringify(decision),
      attempt: after.attempt,
      ...Object.fromEntries(lines),
      ...(hasUnsettled(after.ledger) && { unsettled: nowMs }),
      ...(erases_request && erasureOf(before)),
    },
  }
}

/** erasures.ts does the rest. */
function erasureOf({ request_hash }: DecisionDocument) {
  const erased = { resource: null, request_hash: null, context: null, salt: null }
  return request_hash === null ? erased : { ...erased, erased_hash: request_hash }
}
