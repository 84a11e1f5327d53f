import { z } from 'zod'
import { AUDIT_TYPES, AuditEntrySchema, ErasedRequestsSchema } from '../audit.js'
import {
  CheckpointsSchema,
  ConsistencyProofSchema,
  DecisionProofSchema,
  ExportedCheckpointSchema,
  ExportProblemSchema,
} from '../audit-proof.js'
import { AUDIT_RECORD_KINDS, AuditRecordSchema } from '../audit-record.js'
import { IdSchema } from '../id.js'
import { AgentIdSchema } from '../names.js'
import { QueryTimeSchema } from '../timestamp.js'
import { operation, page } from './operation.js'

const READ = { all: ['audit:read'] } as const
const WRITE = { all: ['audit:write'] } as const

const SizeSchema = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,14})$/, { error: 'must be a whole number from 0 on' })
  .transform(Number)
  .meta({
    description: 'The size of the earlier checkpoint.',
    override: { type: 'integer', minimum: 0, pattern: undefined },
  })

export const AUDIT_OPERATIONS = {
  'audit.list': page(
    '/v1/audit',
    [AuditEntrySchema, 'A page of entries.'],
    { summary: 'List audit entries, newest first or oldest first.', scopes: READ, problems: ['store_unavailable'] },
    {
      order: z.enum(['desc', 'asc']).optional().meta({
        description:
          '`desc` (the default): newest first, page by page with `cursor`. `asc`: oldest first, and in the order of each log. Every page then has a `next_cursor`, also one that is empty or not full: send it as `after` to get what came since.',
      }),
      // Accepts any text, as `cursor` does.
      after: z.string().optional().meta({
        description:
          'With `order=asc`: the `next_cursor` of any earlier page, whatever its filters; or `now` for the end of the logs. Default: the oldest entry.',
      }),
      type: z.enum(AUDIT_TYPES).optional(),
      agent_id: AgentIdSchema.optional(),
      decision_id: IdSchema('dec').optional(),
      subject: z.string().min(1).max(256).optional().meta({
        description: 'The id of the changed object: a decision, a policy, an agent, a key and so on.',
      }),
      from: QueryTimeSchema.optional().meta({ description: 'Inclusive, on `at`.' }),
      to: QueryTimeSchema.optional().meta({ description: 'Exclusive.' }),
    },
  ),
  'audit.checkpoints': operation('GET', '/v1/audit/checkpoints', {
    summary: 'The newest signed checkpoint of each log, and of the root log over them.',
    scopes: READ,
    answer: { status: 200, description: 'The checkpoints.', schema: CheckpointsSchema },
    problems: ['log_rewritten', 'store_unavailable'],
  }),
  'audit.consistency': operation('GET', '/v1/audit/consistency', {
    summary: 'Prove that the newest checkpoint of a log continues an earlier one.',
    scopes: READ,
    query: z.strictObject({
      log: z.string().optional().meta({ description: 'Default: the root log.' }),
      from: SizeSchema,
    }),
    answer: { status: 200, description: 'The proof.', schema: ConsistencyProofSchema },
    problems: ['not_found', 'log_rewritten', 'store_unavailable'],
  }),
  'audit.export': operation('GET', '/v1/audit/export', {
    summary: 'Export all audit logs with their checkpoints, for a verifier.',
    scopes: READ,
    answer: {
      status: 200,
      description:
        'The checkpoints in the order of the root log, then the checkpoint of the root log itself, then the entries log by log, as of the start of the export. Each line is canonical JSON (RFC 8785). When an entry is missing, the last line names it. After that and after any other fault the connection breaks, and the export is incomplete.',
      lines: [ExportedCheckpointSchema, AuditEntrySchema, ExportProblemSchema],
    },
    problems: ['log_rewritten', 'store_unavailable'],
  }),
  'audit.proof': operation('GET', '/v1/audit/proof', {
    summary: 'Prove that the entries of a decision are in the audit log.',
    scopes: READ,
    query: z.strictObject({ decision_id: IdSchema('dec') }),
    answer: { status: 200, description: 'Proofs of all its entries, oldest first.', schema: DecisionProofSchema },
    problems: ['not_found', 'log_rewritten', 'store_unavailable'],
  }),
  'audit.records': page(
    '/v1/audit/records',
    [AuditRecordSchema, 'A page of records.'],
    {
      summary: 'List stored records with all data that the audit log covers. Each kind also needs its own read scope.',
      scopes: READ,
      problems: ['store_unavailable'],
    },
    {
      kind: z.enum(AUDIT_RECORD_KINDS),
      id: z
        .string()
        .optional()
        .meta({ description: 'Return only this record, or this policy with all its revisions. Not for accounts.' }),
    },
  ),
  'audit.eraseRequest': operation('DELETE', '/v1/audit/requests/{decision_id}', {
    summary: 'Erase the request of a decision: its context, resource and request hash. Proofs stay valid.',
    scopes: WRITE,
    params: { decision_id: IdSchema('dec') },
    answer: { status: 204, description: 'The request is erased, now or earlier.' },
    problems: ['not_found', 'store_unavailable'],
  }),
  'audit.eraseRequests': operation('DELETE', '/v1/audit/requests', {
    summary: 'Erase the requests of all decisions of an agent. The call continues if its caller disconnects.',
    scopes: WRITE,
    query: z.strictObject({ agent_id: AgentIdSchema }),
    answer: { status: 200, description: 'All requests are erased.', schema: ErasedRequestsSchema },
    problems: ['store_unavailable'],
  }),
}
