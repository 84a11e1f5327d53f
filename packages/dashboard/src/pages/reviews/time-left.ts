const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Below this, the remaining time is shown as urgent. */
export const URGENT_MS = 10 * MINUTE

/** Writes `23 h 59 min left` or `42 min left`, with seconds when urgent: `9 min 05 s left`. */
export function timeLeftText(ms: number): string {
  if (ms <= 0) return 'Expired'
  if (ms >= HOUR) return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min left`
  if (ms >= URGENT_MS) return `${Math.floor(ms / MINUTE)} min left`
  const seconds = Math.floor((ms % MINUTE) / SECOND)
  return `${Math.floor(ms / MINUTE)} min ${String(seconds).padStart(2, '0')} s left`
}
