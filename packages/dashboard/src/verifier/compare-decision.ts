import { type BoundKind, checkRecord, formOf, type RecordDifference } from '@countersign/audit-log'
import type { AuditEntry, AuditRecord, DecisionDetail, JsonObject } from '@countersign/contract'

export type { RecordDifference }

export interface DecisionComparison {
  /** Where the page or the stored record differs from the entries. */
  readonly differences: readonly RecordDifference[]
  /** The members that no entry covers, because an older release wrote the entries. */
  readonly unbound: readonly string[]
}

const KIND: BoundKind = 'decision'
/** Members that a page does not show. They may have changed since the entries were read. */
const UNSHOWN = /^(version|postings|redeemed|claimed_at|holder|audit)\b/

/**
 * Compares every member that a page shows of a decision, and that the entries cover, with the entries.
 *
 * @param shown null when the page shows that there is no record
 * @param held the stored record, with the salt of the request and the members that are hashed together with shown ones
 * @param entries the decision's entries, oldest first
 * @param now RFC 3339
 */
export function compareDecision(
  id: string,
  shown: DecisionDetail | null,
  held: AuditRecord | null,
  entries: readonly AuditEntry[],
  now: string,
): DecisionComparison {
  const ofDecision = entries.filter(({ subject }) => subject === id)
  const record = held === null || shown === null ? null : recordOf(shown, held.record, now)
  const check = checkRecord({ kind: KIND, id }, ofDecision, record && formOf(KIND, [record], null))
  const isCurrent = held?.record.version === ofDecision.length
  const isMeant = (member: string | null) => member === null || isCurrent || !UNSHOWN.test(member)
  const isBetweenEntries = ({ member, later_entry }: RecordDifference) => later_entry !== null && member !== 'version'
  return {
    differences: check.differences.filter((found) => isBetweenEntries(found) || isMeant(found.member)),
    unbound: check.unbound.filter(isMeant),
  }
}

/** Returns the stored record, with each member that the page shows replaced by the shown one. */
function recordOf(shown: DecisionDetail, held: JsonObject, now: string): JsonObject {
  const { context, advice: _, permit_token: __, ...members } = shown
  const { salt = null } = (held.request ?? {}) as JsonObject
  // A decision is shown as expired shortly before its entry is written.
  const isByClock = shown.status === 'expired' && held.status !== 'expired' && String(held.expires_at) <= now
  const stored = isByClock ? { status: held.status ?? null, review: held.review ?? null } : {}
  return { ...held, ...members, ...stored, request: { context, salt } } as JsonObject
}
