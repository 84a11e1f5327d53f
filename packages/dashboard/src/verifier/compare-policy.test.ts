import { jsonHash } from '@countersign/audit-log'
import type { AuditEntry, AuditRecord } from '@countersign/contract'
import { expect, it } from 'vitest'
import { comparePolicy } from './compare-policy'

const AT = '2026-11-21T10:00:00.000Z'
const document = { name: 'refunds', rules: [] }
const written = { created_by: 'key_1', created_at: AT, updated_by: 'key_1', updated_at: AT, deleted_at: null }
const revision = { version: 1, policy_set: 1, ...written, document }
const RECORD = { kind: 'policy', id: 'pol_1', record: revision } as unknown as AuditRecord
const entryOf = (type: string, data: object) =>
  ({
    type,
    data,
    at: AT,
    actor: 'key_1',
    subject: 'pol_1',
    log: 'a',
    index: 0,
    id: `aud_${type}`,
  }) as unknown as AuditEntry
const created = entryOf('policy.created', {
  ...{ revision: 1, name: 'refunds', policy_set: 1, written_at: AT, document_hash: jsonHash(document) },
})

it('takes no alarm of its budget, which names the policy too, for a change of it', () => {
  const alarms = ['budget.threshold', 'budget.exceeded'].map((type) => entryOf(type, { threshold: 0.8 }))
  expect(comparePolicy('pol_1', [RECORD], 1, [...alarms, created])).toEqual({ differences: [], unbound: [] })
  const [difference] = comparePolicy('pol_1', [RECORD], 1, alarms).differences
  expect(difference).toMatchObject({ member: null, logged: null })
})
