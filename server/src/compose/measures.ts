/** Measures the store for the metrics, beside the requests: a scrape only reads what was measured last. */
import { type FeedLag, measureFeedLag } from '../feed/lag.js'
import type { Metrics } from '../ports/metrics.js'
import { NearlyUsedBudgets } from '../use-cases/budgets/nearly-used.js'
import type { Core } from './live-state.js'

const EVERY_MS = 5000
/** A value that is older is not shown: the store has not answered since. */
const SHOWN_FOR_MS = 30_000

/** What one measurement has found, until that is too old. */
class Measurement<T> {
  #last: { readonly found: T; readonly atMs: number } | null = null

  constructor(private readonly measure: () => Promise<T>) {}

  readonly take = async (): Promise<void> => {
    const found = await this.measure()
    this.#last = { found, atMs: performance.now() }
  }

  get last(): T | null {
    return this.#last !== null && performance.now() - this.#last.atMs <= SHOWN_FOR_MS ? this.#last.found : null
  }
}

type MeasuredCore = Pick<Core, 'clock' | 'isServing' | 'keys' | 'measureEveryMs' | 'policies' | 'store'> & {
  readonly metrics: Pick<Metrics, 'watchSessions' | 'watchStore'>
}

export function measuringJob({ clock, isServing, keys, measureEveryMs, metrics, policies, store }: MeasuredCore) {
  const now = () => clock.now().toISOString()
  const budgets = new NearlyUsedBudgets({ clock, isServing, policies, store })
  const reviews = new Measurement(() => store.decisions.measureReviews(now()))
  const lag = new Measurement(() => measureFeedLag(store))
  const nearlyUsed = new Measurement(() => budgets.walk())

  const secondsSince = (time: string) => Math.max(0, clock.now().getTime() - Date.parse(time)) / 1000
  /** The age of what waits: it grows between two measurements. */
  const lagOf = (timeOf: (found: FeedLag) => string | null): number | null => {
    if (lag.last === null) return null
    const time = timeOf(lag.last)
    return time === null ? 0 : secondsSince(time)
  }
  metrics.watchSessions(() => keys.sessionCount(now()))
  metrics.watchStore({
    waitingReviews: () => reviews.last?.waiting ?? null,
    oldestReviewSeconds() {
      if (reviews.last === null) return null
      const { oldest_at } = reviews.last
      return oldest_at === null ? 0 : secondsSince(oldest_at)
    },
    nearlyUsedBudgets: () => nearlyUsed.last,
    webhookLagSeconds: () => lagOf(({ webhooks }) => webhooks),
    feedLagSeconds: (part) => lagOf(({ parts }) => parts[part]),
    checkpointAgeSeconds() {
      const at = lag.last?.checkpoint ?? null
      return at === null ? null : secondsSince(at)
    },
  })
  return {
    name: 'measure',
    everyMs: measureEveryMs ?? EVERY_MS,
    firstMs: 0,
    async run() {
      const taken = await Promise.allSettled([reviews, lag, nearlyUsed].map(({ take }) => take()))
      const failed = taken.find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
    },
    failure: 'the store could not be measured for the metrics',
  }
}
