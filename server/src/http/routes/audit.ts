import { setTimeout as pause } from 'node:timers/promises'
import { withDeadline } from '@countersign/concurrency'
import {
  AgentIdSchema,
  AUDIT_TYPES,
  AuditEntrySchema,
  CheckpointsSchema,
  ConsistencyProofSchema,
  DecisionProofSchema,
  ErasedRequestsSchema,
  IdSchema,
  pageOf,
  TimestampSchema,
} from '@countersign/contract'
import type { Store } from '@countersign/store-port/store'
import { z } from 'zod'
import { type CheckpointsDeps, listCheckpoints, proveConsistency } from '../../use-cases/audit/checkpoints.js'
import { eraseRequest } from '../../use-cases/audit/erase-request.js'
import { type EraseRequestsDeps, eraseRequestsOfAgent } from '../../use-cases/audit/erase-requests.js'
import { proveDecision } from '../../use-cases/audit/proof.js'
import type { Cursors } from '../cursor.js'
import { givenFilters } from '../filter.js'
import { pageQuery, replyPage } from '../pages.js'
import { type Route, route } from '../route.js'
import { auditExportRoute } from './audit-export.js'

/** A proof or an export waits for so long for the checkpoint that its entries are under. */
const CATCH_UP_MS = 3000
/** While another process keeps the trees: it makes a checkpoint about every second. */
const LOOK_EVERY_MS = 100

const SizeSchema = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,14})$/, { error: 'must be a whole number from 0 on' })
  .transform(Number)
  .meta({
    description: 'The size of the earlier checkpoint.',
    override: { type: 'integer', minimum: 0, pattern: undefined },
  })

export interface AuditRouteDeps extends CheckpointsDeps, EraseRequestsDeps {
  readonly store: Pick<Store, 'listAuditEntries' | 'feed'> & EraseRequestsDeps['store']
  readonly cursors: Cursors
  readonly feed: { readonly catchUpTrees: () => Promise<void> }
}

export function auditRoutes(deps: AuditRouteDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/audit',
      name: 'audit.list',
      isLong: true,
      summary: 'List audit entries, newest first.',
      scopes: { all: ['audit:read'] },
      query: z.strictObject({
        ...pageQuery,
        type: z.enum(AUDIT_TYPES).optional(),
        agent_id: AgentIdSchema.optional(),
        decision_id: IdSchema('dec').optional(),
        from: TimestampSchema.optional().meta({ description: 'Inclusive, on `at`.' }),
        to: TimestampSchema.optional().meta({ description: 'Exclusive.' }),
      }),
      answer: { status: 200, description: 'A page of entries.', schema: pageOf(AuditEntrySchema) },
      problems: ['invalid_cursor', 'store_unavailable'],
      handle: (call) => {
        const { limit, cursor, decision_id, ...filter } = call.query
        return replyPage(deps.cursors, '/v1/audit', call, (page) =>
          deps.store.listAuditEntries(givenFilters({ ...filter, subject: decision_id }), page),
        )
      },
    }),
    route({
      method: 'GET',
      path: '/v1/audit/checkpoints',
      name: 'audit.checkpoints',
      isLong: true,
      summary: 'The newest signed checkpoint of each log, and of the root log over them.',
      scopes: { all: ['audit:read'] },
      answer: { status: 200, description: 'The checkpoints.', schema: CheckpointsSchema },
      problems: ['store_unavailable'],
      handle: async () => ({ body: await listCheckpoints(deps) }),
    }),
    route({
      method: 'GET',
      path: '/v1/audit/consistency',
      name: 'audit.consistency',
      isLong: true,
      summary: 'Prove that the newest checkpoint of a log goes on from an earlier one.',
      scopes: { all: ['audit:read'] },
      query: z.strictObject({
        log: z.string().optional().meta({ description: 'The root log when absent.' }),
        from: SizeSchema,
      }),
      answer: { status: 200, description: 'The proof.', schema: ConsistencyProofSchema },
      problems: ['not_found', 'store_unavailable'],
      handle: async ({ query: { log, from } }) => ({ body: await proveConsistency(deps, log ?? null, from) }),
    }),
    auditExportRoute({ store: deps.store, catchUp: (isDone) => catchUp(deps, isDone) }),
    route({
      method: 'GET',
      path: '/v1/audit/proof',
      name: 'audit.proof',
      isLong: true,
      summary: 'Prove that the entries of a decision are in the audit log.',
      scopes: { all: ['audit:read'] },
      query: z.strictObject({ decision_id: IdSchema('dec') }),
      answer: { status: 200, description: 'Proofs of all its entries, the oldest first.', schema: DecisionProofSchema },
      problems: ['not_found', 'store_unavailable'],
      handle: async ({ query }) => ({
        body: await proveDecision({ store: deps.store, catchUp: (isDone) => catchUp(deps, isDone) }, query.decision_id),
      }),
    }),
    route({
      method: 'DELETE',
      path: '/v1/audit/requests/{decision_id}',
      name: 'audit.eraseRequest',
      summary: 'Erase the request of a decision: its context, resource and request hash. Proofs stay valid.',
      scopes: { all: ['audit:write'] },
      answer: { status: 204, description: 'The request is erased, now or before.' },
      problems: ['not_found', 'store_unavailable'],
      handle: async ({ caller, params }) => {
        await eraseRequest(deps, caller, params.decision_id as string)
        return {}
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/audit/requests',
      name: 'audit.eraseRequests',
      isUnbounded: true,
      summary: 'Erase the requests of all decisions of an agent. The call goes on when its caller disconnects.',
      scopes: { all: ['audit:write'] },
      query: z.strictObject({ agent_id: AgentIdSchema }),
      answer: { status: 200, description: 'All are erased.', schema: ErasedRequestsSchema },
      problems: ['store_unavailable'],
      handle: async ({ query, callerNow, pause }) => ({
        body: await eraseRequestsOfAgent(deps, callerNow, query.agent_id, pause),
      }),
    }),
  ]
}

/** Whatever fails there, a proof says which entries have none yet, and an export ends before them. */
async function catchUp({ feed }: AuditRouteDeps, isDone: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + CATCH_UP_MS
  await withDeadline(feed.catchUpTrees(), CATCH_UP_MS, () => new Error('The trees are behind.')).catch(() => {})
  while (!(await isDone()) && performance.now() < untilMs) await pause(LOOK_EVERY_MS)
}
