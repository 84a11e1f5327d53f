import { z } from 'zod'
import type { Immutable } from './immutable.js'
import { jsonObject } from './json.js'

/** The kinds of records that the store holds and the audit log binds. */
export const AUDIT_RECORD_KINDS = ['decision', 'policy', 'agent', 'key', 'webhook', 'account'] as const
export type AuditRecordKind = (typeof AUDIT_RECORD_KINDS)[number]

/** A record as the store holds it, for comparison with the audit log. */
export const AuditRecordSchema = z
  .strictObject({
    kind: z.enum(AUDIT_RECORD_KINDS),
    id: z.string(),
    record: jsonObject(
      'As it is stored: its members may change with a release. Secrets and sessions of keys are hashes of what is stored.',
    ),
  })
  .meta({ id: 'AuditRecord' })
export type AuditRecord = Immutable<z.infer<typeof AuditRecordSchema>>
