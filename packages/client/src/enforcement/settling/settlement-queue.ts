/** Sends settlements to the decision point: immediately if possible, else in the background. */
import { ApiError } from '../../errors/api-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import type { Decisions } from '../../resources/decisions.js'
import { endsWithin, pause } from '../asking/giving-up.js'
import { type AdmissionEvent, settledEvent } from '../reporting/enforcement-event.js'
import type { Settlement, SettlementState } from './settlement.js'

/** The time and the random numbers of the queue. */
export interface QueueClock {
  /** In [0, 1). */
  random(): number
  /** Monotonic, in milliseconds. */
  now(): number
}

/** One settlement, and where to report it. */
export interface SettlementOrder {
  readonly decision_id: string
  readonly settlement: Exclude<Settlement, { settle: 'leave' }>
  /** Time limit of the first attempt, in milliseconds. */
  readonly timeoutMs: number
  report(event: AdmissionEvent): void
}

type DropReason = 'queue_full' | 'gave_up' | 'exit' | 'closed'

interface Queued extends SettlementOrder {
  /** The same on each attempt. */
  readonly idempotencyKey: string
  readonly sinceMs: number
  isInProgress: boolean
}

const MAX_QUEUED = 1_000
const AT_ONCE = 8
const BASE_MS = 1_000
const CAP_MS = 60_000
/** The time between two attempts while a caller waits for `flush`. */
const FLUSH_PAUSE_MS = 250
const ATTEMPT_TIMEOUT_MS = 5_000
const GIVE_UP_MS = 24 * 60 * 60 * 1000
/** How long a process that has nothing else to do keeps trying. */
const EXIT_MS = 5_000

export class SettlementQueue {
  readonly #decisions: Pick<Decisions, 'confirm' | 'reject'>
  readonly #clock: QueueClock
  /** In the order of their last attempts. */
  readonly #queued = new Set<Queued>()
  /** First attempts, and other work that a flush waits for. */
  readonly #underWay = new Set<Promise<unknown>>()
  #isClosed = false
  #failures = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #forgetExit: (() => void) | undefined

  constructor(decisions: Pick<Decisions, 'confirm' | 'reject'>, clock: QueueClock) {
    this.#decisions = decisions
    this.#clock = clock
  }

