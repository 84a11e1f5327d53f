import type { CallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import type { AuditEntry, AuditType } from '../wire.js'

/** All filters have to fit; an absent one fits everything. */
export interface AuditQuery extends PageQuery {
  readonly type?: AuditType | undefined
  readonly agent_id?: string | undefined
  readonly decision_id?: string | undefined
  /** At this time or later. */
  readonly from?: string | undefined
  /** Before this time. */
  readonly to?: string | undefined
}

/** Source: docs/sdk.md "Methods". */
export class Audit {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /** Every decision, every transition of one, and every change, newest first. */
  list(query: AuditQuery = {}, options?: CallOptions): Pages<AuditEntry> {
    return pagesOf(this.#requester, '/v1/audit', { ...query }, options)
  }
}
