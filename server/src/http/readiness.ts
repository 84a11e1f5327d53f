import { withDeadline } from '../concurrency/with-deadline.js'
import type { StoreClock } from '../ports/clock.js'
import type { Log } from '../ports/log.js'
import type { Store } from '../ports/store/store.js'
import type { Freshness } from '../state/freshness.js'

export interface ReadinessDeps {
  readonly log: Log
  readonly clock: Pick<StoreClock, 'jump'>
  readonly store: Pick<Store, 'ping'>
  /** False once the server shuts down. */
  readonly isServing: () => boolean
  readonly freshness: Pick<Freshness, 'isFresh'>
  /** False while verifiers may not have this server's signing key yet. */
  readonly isSignerKnown: () => boolean
}

const PING_DEADLINE_MS = 1000
const PING_AGE_MS = 1000

/** Returns a function that says within a second why the server is not ready; null when it is. */
export function readinessCheck(deps: ReadinessDeps): () => Promise<string | null> {
  const { isServing, freshness, isSignerKnown, clock } = deps
  const storeProblemNow = sharedPing(() => storeProblem(deps))
  return async () => {
    const ofStore = isServing() ? await storeProblemNow() : 'shutting down'
    const ofMemory = freshness.isFresh ? null : 'policies, API keys and suspensions could not be refreshed'
    const ofSigner = isSignerKnown() ? null : 'some verifiers may not know the signing key of this server yet'
    return ofStore ?? ofMemory ?? ofSigner ?? clockProblem(clock)
  }
}

/** One ping of the store answers all requests within a second, because its readers have no key and no rate limit. */
function sharedPing(ping: () => Promise<string | null>): () => Promise<string | null> {
  let last: { readonly at: number; readonly answer: Promise<string | null> } | null = null
  return () => {
    const now = performance.now()
    if (last === null || now - last.at >= PING_AGE_MS) last = { at: now, answer: ping() }
    return last.answer
  }
}

function clockProblem(clock: ReadinessDeps['clock']): string | null {
  const jump = clock.jump()
  if (jump === null) return null
  const seconds = Math.round(jump.aheadMs / 1000)
  const what = `the system clock jumped ahead by ${seconds} s; the server follows it from ${jump.believedAt.toISOString()}`
  return `${what}: set the clock, or run "countersign clock confirm"`
}

async function storeProblem({ store, log }: ReadinessDeps): Promise<string | null> {
  try {
    await withDeadline(store.ping(), PING_DEADLINE_MS, () => new Error('The store did not answer in time.'))
    return null
  } catch (err) {
    log.warn({ err }, 'not ready: the store does not answer')
    return 'the store does not answer'
  }
}
