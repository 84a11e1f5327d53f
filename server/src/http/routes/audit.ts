import { setTimeout as pause } from 'node:timers/promises'
import type { QueryOf } from '@countersign/contract/operations'
import { hasScope } from '../../caller.js'
import { withDeadline } from '../../concurrency/with-deadline.js'
import { DomainError, invalid } from '../../domain-error.js'
import type { Store } from '../../ports/store/store.js'
import { type CheckpointsDeps, listCheckpoints, proveConsistency } from '../../use-cases/audit/checkpoints.js'
import { eraseRequest } from '../../use-cases/audit/erase-request.js'
import { type EraseRequestsDeps, eraseRequestsOfAgent } from '../../use-cases/audit/erase-requests.js'
import { followLogs } from '../../use-cases/audit/follow.js'
import { type ProofDeps, proveDecision } from '../../use-cases/audit/proof.js'
import { listRecords, type RecordReads, SCOPE_OF_RECORD } from '../../use-cases/audit/records.js'
import { MissingHashError } from '../../use-cases/audit/tree-hashes.js'
import type { Cursors } from '../cursor.js'
import { givenFilters, replyFollowed, replyPage } from '../pages.js'
import { type Call, routesOf } from '../route.js'
import { auditExportRoute } from './audit-export.js'

/** How long a proof or an export waits for a checkpoint that covers its entries. */
const CATCH_UP_MS = 3000
/** The poll interval while another process keeps the trees; that process makes a checkpoint about every second. */
const LOOK_EVERY_MS = 100

export interface AuditRouteDeps extends CheckpointsDeps, EraseRequestsDeps {
  readonly store: CheckpointsDeps['store'] &
    Pick<Store, 'audit' | 'ping'> &
    EraseRequestsDeps['store'] &
    RecordReads['store']
  readonly cursors: Cursors
  readonly feed: {
    readonly catchUpTrees: () => Promise<void>
    readonly checkTrees: () => Promise<string | null>
  }
}

export function auditRoutes(deps: AuditRouteDeps) {
  return routesOf({
    'audit.list': {
      handle: (call) => {
        const { limit, cursor, order, after, decision_id, subject, ...filter } = call.query
        assertCombination(call.query)
        const given = givenFilters({ ...filter, subject: subject ?? decision_id })
        return order === 'asc'
          ? replyFollowed(deps.cursors, call, (start, page) => followLogs(deps, start, given, page))
          : replyPage(deps.cursors, call, (page) => deps.store.audit.list(given, page))
      },
    },
    'audit.checkpoints': {
      isLong: true,
      handle: (call) => whileSigned(deps, call, async () => ({ body: await listCheckpoints(deps) })),
    },
    'audit.consistency': {
      isLong: true,
      handle: (call) => {
        const { log = null, from } = call.query
        return whileSigned(deps, call, async () => ({ body: await proveConsistency(deps, log, from) }))
      },
    },
    ...auditExportRoute({
      store: deps.store,
      catchUp: (isDone) => catchUp(deps, isDone),
      whileSigned: (call, answer) => whileSigned(deps, call, answer),
    }),
    'audit.proof': {
      isLong: true,
      handle: (call) => {
        const waiting: ProofDeps['catchUp'] = (isDone) => call.outside(() => catchUp(deps, isDone))
        return whileSigned(deps, call, async () => ({
          body: await proveDecision({ store: deps.store, catchUp: waiting }, call.query.decision_id),
        }))
      },
    },
    'audit.records': {
      handle: (call) => {
        const { kind, id = null } = call.query
        const scope = SCOPE_OF_RECORD[kind]
        if (!hasScope(call.caller, scope))
          throw new DomainError('insufficient_scope', { detail: `Records of this kind need the scope ${scope}, too.` })
        const now = deps.clock.now().toISOString()
        return replyPage(deps.cursors, call, (page) => listRecords(deps, kind, id, page, now))
      },
    },
    'audit.eraseRequest': {
      handle: async ({ caller, params }) => {
        await eraseRequest(deps, caller, params.decision_id)
        return {}
      },
    },
    'audit.eraseRequests': {
      isUnbounded: true,
      handle: async ({ query, callerNow, pause, inPlace }) => {
        let isUnderWay = false
        const body = await eraseRequestsOfAgent(deps, callerNow, query.agent_id, {
          pause,
          inTurn: (batch) => {
            const erased = inPlace(batch, { waitMs: null, isBoundToEnd: true, isUnderWay })
            isUnderWay = true
            return erased
          },
        })
        return { body }
      },
    },
  })
}

/** @throws DomainError validation_failed: parameters that cannot be given together */
function assertCombination({ order, cursor, after, decision_id, subject }: QueryOf<'audit.list'>): void {
  const isAscending = order === 'asc'
  const faults = [
    decision_id !== undefined &&
      subject !== undefined && {
        pointer: '/decision_id',
        detail: 'cannot be given with subject: both name the subject of the entries',
      },
    isAscending &&
      cursor !== undefined && {
        pointer: '/cursor',
        detail: 'cannot be given with order=asc: use after, which never ends',
      },
    !isAscending && after !== undefined && { pointer: '/after', detail: 'needs order=asc' },
  ].filter((fault) => fault !== false)
  if (faults.length > 0) throw invalid(faults)
}

/**
 * The trees may be busy with a batch, so a call that waits for them holds no place.
 *
 * @throws DomainError log_rewritten: the store's log differs from what this server has signed
 */
async function whileSigned<T>(
  { feed }: Pick<AuditRouteDeps, 'feed'>,
  { outside }: Pick<Call, 'outside'>,
  answer: () => Promise<T>,
): Promise<T> {
  const detail = await outside(() => feed.checkTrees())
  if (detail !== null) throw new DomainError('log_rewritten', { detail })
  try {
    return await answer()
  } catch (cause) {
    if (cause instanceof MissingHashError) throw new DomainError('log_rewritten', { detail: cause.message, cause })
    throw cause
  }
}

/** A failure here is harmless: a proof names the entries without a checkpoint, and an export ends before them. */
async function catchUp({ feed }: AuditRouteDeps, isDone: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + CATCH_UP_MS
  await withDeadline(feed.catchUpTrees(), CATCH_UP_MS, () => new Error('The trees are behind.')).catch(() => {})
  while (!(await isDone()) && performance.now() < untilMs) await pause(LOOK_EVERY_MS)
}
