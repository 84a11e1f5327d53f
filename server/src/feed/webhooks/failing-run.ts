/** Measures how long an endpoint has been failing. Pure. */

const DAY_MS = 86_400_000
/** An endpoint that fails for this long is disabled. */
const DISABLED_AFTER_MS = 5 * DAY_MS
/**
 * Longer than any delay between two attempts. Failures further apart do not prove that the endpoint failed all the
 * time.
 */
const INTERRUPTED_AFTER_MS = 2 * DAY_MS

/** Failed attempts without a success between them. */
export interface FailingRun {
  readonly since: string
  /** The time of the newest one. */
  readonly last: string
}

/** Returns the run with one more failure. Null: there was none before. */
export function failedAgain(run: FailingRun | null, at: string): FailingRun {
  const isNew = run === null || Date.parse(at) - Date.parse(run.last) > INTERRUPTED_AFTER_MS
  return { since: isNew ? at : run.since, last: at }
}

export function lengthMs({ since, last }: FailingRun): number {
  return Date.parse(last) - Date.parse(since)
}

/** Whether the endpoint must be disabled. */
export function isTooLong(run: FailingRun): boolean {
  return lengthMs(run) >= DISABLED_AFTER_MS
}