  /** Never rejects. Resolves within the time limit of the order: `settled`, `refused`, `queued` or `dropped`. */
  settle(order: SettlementOrder): Promise<SettlementState> {
    return this.track(
      this.#settleFirst({
        ...order,
        idempotencyKey: crypto.randomUUID(),
        sinceMs: this.#clock.now(),
        isInProgress: false,
      }),
    )
  }

  /** Adds work that `flush` and the end of the process must wait for, in addition to settlements. The work must end by itself. */
  track<Result>(work: Promise<Result>): Promise<Result> {
    const end = (): void => void this.#underWay.delete(work)
    this.#underWay.add(work)
    work.then(end, end)
    return work
  }

  /** Retries everything in the queue until the time in milliseconds has passed. Resolves with the number that remain. */
  async flush(timeoutMs: number): Promise<number> {
    const deadline = this.#clock.now() + timeoutMs
    while (this.#openCount() > 0) {
      const remainingMs = deadline - this.#clock.now()
      if (remainingMs <= 0) break
      await endsWithin(remainingMs, Promise.all([...this.#underWay, this.#sendAll(remainingMs)]))
      if (this.#queued.size > 0) await pause(Math.min(FLUSH_PAUSE_MS, deadline - this.#clock.now()))
    }
    return this.#openCount()
  }

  /** Drops everything in the queue. */
  close(): void {
    this.#isClosed = true
    this.#dropAll('closed')
  }

  #openCount(): number {
    return this.#queued.size + this.#underWay.size
  }

  async #settleFirst(order: Queued): Promise<SettlementState> {
    const fault = await this.#attempt(order, order.timeoutMs)
    if (fault === undefined) return 'settled'
    if (!mayPass(fault.error)) return 'refused'
    if (this.#isClosed) {
      this.#reportDropped(order, 'closed')
      return 'dropped'
    }
    this.#reportFailed(order, fault.error, true)
    this.#enqueue(order)
    return 'queued'
  }

  #enqueue(order: Queued): void {
    if (this.#queued.size >= MAX_QUEUED) this.#drop(oldestOf(this.#queued), 'queue_full')
    this.#queued.add(order)
    this.#forgetExit ??= whenProcessIsIdle(() => this.#flushAtExit())
    this.#schedule()
  }

  /** One attempt. Undefined if it succeeded. An error that would stay in later attempts is reported. */
  async #attempt(order: Queued, timeoutMs: number): Promise<{ readonly error: unknown } | undefined> {
    const { decision_id, settlement, idempotencyKey } = order
    const options = { timeoutMs, idempotencyKey }
    try {
      if (settlement.settle === 'confirm') {
        const { amount, note } = settlement
        await this.#decisions.confirm(decision_id, { amount, note }, options)
      } else {
        await this.#decisions.reject(decision_id, { reason: settlement.reason }, options)
      }
    } catch (error) {
      if (!mayPass(error)) this.#reportFailed(order, error, false)
      return { error }
    }
    order.report(settledEvent(decision_id, settlement))
    return undefined
  }

  /** Tries each order once, several at a time, until the decision point takes none. False if it took none at all. */
  async #sendAll(timeoutMs: number): Promise<boolean> {
    const waiting = [...this.#queued]
    const before = this.#queued.size
    let isAway = false
    const send = async (): Promise<void> => {
      for (let order = waiting.shift(); order !== undefined && !isAway; order = waiting.shift()) {
        const fault = await this.#retry(order, timeoutMs)
        isAway ||= fault !== undefined && takesNone(fault.error)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, send))
    return this.#queued.size < before
  }

  async #retry(order: Queued, timeoutMs: number): Promise<{ readonly error: unknown } | undefined> {
    if (order.isInProgress || !this.#queued.has(order)) return undefined
    order.isInProgress = true
    const fault = await this.#attempt(order, Math.min(ATTEMPT_TIMEOUT_MS, timeoutMs))
    order.isInProgress = false
    if (fault === undefined || !mayPass(fault.error)) this.#remove(order)
    else if (this.#clock.now() - order.sinceMs > GIVE_UP_MS) this.#drop(order, 'gave_up')
    else this.#moveToEnd(order)
    return fault
  }

  /** An order that fails again and again delays no other. */
  #moveToEnd(order: Queued): void {
    if (this.#queued.delete(order)) this.#queued.add(order)
  }

  /** The timer does not keep the process alive: a process with nothing else to do flushes before it ends. */
  #schedule(): void {
    if (this.#timer !== undefined || this.#queued.size === 0) return
    const delayMs = Math.min(CAP_MS, BASE_MS * 2 ** this.#failures) * (0.5 + this.#clock.random() / 2)
    this.#timer = setTimeout(() => void this.#sendInBackground(), delayMs)
    ;(this.#timer as { unref?: () => void }).unref?.()
  }

  async #sendInBackground(): Promise<void> {
    this.#timer = undefined
    const isReported = await this.#sendAll(ATTEMPT_TIMEOUT_MS)
    this.#failures = isReported ? 0 : this.#failures + 1
    this.#schedule()
  }

  async #flushAtExit(): Promise<void> {
    await this.flush(EXIT_MS)
    this.#dropAll('exit')
  }

  #dropAll(why: 'closed' | 'exit'): void {
    for (const order of [...this.#queued]) this.#drop(order, why)
  }

  #drop(order: Queued, why: DropReason): void {
    if (this.#remove(order)) this.#reportDropped(order, why)
  }

  #reportDropped({ decision_id, settlement, report }: Queued, why: DropReason): void {
    report({ type: 'settlement_dropped', decision_id, settlement, why })
  }

  #reportFailed({ decision_id, settlement, report }: Queued, error: unknown, willRetry: boolean): void {
    report({ type: 'settlement_failed', decision_id, settlement, error, willRetry })
  }

  /** False if it was not in the queue. */
  #remove(order: Queued): boolean {
    const wasThere = this.#queued.delete(order)
    if (this.#queued.size === 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#failures = 0
      this.#forgetExit?.()
      this.#forgetExit = undefined
    }
    return wasThere
  }
}

/** Whether the decision point takes no settlement at all now. */
function takesNone(error: unknown): boolean {
  return UnavailableError.isInstance(error) || (ApiError.isInstance(error) && error.status === 429)
}

function oldestOf(orders: Iterable<Queued>): Queued {
  return [...orders].reduce((oldest, order) => (order.sinceMs < oldest.sinceMs ? order : oldest))
}

/** Whether the same settlement may be taken later. */
function mayPass(error: unknown): boolean {
  if (UnavailableError.isInstance(error)) return true
  return ApiError.isInstance(error) && (error.status >= 500 || error.status === 429)
}

/**
 * On runtimes like Node: runs `work` when the process has nothing else to do and would end. It ends after that, even if the
 * work fails. Not called by `process.exit()` or a signal. Returns a function that undoes it.
 */
function whenProcessIsIdle(work: () => Promise<void>): () => void {
  type On = (event: 'beforeExit', listener: () => void) => void
  const here = globalThis.process as unknown as { readonly on?: On; readonly off?: On } | undefined
  if (typeof here?.on !== 'function' || typeof here.off !== 'function') return () => undefined
  const listener = (): void => void work()
  here.on('beforeExit', listener)
  return () => here.off?.('beforeExit', listener)
}
