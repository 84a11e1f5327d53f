import type { CountersignClient } from '../countersign-client.js'
import { checkTimeout } from '../options.js'
import type { OpenTransport } from '../transport.js'
import type { Rule } from '../wire.js'
import type { GuardRequest } from './asked.js'
import { endsWithin } from './ends-within.js'
import { assertOptions } from './enforcement-options.js'
import { FAULTS, faultyTransport, Hearing } from './faulty-transports.js'

/** A harmless action behind the guard that is tried out. */
export interface GuardCanary {
  /**
   * Calls the guarded action once, wired with this client in place of your own. How it ends does not matter; what counts is
   * whether the action ran.
   */
  attempt(client: CountersignClient): unknown
  /** How often the action itself has run so far. */
  runs(): number
  /** What the guard asks about, where `admin` is to make a policy for it. */
  readonly asked?: (Pick<GuardRequest, 'action' | 'resource'> & { readonly agent_id: string }) | undefined
}

/** How the decision point is gone. */
export type FaultName = 'unreachable' | 'hanging' | 'error' | 'garbage' | 'unknown_effect' | 'other_agent'

/**
 * - `allowed`: the action runs, once, when it is allowed; else nothing that follows would mean anything;
 * - `denied`, `review`: it does not run when it is denied, or awaits a review;
 * - `unreachable`, `hanging`, `error`, `garbage`, `unknown_effect`, `other_agent`: the one that is allowed does not run when
 *   the decision point cannot be reached, never answers, answers 500, no decision, one of an effect that does not exist, or
 *   one about another agent; and its caller is told in time.
 */
export type GuardCheckName = 'allowed' | 'denied' | 'review' | FaultName

export interface VerifyGuardOptions {
  /** A client of your decision point, as your guard has one. */
  readonly client: CountersignClient
  readonly allowed: GuardCanary
  readonly denied?: GuardCanary | undefined
  readonly review?: GuardCanary | undefined
  /**
   * Makes a policy that allows, denies and has reviewed what the canaries ask about, for their agents alone, and deletes it
   * afterwards. Needs `policies:write`. Without it your own policies have to say so. Use agents that nothing else asks for.
   */
  readonly admin?: CountersignClient | undefined
  /** What has to pass. Default: every check. One that fails counts in any case. */
  readonly required?: readonly GuardCheckName[] | undefined
  /** For each attempt, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined
}

export interface GuardCheck {
  readonly name: GuardCheckName
  /** `not_applicable`: it was not tried, or what happened says nothing. Never a pass. */
  readonly outcome: 'pass' | 'fail' | 'not_applicable'
  /** One sentence. */
  readonly detail: string
}

export interface GuardVerification {
  /** True only when every required check passed and none failed. */
  readonly ok: boolean
  readonly checks: readonly GuardCheck[]
}

/** What became of one attempt. */
interface Attempted {
  readonly runs: number
  readonly isInTime: boolean
  readonly hearing: Hearing
}

const FAULT_NAMES = Object.keys(FAULTS) as FaultName[]
const CHECK_NAMES: readonly GuardCheckName[] = ['allowed', 'denied', 'review', ...FAULT_NAMES]
const TIMEOUT_MS = 10_000
/** A person is not waited for. */
const REVIEW_MS = 1_000
/** How long a faulty decision point is waited for, unless the guard has a limit of its own. */
const FAULT_TIMEOUT_MS = 500
/** What a guard started without waiting for its answer shows within this time. */
const LINGER_MS = 25
/** For what is told that its client was closed. */
const CLOSED_MS = 250
/** Within which a new policy counts in every replica. */
const POLICY_MS = 3_000
const POLICY_PAUSE_MS = 250

/**
 * Tries out a guard on your own set-up: whether what is denied, awaits a review, or has no decision point to answer for it is
 * really stopped. For a test, or at the start of a program.
 *
 * The canaries ask your decision point: decisions are recorded, and one is confirmed.
 *
 * @throws TypeError for faulty options
 * @throws ApiError, UnavailableError when `admin` could not make or delete its policy
 *
 * @example
 * let runs = 0
 * const canary = (action) => ({ attempt: (client) => client.guard({ action }, () => { runs += 1 }), runs: () => runs })
 * const { ok, checks } = await verifyGuard({ client, allowed: canary('canary.allow'), denied: canary('canary.deny'), review: canary('canary.review') })
 *
 * Source: docs/enforcement.md "Verify your guard".
 */
