/** The source of the records to check, and of the audit logs to compare them with. */
import type { AuditEntry, AuditRecord, AuditRecordKind } from '@countersign/contract'
import type { AuditSource } from '../audit-source.js'

/** By log, the index of the first entry that is not included. */
export type LogSizes = ReadonlyMap<string, number>

export interface RecordSource extends Pick<AuditSource, 'exportLines'> {
  /** Whether records can change while they are read. */
  readonly isLive: boolean
  /** Returns the present sizes of the logs: anything that is read later is at least as new. */
  readonly sizes: () => Promise<LogSizes>
  /** Returns all records of a kind; of policies the present revisions. */
  readonly records: (kind: AuditRecordKind) => AsyncIterable<AuditRecord>
  /** Returns the records of one id: of a policy all revisions, also after its deletion. */
  readonly recordsOf: (kind: AuditRecordKind, id: string) => AsyncIterable<AuditRecord>
  /** Returns the entries that an export lacks, because no checkpoint covered them when it began. */
  readonly uncovered: (covered: LogSizes) => AsyncIterable<AuditEntry>
  /** Returns all present entries of one record, unproved. */
  readonly entriesOf: (id: string) => AsyncIterable<AuditEntry>
}
