import type { AuditEntry, AuditRecordKind, JsonObject } from '@countersign/contract'
import { compareForms, type Form, placeOf, type RecordDifference, withoutSecret } from './comparison.js'
import { damageOf } from './damaged-record.js'
import { type DecisionRecord, decisionForm, decisionInLog } from './decision.js'
import { agentForm, agentInLog, keyInLog, policyForm, policyInLog, UNWRITTEN_AGENT, webhookInLog } from './directory.js'
import { inOrderOfChanges, recordVersionOf } from './entries-of.js'
import { moveDifferences } from './moves.js'

/** The kinds of records with their own entries. An account has none: it is the sum of its decisions' amounts. */
export type BoundKind = Exclude<AuditRecordKind, 'account'>

/** The result of checking one record. */
export interface RecordCheck {
  readonly differences: readonly RecordDifference[]
  /** Members that no entry binds, because an older release wrote the entries. */
  readonly unbound: readonly string[]
}

/**
 * Returns the members of a record that are compared.
 *
 * @param records as `GET /v1/audit/records` returns them: of a policy all revisions, otherwise one. Damaged ones are
 *   left out
 * @param liveRevision the present revision of a policy
 */
export function formOf(kind: BoundKind, records: readonly JsonObject[], liveRevision: number | null): Form | null {
  const used = records.filter((held) => damageOf(held) === null)
  const [record] = used
  if (record === undefined) return null
  if (kind === 'policy') return policyForm(used, liveRevision)
  if (kind === 'agent') return agentForm(record, record.registrations as JsonObject)
  // A deleted webhook has no record. An older server does not say so.
  if (kind === 'webhook') return { is_deleted: false, ...record } as Form
  return kind === 'decision' ? decisionForm(record as DecisionRecord) : (record as Form)
}

/**
 * Compares a record with its entries.
 *
 * @param entries all entries of the record, in any order
 * @param stored the result of `formOf`; null when there is no record
 * @param isLater whether an entry may have been written after the record was read
 */
export function checkRecord(
  { kind, id }: { readonly kind: BoundKind; readonly id: string },
  entries: readonly AuditEntry[],
  stored: Form | null,
  isLater: (entry: AuditEntry) => boolean = () => false,
): RecordCheck {
  const known = knownThen(kind, inOrderOfChanges(entries), stored, isLater)
  const last = known.at(-1)
  const whole = (logged: RecordDifference['logged'], held: RecordDifference['stored']): RecordCheck => ({
    differences: [{ kind, id, member: null, logged, stored: held, entry: placeOf(last), later_entry: null }],
    unbound: [],
  })
  if (stored === null)
    return isNothing(kind, known)
      ? { differences: moveDifferences({ kind, id }, known, null), unbound: [] }
      : whole(known.length, null)
  const logged = inLog(kind, known, stored)
  if (logged === null) return whole(null, known.length)
  const { differences, unbound } = compareForms(logged, stored)
  const ofRecord = differences.map(
    ({ path, ...said }): RecordDifference => ({
      ...{ kind, id, member: path, ...said },
      ...{ entry: placeOf(last), later_entry: null },
    }),
  )
  const evaluatedAt = (stored.evaluated_at ?? null) as string | null
  return {
    differences: [...moveDifferences({ kind, id }, known, evaluatedAt), ...ofRecord].map(withoutSecret),
    unbound,
  }
}

/**
 * Finds faults in the entries of a decision that retention has removed.
 *
 * @param entries all entries of the record, in any order
 */
export function checkRemoved(id: string, entries: readonly AuditEntry[]): readonly RecordDifference[] {
  return moveDifferences({ kind: 'decision', id }, inOrderOfChanges(entries), null)
}

/** Whether the record has changes without an entry, even if later changes have one. */
export function isAhead(kind: BoundKind, entries: readonly AuditEntry[], stored: Form): boolean {
  const version = versionOf(kind, stored)
  const told = new Set(entries.map((entry) => recordVersionOf(entry) ?? entry.id))
  return told.size === 0 || (version !== null && version > told.size)
}

/** Removes the entries of changes that the record does not include yet. */
function knownThen(
  kind: BoundKind,
  entries: readonly AuditEntry[],
  stored: Form | null,
  isLater: (entry: AuditEntry) => boolean,
): readonly AuditEntry[] {
  const version = stored === null ? null : versionOf(kind, stored)
  if (version === null) return entries
  const later = entries.filter((entry, i) => (recordVersionOf(entry) ?? i + 1) > version)
  const isNotYet = new Set(later)
  return later.every(isLater) ? entries.filter((entry) => !isNotYet.has(entry)) : entries
}

/**
 * Corrects a policy whose present revision was read before its revisions, as if both were read together.
 *
 * @param isLater whether an entry may have been written after the present revision was read
 */
export function withLiveRevision(
  policy: Form,
  entries: readonly AuditEntry[],
  isLater: (entry: AuditEntry) => boolean,
): Form {
  const version = versionOf('policy', policy) as number
  const live = (policy.live_revision ?? 0) as number
  const changes = entries.filter((entry) => {
    const changed = recordVersionOf(entry) ?? 0
    return changed > live && changed <= version
  })
  if (changes.length === 0 || !changes.every(isLater)) return policy
  return { ...policy, live_revision: policy.deleted_at === null ? version : null }
}

/** The deletion of a policy is a version, but not a revision. */
function versionOf(kind: BoundKind, { version, revisions, deleted_at }: Form): number | null {
  if (kind !== 'policy') return typeof version === 'number' ? version : null
  const last = Math.max(0, ...Object.keys((revisions ?? {}) as Form).map(Number))
  return deleted_at === null ? last : last + 1
}

function inLog(kind: BoundKind, entries: readonly AuditEntry[], stored: Form): Form | null {
  switch (kind) {
    case 'decision':
      return decisionInLog(entries, (stored.evaluated_at ?? null) as string | null)
    case 'policy':
      return policyInLog(entries)
    case 'agent':
      // An agent that only asked for decisions has no entry.
      return agentInLog(entries) ?? (stored.version === 0 ? { ...UNWRITTEN_AGENT, registrations: {} } : null)
    case 'key':
      return keyInLog(entries)
    case 'webhook':
      return webhookInLog(entries)
  }
}

/** Whether the entries left no record: an unknown agent was resumed, or a webhook was deleted. */
function isNothing(kind: BoundKind, entries: readonly AuditEntry[]): boolean {
  if (kind === 'webhook') return entries.at(-1)?.type === 'webhook.deleted'
  return kind === 'agent' && entries.every(({ type, data }) => type === 'agent.resumed' && (data.version ?? 0) === 0)
}
