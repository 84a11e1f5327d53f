import type { Moment } from '../../concurrency/moment.js'
import { type Finding, fine, problem } from './finding.js'

/** A difference up to this is normal: between replicas, and between a commit and this check. */
const TOLERANCE_MS = 2000
/** While NTP adjusts a clock, the difference stays below this in the seconds that the checks take. */
const JUMP_MS = 250

/** @param newestEntryAt milliseconds since 1970 of the newest audit entry, null without one */
export function checkClock(begin: Moment, end: Moment, newestEntryAt: number | null): Finding {
  const behindMs = newestEntryAt === null ? 0 : newestEntryAt - end.wallMs
  if (behindMs > TOLERANCE_MS)
    return problem(
      `The clock is ${Math.round(behindMs / 1000)} s behind the newest entry of the store.`,
      'set the clock (NTP). Otherwise decisions stay valid longer, and budgets count in a past period.',
    )
  const jumpMs = Math.abs(end.wallMs - begin.wallMs - (end.monotonicMs - begin.monotonicMs))
  if (jumpMs > JUMP_MS)
    return problem(
      `The clock jumped by ${Math.round(jumpMs)} ms just now.`,
      'configure NTP to slew the clock, not to step it.',
    )
  return fine(new Date(end.wallMs).toISOString())
}
