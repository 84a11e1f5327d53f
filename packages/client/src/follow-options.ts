/** How a reader follows the audit log, and what it gets. */
import type { ApiError } from './errors/api-error.js'
import type { UnavailableError } from './errors/unavailable-error.js'
import type { CallSignal } from './options.js'
import type { AuditEntry, AuditType } from './wire.js'

/** Selects entries to follow. All filters must match; an absent one matches everything. */
export interface AuditFollowQuery {
  /** The `next_cursor` of any earlier page; or `now` for what comes from now on. Default: the oldest entry. */
  readonly after?: string | undefined
  /** The number of entries per page, 1 to 200. Default 50. */
  readonly limit?: number | undefined
  readonly type?: AuditType | undefined
  readonly agent_id?: string | undefined
  readonly decision_id?: string | undefined
  /** The id of the changed object: a decision, a policy, an agent, a key and so on. Not with `decision_id`. */
  readonly subject?: string | undefined
  /** At this time or later. */
  readonly from?: string | undefined
  /** Before this time. */
  readonly to?: string | undefined
}

/** Entries in the order of their log, and the cursor behind them. */
export interface FollowedPage {
  /** Empty when all entries up to the cursor were left out by the filters. */
  readonly data: readonly AuditEntry[]
  /** Keep it once the entries are handled, and give it as `after` to continue from there. */
  readonly next_cursor: string
}

/** How a log is followed. */
export interface FollowOptions {
  /** Ends the iteration. */
  readonly signal?: CallSignal | undefined
  /** Ends the iteration when all entries up to its start are read, instead of waiting for more. Default: false. */
  readonly untilEnd?: boolean | undefined
  /** Called with each fault that passes, before the next attempt. An error that it throws ends the iteration. */
  readonly onRetry?: ((fault: ApiError | UnavailableError) => void) | undefined
}
