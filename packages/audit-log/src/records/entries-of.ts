import type { AuditEntry, AuditRecordKind } from '@countersign/contract'

const KINDS = ['decision', 'policy', 'agent', 'key', 'webhook'] as const

/** Returns the kind of record that an entry binds; null for an entry that binds none. */
export function recordKindOf({ type }: Pick<AuditEntry, 'type'>): Exclude<AuditRecordKind, 'account'> | null {
  if (type === 'request.erased') return 'decision'
  const [kind] = type.split('.')
  return KINDS.find((known) => known === kind) ?? null
}

/**
 * Returns the version of the record after an entry.
 *
 * @returns null in entries of older releases, and for a `decision` entry without a version
 */
export function recordVersionOf({ type, data }: Pick<AuditEntry, 'type' | 'data'>): number | null {
  const version = type.startsWith('policy.') ? data.revision : data.version
  return typeof version === 'number' ? version : null
}

/**
 * Sorts the entries of one record in the order of its changes. Entries of older releases, which have no version, come
 * first.
 */
export function inOrderOfChanges(entries: readonly AuditEntry[]): AuditEntry[] {
  return entries.toSorted((one, other) => {
    const [first, second] = [recordVersionOf(one) ?? 0, recordVersionOf(other) ?? 0]
    if (first !== second) return first - second
    return one.at === other.at ? one.index - other.index : one.at < other.at ? -1 : 1
  })
}
