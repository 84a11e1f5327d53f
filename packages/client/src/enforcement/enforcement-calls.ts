import type { AuthorizeRequest } from '../options.js'
import type { Decisions } from '../resources/decisions.js'
import type { Permits } from '../resources/permits.js'
import type { Decision } from '../wire.js'
import type { AdmittedDecisions } from './asking/admitted-decisions.js'
import type { EnforcementEvent } from './reporting/enforcement-event.js'
import type { LeftReviews } from './reviews/left-reviews.js'
import type { RunContext } from './running/run-context.js'
import type { SharedDecision } from './running/shared-decision.js'
import type { SettlementQueue } from './settling/settlement-queue.js'

/** For draining the queue of settlements. */
export interface FlushOptions {
  /** In milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined
}

/** What every enforcement point of a client needs from it: one object for each client. */
export interface EnforcementCalls {
  /** The agent of a question. @throws TypeError for an agent other than the client's, and for none */
  agentOf(agent_id: string | undefined): string
  /**
   * @param lateMs how long a late answer is still accepted, in milliseconds
   * @param requestId names the call; default: none
   */
  authorize(request: AuthorizeRequest, lateMs: number, requestId: string | undefined): Promise<Decision>
  flush(options?: FlushOptions): Promise<number>
  /** Time limit of a call, in milliseconds. */
  readonly timeoutMs: number
  readonly decisions: Decisions
  readonly permits: Permits
  readonly admitted: AdmittedDecisions
  readonly leftReviews: LeftReviews
  readonly settlements: SettlementQueue
  readonly runContext: RunContext<SharedDecision>
  /** Gets the events of a point without `onEvent`. */
  readonly unheard: (event: EnforcementEvent, now: () => number) => void
}
