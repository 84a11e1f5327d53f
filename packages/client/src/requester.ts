/**
 * Sends a call, with its time limit, retries, key and headers. `answer.ts` interprets the answer; the transport is the
 * network.
 */
import { readAnswer } from './answer.js'
import { type Call, nameOf, queryString } from './call.js'
import type { CallNames } from './call-names.js'
import { UnavailableError } from './errors/unavailable-error.js'
import { type CallSignal, checkTimeout, type Settings } from './options.js'
import { isRetryableStatus, parseRetryAfter, retryDelayMs } from './retry.js'
import { traceHeaders } from './tracing/trace-headers.js'
import { AnswerTooLarge, type Transport, type TransportAnswer, type TransportRequest } from './transport.js'

/** The clock and randomness, which tests replace. */
export interface Chance {
  /** In [0, 1). */
  random(): number
  /** Milliseconds that never go back. */
  now(): number
  /** Resolves after the time; rejects with the signal's reason when that comes first. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>
}

/** Passed to work that runs until it is ended. */
export interface Lasting {
  /** Aborted by the caller's signal, or when the client is closed. */
  readonly signal: AbortSignal
  /** Resolves after the time; rejects with the signal's reason when that comes first. */
  pause(milliseconds: number): Promise<void>
}

/** Passed to work that runs within a time limit, which also aborts its signal. */
export interface Running extends Lasting {
  /** Milliseconds until the time limit. */
  remainingMs(): number
}

/** The limits of a run. */
export interface RunLimit {
  readonly timeoutMs: number
  /** How long after the time limit the run may still end by itself. Default: 0. */
  readonly lateMs?: number | undefined
  readonly signal: CallSignal | undefined
  /** Creates the rejection of a run that takes too long. */
  timeoutError(): UnavailableError
}

export class Requester {
  /** What the names of a call are sent as. */
  readonly names: CallNames
  readonly #settings: Settings
  readonly #transport: Transport
  readonly #chance: Chance
  readonly #underWay = new Set<AbortController>()
  #isClosed = false

  constructor(settings: Settings, transport: Transport, names: CallNames, chance: Chance = realChance) {
    this.#settings = settings
    this.#transport = transport
    this.names = names
    this.#chance = chance
  }

