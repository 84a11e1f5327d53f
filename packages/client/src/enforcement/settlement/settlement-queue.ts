/** Sends settlements to the decision point: immediately if possible, else in the background. */
import { ApiError } from '../../errors/api-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import type { IdempotentCallOptions } from '../../options.js'
import type { Confirm, Decision, Reject } from '../../wire.js'
import { type AdmissionEvent, settledEvent } from '../enforcement-event.js'
import { endsWithin } from './ends-within.js'
import { whenProcessIsIdle } from './process-exit.js'
import type { Settlement, SettlementState } from './settlement.js'

/** The two calls that settling is made of. */
export interface SettlementCalls {
  confirm(id: string, confirmation: Confirm, options: IdempotentCallOptions): Promise<Decision>
  reject(id: string, rejection: Reject, options: IdempotentCallOptions): Promise<Decision>
}

/** What the queue needs of time and chance. */
export interface QueueClock {
  /** In [0, 1). */
  random(): number
  /** Milliseconds that never go back. */
  now(): number
}

/** One settlement, and whom to tell of it. */
export interface SettlementOrder {
  readonly decision_id: string
  readonly settlement: Exclude<Settlement, { settle: 'leave' }>
  /** Time limit of the first attempt, in milliseconds. */
  readonly timeoutMs: number
  report(event: AdmissionEvent): void
}

/** Why an attempt came to nothing, and whether a later one may fare better. */
interface Fault {
  readonly error: unknown
  readonly mayPass: boolean
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
/** Between two attempts while somebody waits for `flush`. */
const FLUSH_PAUSE_MS = 250
const ATTEMPT_TIMEOUT_MS = 5_000
const GIVE_UP_MS = 24 * 60 * 60 * 1000
/** How long a process that has nothing else to do goes on trying. */
const EXIT_MS = 5_000

export class SettlementQueue {
  readonly #calls: SettlementCalls
  readonly #clock: QueueClock
  /** Whichever was tried longest ago first. */
  readonly #queued = new Set<Queued>()
  /** First attempts, and what else has to be over before a flush is. */
  readonly #underWay = new Set<Promise<unknown>>()
  #isClosed = false
  #failures = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #forgetExit: (() => void) | undefined

  constructor(calls: SettlementCalls, clock: QueueClock) {
    this.#calls = calls
    this.#clock = clock
  }

  /** Never rejects. Resolves within the time limit of the order, settled, refused, queued or dropped. */
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

  /** Work that `flush` and the end of the process have to wait for, in addition to settlements. It has to end by itself. */
  track<Result>(work: Promise<Result>): Promise<Result> {
    const end = (): void => void this.#underWay.delete(work)
    this.#underWay.add(work)
    work.then(end, end)
    return work
  }

  /** Retries everything in the queue until the time (in milliseconds) has passed. Resolves with the number that remains. */
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

  /** Drops what is queued. */
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
    if (!fault.mayPass) return 'refused'
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

  /** One attempt. The fault is undefined when the decision point knows; one that no later attempt would better is told. */
  async #attempt(order: Queued, timeoutMs: number): Promise<Fault | undefined> {
    const { decision_id, settlement, idempotencyKey } = order
    const options = { timeoutMs, idempotencyKey }
    try {
      if (settlement.settle === 'confirm') {
        const { amount, note } = settlement
        await this.#calls.confirm(decision_id, { amount, note }, options)
      } else {
        await this.#calls.reject(decision_id, { reason: settlement.reason }, options)
      }
    } catch (error) {
      const fault = { error, mayPass: mayPass(error) }
      if (!fault.mayPass) this.#reportFailed(order, error, false)
      return fault
    }
    order.report(settledEvent(decision_id, settlement))
    return undefined
  }

  /** Tries each that is queued once, some at a time, unless the decision point is away; false when none was taken. */
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

  async #retry(order: Queued, timeoutMs: number): Promise<Fault | undefined> {
    if (order.isInProgress || !this.#queued.has(order)) return undefined
    order.isInProgress = true
    const fault = await this.#attempt(order, Math.min(ATTEMPT_TIMEOUT_MS, timeoutMs))
    order.isInProgress = false
    if (!fault?.mayPass) this.#remove(order)
    else if (this.#clock.now() - order.sinceMs > GIVE_UP_MS) this.#drop(order, 'gave_up')
    else this.#moveToEnd(order)
    return fault
  }

  /** One that is refused again and again holds up no other. */
  #moveToEnd(order: Queued): void {
    if (this.#queued.delete(order)) this.#queued.add(order)
  }

  /** The timer holds no process: what it would do is done when the process has nothing else to do. */
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

  /** False when it was gone before. */
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

/** Whether no settlement would be taken now, whichever it is. */
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

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
