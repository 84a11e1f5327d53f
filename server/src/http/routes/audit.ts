import { AgentIdSchema, AUDIT_TYPES, AuditEntrySchema, IdSchema, pageOf, TimestampSchema } from '@countersign/contract'
import type { Store } from '@countersign/store-port/store'
import { z } from 'zod'
import type { Cursors } from '../cursor.js'
import { givenFilters } from '../filter.js'
import { pageQuery, replyPage } from '../pages.js'
import { type Route, route } from '../route.js'

export function auditRoutes(deps: {
  readonly store: Pick<Store, 'listAuditEntries'>
  readonly cursors: Cursors
}): Route[] {
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
  ]
}
