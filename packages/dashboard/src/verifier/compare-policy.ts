import { checkRecord, formOf, type RecordCheck, recordKindOf } from '@countersign/audit-log'
import type { AuditEntry, AuditRecord } from '@countersign/contract'

export type { RecordCheck }

/**
 * Compares the stored revisions of a policy with its audit entries.
 *
 * @param records the revisions, in any order
 * @param liveRevision the current revision; null for a deleted policy
 * @param entries every entry that names the policy, in any order; those about its budget are ignored
 */
export function comparePolicy(
  id: string,
  records: readonly AuditRecord[],
  liveRevision: number | null,
  entries: readonly AuditEntry[],
): RecordCheck {
  const revisions = records.map(({ record }) => record)
  const own = entries.filter((entry) => recordKindOf(entry) === 'policy')
  return checkRecord({ kind: 'policy', id }, own, formOf('policy', revisions, liveRevision))
}
