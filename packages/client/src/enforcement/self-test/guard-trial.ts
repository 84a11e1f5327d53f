import type { OpenTransport } from '../../transport.js'
import { endsWithin, pause } from '../asking/giving-up.js'
import { FAULTS, faultyTransport, Hearing } from './faulty-transports.js'
import type { FaultName, GuardCanary, GuardCheck, GuardCheckName, VerifyGuardOptions } from './guard-check.js'

/** The result of one attempt. */
interface Attempted {
  readonly runs: number
  readonly isInTime: boolean
  readonly hearing: Hearing
}

export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[]
/** Too short for a person to answer. */
const REVIEW_MS = 1_000
/** The time limit for a faulty decision point, unless the guard sets another one. */
const FAULT_TIMEOUT_MS = 500
/** The time in which an action shows that the guard started without waiting for an answer. */
const LINGER_MS = 25
/** The time for calls to learn that their client was closed. */
const CLOSED_MS = 250
/** The time until a new policy counts in every replica. */
const POLICY_MS = 3_000
const POLICY_PAUSE_MS = 250

/** Tries the canaries one after another. */
export class GuardTrial {
  readonly #options: VerifyGuardOptions
  readonly #timeoutMs: number

  constructor(options: VerifyGuardOptions, timeoutMs: number) {
    this.#options = options
    this.#timeoutMs = timeoutMs
  }

  async run(): Promise<GuardCheck[]> {
    const { allowed, denied, review } = this.#options
    const checks = [
      await this.#allowed(allowed),
      await this.#stopped('denied', denied),
      await this.#stopped('review', review),
    ]
    const isAllowedToRun = checks[0]?.outcome === 'pass'
    for (const name of FAULT_NAMES) {
      const check = await this.#gone(name, allowed)
      const meansNothing = check.outcome === 'pass' && !isAllowedToRun
      checks.push(meansNothing ? notApplicable(name, 'it does not run when it is allowed either') : check)
    }
    return checks
  }

  async #allowed(canary: GuardCanary): Promise<GuardCheck> {
    const { runs, isInTime, hearing } = await this.#ask(canary, (one) => one.status === 'authorized', this.#timeoutMs)
    const isAllowed = hearing.decisions.some(({ status }) => status === 'authorized')
    if (!isAllowed) return this.#unheard('allowed', runs, hearing)
    if (runs !== 1) return fail('allowed', `it was allowed and ran ${runs} times`)
    return isInTime
      ? pass('allowed', 'it was allowed and ran once')
      : fail('allowed', 'it ran, and its caller had no answer in time')
  }

  async #stopped(name: 'denied' | 'review', canary: GuardCanary | undefined): Promise<GuardCheck> {
    if (canary === undefined) return notApplicable(name, 'there is no canary for it')
    const isReview = name === 'review'
    const wanted = isReview ? 'awaiting_review' : 'denied'
    const limitMs = isReview ? Math.min(REVIEW_MS, this.#timeoutMs) : this.#timeoutMs
    const { runs, isInTime, hearing } = await this.#ask(canary, ({ status }) => status === wanted, limitMs)
    const [first] = hearing.decisions
    const isSo = first !== undefined && hearing.decisions.every(({ status }) => status === wanted)
    if (!isSo) return this.#unheard(name, runs, hearing)
    const what = isReview ? 'it awaits a review' : 'it was denied'
    if (runs > 0) return fail(name, `${what}, and ran`)
    return isInTime || isReview
      ? pass(name, `${what}, and did not run`)
      : fail(name, `${what}, and its caller had no answer in time`)
  }

  async #gone(name: FaultName, canary: GuardCanary): Promise<GuardCheck> {
    const { runs, isInTime, hearing } = await this.#attempt(canary, faultyTransport(name), this.#timeoutMs)
    if (runs > 0) return fail(name, 'it ran without a decision')
    if (hearing.askCount === 0) return notApplicable(name, 'it did not ask the client that it was given')
    return isInTime ? pass(name, 'it did not run') : fail(name, 'it did not run, and its caller had no answer in time')
  }

  /** The answers were not those that the check needs. */
  #unheard(name: GuardCheckName, runs: number, { askCount, decisions }: Hearing): GuardCheck {
    const answers = decisions.map(({ effect, status }) => `${effect} (${status})`).join(', ')
    if (runs > 0 && decisions.every(({ status }) => status !== 'authorized'))
      return fail(name, `it ran, and the answer was ${answers || 'none'}`)
    if (askCount === 0) return notApplicable(name, 'it did not ask the client that it was given')
    return notApplicable(name, `the decision point answered ${answers || 'nothing'}`)
  }

  /** One attempt at your decision point; more after a policy was created. */
  async #ask(
    canary: GuardCanary,
    isMeant: (decision: Hearing['decisions'][number]) => boolean,
    limitMs: number,
  ): Promise<Attempted> {
    for (let leftMs = this.#options.admin ? POLICY_MS : 0; ; leftMs -= POLICY_PAUSE_MS) {
      const attempted = await this.#attempt(canary, undefined, limitMs)
      const { runs, hearing } = attempted
      if (leftMs <= 0 || runs > 0 || hearing.decisions.some(isMeant)) return attempted
      await pause(POLICY_PAUSE_MS)
    }
  }

  async #attempt(canary: GuardCanary, faulty: OpenTransport | undefined, limitMs: number): Promise<Attempted> {
    const hearing = new Hearing()
    const change = faulty && { timeoutMs: FAULT_TIMEOUT_MS, maxRetries: 0 }
    const client = this.#options.client.over((own) => hearing.over(faulty ?? own), change)
    const before = runsOf(canary)
    const attempt = (async () => canary.attempt(client))()
    const isInTime = await endsWithin(limitMs, attempt)
    // A faulty decision point takes no settlements.
    if (faulty === undefined) await client.flush({ timeoutMs: limitMs })
    client.close()
    // Calls that still wait fail because the client was closed, which permits nothing either.
    await endsWithin(CLOSED_MS, attempt)
    await pause(LINGER_MS)
    await this.#withdraw(hearing)
    return { runs: runsOf(canary) - before, isInTime, hearing }
  }

  /** Withdraws reviews, because no person should review a canary. */
  async #withdraw({ decisions }: Hearing): Promise<void> {
    const waiting = decisions.filter(({ status }) => status === 'awaiting_review')
    const withdrawals = waiting.map(({ id }) => this.#options.client.decisions.reject(id, { reason: 'a canary' }))
    await Promise.allSettled(withdrawals)
  }
}

function runsOf(canary: GuardCanary): number {
  const runs = canary.runs()
  if (typeof runs === 'number' && runs >= 0) return runs
  throw new TypeError('runs must say how often the action has run so far')
}

const check = (outcome: GuardCheck['outcome']) => {
  return (name: GuardCheckName, detail: string): GuardCheck => ({ name, outcome, detail })
}
const [pass, fail, notApplicable] = [check('pass'), check('fail'), check('not_applicable')] as const
