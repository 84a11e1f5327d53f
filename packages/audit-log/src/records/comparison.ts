/** Compares a record with what the audit log says about it. */
import type { AuditEntry, AuditRecordKind, Json } from '@countersign/contract'
import { canonicalJson } from '@countersign/contract/canonical-json'

/**
 * The comparable members of a record. Undefined in the log: its entries come from an older release that did not record
 * the member.
 */
export type Form = { readonly [member: string]: Json | Form | undefined }

export type EntryPlace = Pick<AuditEntry, 'log' | 'index' | 'id'>

/** A member that differs between the log and the record. */
export interface RecordDifference {
  readonly kind: AuditRecordKind
  /** The id of the record. */
  readonly id: string
  /** Its path in the record, such as `outcome.amount`. Null: the record or its entry is missing. */
  readonly member: string | null
  /** Null when the log does not contain the member. */
  readonly logged: Json
  /** Null when the record lacks the member. With `later_entry`, it is the value in that entry. */
  readonly stored: Json
  /** The newest entry of the record; null when there is none. With `later_entry`, the entry before that one. */
  readonly entry: EntryPlace | null
  /**
   * An entry whose change may not follow `entry`, or may not change the member. Null: the record differs from the log.
   */
  readonly later_entry: LaterEntry | null
}

type LaterEntry = EntryPlace & Pick<AuditEntry, 'type'>

export interface Member {
  readonly path: string
  readonly logged: Json
  readonly stored: Json
}

export interface FormComparison {
  readonly differences: readonly Member[]
  /** Paths of members that no entry binds, because an older release wrote the entries. */
  readonly unbound: readonly string[]
}

/** Replaces values that a secret of a key was derived from. */
const NOT_SHOWN = '(not shown)'

/** Whether a member contains hashes of secrets or sessions, which are never shown. */
export function isSecret(kind: AuditRecordKind, member: string | null): boolean {
  return kind === 'key' && (member === 'secrets' || member === 'sessions')
}

export function withoutSecret(difference: RecordDifference): RecordDifference {
  const { kind, member } = difference
  return isSecret(kind, member) ? { ...difference, logged: NOT_SHOWN, stored: NOT_SHOWN } : difference
}

export function placeOf(entry: AuditEntry | undefined): EntryPlace | null {
  return entry === undefined ? null : { log: entry.log, index: entry.index, id: entry.id }
}

/** Compares the log with the record, member by member. */
export function compareForms(logged: Form, stored: Form): FormComparison {
  const differences: Member[] = []
  const unbound: string[] = []
  walk('', logged, stored)
  return { differences, unbound }

  function walk(path: string, log: Json | Form | undefined, record: Json | Form | undefined): void {
    if (log === undefined) {
      if (record !== undefined) unbound.push(path)
    } else if (isObject(log) && isObject(record)) {
      for (const name of new Set([...Object.keys(log), ...Object.keys(record)])) {
        const inner = path === '' ? name : `${path}.${name}`
        if (name in log) walk(inner, log[name], record[name])
        else if (record[name] !== undefined)
          differences.push({ path: inner, logged: null, stored: jsonOf(record[name]) })
      }
    } else if (record === undefined || canonicalJson(log) !== canonicalJson(record)) {
      differences.push({ path, logged: jsonOf(log), stored: jsonOf(record) })
    }
  }
}

function isObject(value: Json | Form | undefined): value is Form {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Removes undefined members. */
function jsonOf(value: Json | Form | undefined): Json {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as Json)
}
