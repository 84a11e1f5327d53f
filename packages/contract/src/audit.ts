import { z } from 'zod'
import { IdSchema } from './id.js'
import type { Immutable } from './immutable.js'
import { jsonObject } from './json.js'
import { TimestampSchema } from './timestamp.js'
import { TraceIdSchema } from './trace-id.js'

/** Every type of audit entry. */
export const AUDIT_TYPES = [
  'decision.created',
  'decision.approved',
  'decision.declined',
  'decision.claimed',
  'decision.confirmed',
  'decision.rejected',
  'decision.corrected',
  'decision.expired',
  'decision.redeemed',
  'policy.created',
  'policy.updated',
  'policy.deleted',
  'agent.created',
  'agent.updated',
  'agent.deleted',
  'agent.suspended',
  'agent.resumed',
  'key.created',
  'key.rotated',
  'key.revoked',
  'key.signed_in',
  'key.signed_out',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.disabled',
  'budget.threshold',
  'budget.exceeded',
  'signing_key.created',
  'signing_key.rotated',
  'signing_key.revoked',
  'store.loss_accepted',
  'log.rewrite_accepted',
  'request.erased',
  'decisions.removed',
  // Fills the position of a record that never became durable.
  'void',
] as const
export type AuditType = (typeof AUDIT_TYPES)[number]

/** An entry for one decision, transition of a decision, or change; `leaf` is the hash of the entry's JCS form. */
export const AuditEntrySchema = z
  .strictObject({
    id: IdSchema('aud'),
    log: z.string().meta({ description: 'The audit log of one server process.' }),
    index: z.int().min(0).meta({ description: 'Position in that log.' }),
    at: TimestampSchema,
    type: z.enum(AUDIT_TYPES),
    actor: z.string().nullable().meta({
      description: 'Id of the API key that made the change; null for a change without an API key, such as an expiry.',
    }),
    subject: z.string().meta({ description: 'Id of the object that was changed.' }),
    agent_id: z.string().nullable(),
    data: jsonObject('Details of the event; the members depend on `type`.'),
    trace_id: TraceIdSchema.nullable().optional().meta({
      description:
        'The trace of the request that made the change, from its header `traceparent`. Null without a valid one. Absent in entries of older releases.',
    }),
    leaf: z.string(),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = Immutable<z.infer<typeof AuditEntrySchema>>

/** The result of a call that erases the requests of an agent. */
export const ErasedRequestsSchema = z
  .strictObject({
    agent_id: z.string(),
    erased: z.int().min(0).meta({ description: 'How many requests this call has erased.' }),
  })
  .meta({ id: 'ErasedRequests' })
export type ErasedRequests = Immutable<z.infer<typeof ErasedRequestsSchema>>
