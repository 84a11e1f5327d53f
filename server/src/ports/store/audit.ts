import type { AuditEntry } from '@countersign/contract'
import type { Page, PageRequest } from './page.js'

export interface AuditFilter {
  readonly type?: string
  readonly agent_id?: string
  readonly subject?: string
  readonly from?: string
  readonly to?: string
}

/** The position of an entry in the audit log. */
export interface LogPosition {
  readonly log: string
  readonly index: number
}

/** A log, and the index after its last entry. */
export interface LogEnd {
  readonly log: string
  readonly next_index: number
}

/** The audit logs, which `commit` writes. */
export interface AuditStore {
  /**
   * Reads the entries of a log from this index on: in the order of their index, without a gap, at most `limit`.
   * - The first is the one at `fromIndex`. An empty result means that no entry is durable there, or that the log is
   *   unknown.
   * - There may be fewer than `limit`. The result ends before the entry that would exceed `maxBytes` (as in
   *   `PageRequest`), but never before the first; and before an index that is not durable yet, even if a later one is.
   * - An entry never changes. So a reader that continues at the last index + 1 gets each entry exactly once.
   */
  read(log: string, fromIndex: number, limit: number, maxBytes?: number): Promise<readonly AuditEntry[]>
  /** Whether an entry has this position; called for positions that a resolved `commit` has filled. */
  has(position: LogPosition): Promise<boolean>
  /** Lists the entries of all logs. */
  list(filter: AuditFilter, page: PageRequest): Promise<Page<AuditEntry>>
  /** Lists every log with an entry, in the order of the names. */
  listLogs(): Promise<readonly LogEnd[]>
}