  /**
   * Returns the JSON object of the answer, unchecked; undefined for 204.
   *
   * @throws ApiError, UnavailableError, the signal's reason, or TypeError for invalid options
   */
  async send(call: Call): Promise<unknown> {
    const name = nameOf(call)
    return readAnswer(name, await this.run(call, (request, running) => this.#attempt(name, request, running)))
  }

  /** Ends every call in progress with an UnavailableError, and closes every connection. */
  close(): void {
    this.#isClosed = true
    for (const controller of this.#underWay) {
      controller.abort(new UnavailableError('connection', 'the client was closed during the call'))
    }
    this.#transport.close()
  }

  /**
   * Runs work of several calls within one time limit; its calls get the signal.
   *
   * @throws the limit's error, the caller's reason, UnavailableError when the client is closed, or the error of `run`
   */
  async within<Result>(limit: RunLimit, run: (running: Running) => Promise<Result>): Promise<Result> {
    const { controller, end } = this.begin(limit.signal)
    const { signal } = controller
    const { timeoutMs, lateMs = 0 } = limit
    const timer = setTimeout(() => controller.abort(limit.timeoutError()), timeoutMs + lateMs)
    const deadline = this.#chance.now() + timeoutMs
    try {
      signal.throwIfAborted()
      return await run({
        signal,
        remainingMs: () => deadline - this.#chance.now(),
        pause: (milliseconds) => this.#chance.wait(milliseconds, signal),
      })
    } finally {
      clearTimeout(timer)
      end()
    }
  }

  /** An unpredictable number in [0, 1). */
  random(): number {
    return this.#chance.random()
  }

  protected async run(
    call: Call,
    run: (request: TransportRequest, running: Running) => Promise<TransportAnswer>,
  ): Promise<TransportAnswer> {
    const ownMs = checkTimeout('timeoutMs', call.options?.timeoutMs ?? this.#settings.timeoutMs)
    const timeoutMs = ownMs + (call.extraTimeMs ?? 0)
    const request = this.requestOf(call)
    const limit = {
      timeoutMs,
      lateMs: call.lateMs,
      signal: call.options?.signal,
      timeoutError: () => new UnavailableError('timeout', `${nameOf(call)}: no answer within ${timeoutMs} ms`),
    }
    return this.within(limit, (running) => run({ ...request, signal: running.signal }, running))
  }

  protected requestOf(call: Call): Omit<TransportRequest, 'signal'> {
    const given = { ...traceHeaders(), ...this.#settings.headers, ...call.headers }
    const headers: Record<string, string> = { ...given, accept: 'application/json' }
    if (call.isAuthenticated !== false) headers.authorization = `Bearer ${this.#settings.apiKey}`
    if (call.body !== undefined) headers['content-type'] = 'application/json'
    if (call.idempotencyKey !== undefined) {
      const key = call.idempotencyKey
      headers['idempotency-key'] = key === true ? crypto.randomUUID() : this.names.idempotencyKeyOf(key)
    }
    return {
      method: call.method,
      url: this.#settings.baseUrl + call.path + queryString(call.query),
      headers,
      // Serialized once, so that every attempt sends the same bytes even if the caller changes its object.
      body: call.body === undefined ? undefined : toJson(call.body),
      isLongPoll: call.extraTimeMs !== undefined,
    }
  }

  /** Returns the first answer that a retry cannot improve, or the last one that time and `maxRetries` allow. */
  async #attempt(name: string, request: TransportRequest, running: Running): Promise<TransportAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.exchange(name, request)
      const isFault = outcome instanceof UnavailableError
      if (isFault ? outcome.kind !== 'connection' : !isRetryableStatus(outcome.status)) return resultOf(outcome)
      const retryAfterSeconds = isFault ? null : parseRetryAfter(outcome.header('retry-after'))
      const delayMs = retryDelayMs(attempt, retryAfterSeconds, this.#chance.random())
      const isOver = attempt > this.#settings.maxRetries || delayMs >= running.remainingMs()
      if (isOver) return resultOf(outcome)
      await running.pause(delayMs)
    }
  }

  /** Makes one attempt. Returns results that may be retried; throws what ends the call (time, abort, close). */
  protected async exchange(name: string, request: TransportRequest): Promise<TransportAnswer | UnavailableError> {
    try {
      return await this.#transport.send(request)
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason
      return faultOf(name, error)
    }
  }

  /** For work that ends with a signal of the caller, or when the client is closed. */
  protected begin(signal: CallSignal | undefined): { readonly controller: AbortController; readonly end: () => void } {
    if (this.#isClosed) throw new TypeError('the client is closed')
    const controller = new AbortController()
    const unfollow = followSignal(signal, controller)
    this.#underWay.add(controller)
    const end = (): void => {
      unfollow()
      this.#underWay.delete(controller)
    }
    return { controller, end }
  }
}

export function resultOf(outcome: TransportAnswer | UnavailableError): TransportAnswer {
  if (outcome instanceof UnavailableError) throw outcome
  return outcome
}

export function faultOf(name: string, error: unknown): UnavailableError {
  if (error instanceof AnswerTooLarge) {
    return new UnavailableError('bad_answer', `${name}: the answer is too large`, { status: error.status })
  }
  return new UnavailableError('connection', `${name}: ${describeFault(error)}`, { cause: error })
}

/**
 * Returns the message of the innermost error that has one: fetch only says "fetch failed", and a failed dual-stack
 * connect says nothing.
 */
function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return 'the connection failed'
  if (error.cause instanceof Error) return describeFault(error.cause)
  if (error.message !== '') return error.message
  return 'code' in error && typeof error.code === 'string' ? error.code : 'the connection failed'
}

/** Aborts with the caller's signal; returns a function that stops listening to it. */
export function followSignal(signal: CallSignal | undefined, controller: AbortController): () => void {
  return signal === undefined ? () => undefined : onAbort(signal, () => controller.abort(signal.reason))
}

/** Listens for the abort, which may have come before; returns a function that stops listening. */
function onAbort(signal: CallSignal, listener: () => void): () => void {
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

export const realChance: Chance = {
  random: () => Math.random(),
  now: () => performance.now(),
  wait(milliseconds, signal) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        stop()
        resolve()
      }, milliseconds)
      const stop = onAbort(signal, () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    })
  },
}

/** @throws TypeError for a number that JSON would turn into null: an unknown amount must not count as absent. */
function toJson(body: unknown): string {
  return JSON.stringify(body, (name, value: unknown) => {
    if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${name} is ${value}, not an amount`)
    return value
  })
}
