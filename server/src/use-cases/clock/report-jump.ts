import type { StoreClock } from '../../ports/clock.js'
import type { Log } from '../../ports/log.js'

/** @returns a function to call at every poll: it logs each jump of the system clock once, and its end once */
export function clockJumpReporter(clock: StoreClock, log: Log): () => void {
  let reportedAheadMs: number | null = null
  return () => {
    const jump = clock.jump()
    const aheadMs = jump?.aheadMs ?? null
    if (aheadMs === reportedAheadMs) return
    reportedAheadMs = aheadMs
    if (jump === null) return log.warn({ now: clock.now().toISOString() }, 'the server follows the system clock again')
    const ahead = { ahead_seconds: Math.round(jump.aheadMs / 1000) }
    const times = { system_clock: jump.systemTime.toISOString(), believed_at: jump.believedAt.toISOString() }
    log.error(
      { ...ahead, ...times },
      'the system clock jumped ahead, and the server does not follow it: set the clock, or run: countersign clock confirm',
    )
  }
}
