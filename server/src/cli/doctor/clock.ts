import type { Moment } from '@countersign/concurrency'
import { type Finding, fine, problem } from './finding.js'

const SUBJECT = 'clock'

/** Between replicas, and between a commit and this look, so much is nothing. */
const TOLERANCE_MS = 2000
/** A clock that is being steered gains or loses less in the seconds that this takes. */
const JUMP_MS = 250

/** @param newestEntryAt milliseconds since 1970 of the newest audit entry, null without one */
export function checkClock(begin: Moment, end: Moment, newestEntryAt: number | null): Finding {
  const behindMs = newestEntryAt === null ? 0 : newestEntryAt - end.wallMs
  if (behindMs > TOLERANCE_MS)
    return problem(
      SUBJECT,
      `The clock is ${Math.round(behindMs / 1000)} s behind the newest entry of the store.`,
      'set the clock (NTP): decisions would live longer, and budgets count in a period that is over.',
    )
  const jumpMs = Math.abs(end.wallMs - begin.wallMs - (end.monotonicMs - begin.monotonicMs))
  if (jumpMs > JUMP_MS)
    return problem(SUBJECT, `The clock jumped by ${Math.round(jumpMs)} ms just now.`, 'let NTP steer it, not step it.')
  return fine(SUBJECT, new Date(end.wallMs).toISOString())
}