export async function verifyGuard(options: VerifyGuardOptions): Promise<GuardVerification> {
  assertOptions('verifyGuard', options, ['client', 'allowed', 'denied', 'review', 'admin', 'required', 'timeoutMs'])
  const required = readRequired(options.required)
  const verification = new Verification(options)
  const checks = await verification.withPolicy(() => verification.run())
  const passed = checks.filter(({ outcome }) => outcome === 'pass').map(({ name }) => name)
  const ok = required.every((name) => passed.includes(name)) && checks.every(({ outcome }) => outcome !== 'fail')
  return { ok, checks }
}

class Verification {
  readonly #options: VerifyGuardOptions
  readonly #timeoutMs: number

  constructor(options: VerifyGuardOptions) {
    this.#options = options
    this.#timeoutMs = checkTimeout('timeoutMs', options.timeoutMs ?? TIMEOUT_MS)
    for (const name of ['allowed', 'denied', 'review'] as const) assertCanary(name, options)
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

  async withPolicy<Result>(work: () => Promise<Result>): Promise<Result> {
    const { admin, allowed, denied, review } = this.#options
    if (admin === undefined) return work()
    const rules = [ruleFor('allow', allowed), ruleFor('deny', denied), ruleFor('review', review)].filter(
      (rule) => rule !== undefined,
    )
    if (rules.length === 0) throw new TypeError('admin needs what a canary asks about, in its member asked')
    const { id } = await admin.policies.create({
      name: `Canaries of a guard (${crypto.randomUUID()})`,
      priority: 1_000_000,
      rules,
    })
    try {
      return await work()
    } finally {
      await admin.policies.delete(id)
    }
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

  /** Nothing was answered that the check is about. */
  #unheard(name: GuardCheckName, runs: number, { askCount, decisions }: Hearing): GuardCheck {
    const answers = decisions.map(({ effect, status }) => `${effect} (${status})`).join(', ')
    if (runs > 0 && decisions.every(({ status }) => status !== 'authorized'))
      return fail(name, `it ran, and the answer was ${answers || 'none'}`)
    if (askCount === 0) return notApplicable(name, 'it did not ask the client that it was given')
    return notApplicable(name, `the decision point answered ${answers || 'nothing'}`)
  }

  /** One attempt at your decision point; more where a policy has just been made. */
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
    await client.flush({ timeoutMs: limitMs })
    client.close()
    // What still waits is told that the client was closed, which is no permission either.
    await endsWithin(CLOSED_MS, attempt)
    await pause(LINGER_MS)
    await this.#withdraw(hearing)
    return { runs: runsOf(canary) - before, isInTime, hearing }
  }

  /** Nobody should have to review a canary. */
  async #withdraw({ decisions }: Hearing): Promise<void> {
    const waiting = decisions.filter(({ status }) => status === 'awaiting_review')
    const withdrawals = waiting.map(({ id }) => this.#options.client.decisions.reject(id, { reason: 'a canary' }))
    await Promise.allSettled(withdrawals)
  }
}

function readRequired(required: VerifyGuardOptions['required']): readonly GuardCheckName[] {
  if (required === undefined) return CHECK_NAMES
  if (Array.isArray(required) && required.length > 0 && required.every((name) => CHECK_NAMES.includes(name)))
    return required
  throw new TypeError(`required has to name one or more of ${CHECK_NAMES.join(', ')}`)
}

function assertCanary(name: 'allowed' | 'denied' | 'review', options: VerifyGuardOptions): void {
  const canary = options[name]
  if (canary === undefined && name !== 'allowed') return
  if (typeof canary?.attempt !== 'function' || typeof canary.runs !== 'function') {
    throw new TypeError(`${name} has to be a canary, with attempt and runs`)
  }
}

function runsOf(canary: GuardCanary): number {
  const runs = canary.runs()
  if (typeof runs === 'number' && runs >= 0) return runs
  throw new TypeError('runs has to say how often the action has run so far')
}

/** For the canary's own agent, action and resource, and for nothing that a pattern would take in with them. */
function ruleFor(effect: Rule['effect'], canary: GuardCanary | undefined): Rule | undefined {
  if (canary?.asked === undefined) return undefined
  const { agent_id, action, resource } = canary.asked
  return {
    action,
    effect,
    conditions: {
      agent_id: { $eq: agent_id },
      ...(typeof resource === 'string' ? { resource: { $eq: resource } } : {}),
    },
  }
}

function pass(name: GuardCheckName, detail: string): GuardCheck {
  return { name, outcome: 'pass', detail }
}

function fail(name: GuardCheckName, detail: string): GuardCheck {
  return { name, outcome: 'fail', detail }
}

function notApplicable(name: GuardCheckName, detail: string): GuardCheck {
  return { name, outcome: 'not_applicable', detail }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
