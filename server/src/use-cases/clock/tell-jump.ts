import type { StoreClock } from '../../ports/clock.js'
import type { Log } from '../../ports/log.js'

/** @returns to be called again and again: tells once of each jump of the system clock, and once of its end */
export function jumpTeller(clock: StoreClock, log: Log): () => void {
  let toldAheadMs: number | null = null
  return () => {
    const jump = clock.jump()
    const aheadMs = jump?.aheadMs ?? null
    if (aheadMs === toldAheadMs) return
    toldAheadMs = aheadMs
    if (jump === null) return log.warn({ now: clock.now().toISOString() }, 'the system clock is followed again')
    const ahead = { ahead_seconds: Math.round(jump.aheadMs / 1000) }
    const times = { system_clock: jump.systemTime.toISOString(), believed_at: jump.believedAt.toISOString() }
    log.error(
      { ...ahead, ...times },
      'the system clock jumped ahead and is not followed: set it right, or run: countersign clock confirm',
    )
  }
}
