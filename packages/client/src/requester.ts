/**
 * Sends a call, with its time limit, retries, key and headers. `answer.ts` interprets the answer; the transport is the
 * network.
 */
import { readAnswer } from './answer.js'
import { type Call, nameOf, queryString } from './call.js'
import { idempotencyKeyOf } from './call-names.js'
import { UnavailableError } from './errors/unavailable-error.js'
import { type CallSignal, checkTimeout, type Settings } from './options.js'
import { isRetryableStatus, parseRetryAfter, retryDelayMs } from './retry.js'
import { traceHeaders } from './tracing/trace-headers.js'
import {
  AnswerTooLarge,
  type Transport,
  type TransportAnswer,
  type TransportRequest,
  wholeAnswer,
} from './transport.js'

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
  readonly signal: CallSignal | undefined
  /** Creates the rejection of a run that takes too long. */
  timeoutError(): UnavailableError
}

/** The limit of an answer that replaces a stream: a problem document is much smaller. */
const MAX_PROBLEM_BYTES = 1024 * 1024

export class Requester {
  readonly #settings: Settings
  readonly #transport: Transport
  readonly #chance: Chance
  readonly #underWay = new Set<AbortController>()
  #isClosed = false

  constructor(settings: Settings, transport: Transport, chance: Chance = realChance) {
    this.#settings = settings
    this.#transport = transport
    this.#chance = chance
  }

  /**
   * Returns the JSON object of the answer, unchecked; undefined for 204.
   *
   * @throws ApiError, UnavailableError, the signal's reason, or TypeError for invalid options
   */
  async send(call: Call): Promise<unknown> {
    const name = nameOf(call)
    return readAnswer(name, await this.#run(call, (request, running) => this.#attempt(name, request, running)))
  }

  /**
   * Returns the status of one attempt, whatever the body.
   *
   * @throws UnavailableError, the signal's reason, or TypeError for invalid options
   */
  async probe(call: Call): Promise<number> {
    const name = nameOf(call)
    return (await this.#run(call, async (request) => resultOf(await this.#exchange(name, request)))).status
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
    const { controller, end } = this.#begin(limit.signal)
    const { signal } = controller
    const timer = setTimeout(() => controller.abort(limit.timeoutError()), limit.timeoutMs)
    const deadline = this.#chance.now() + limit.timeoutMs
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

  /**
   * Runs work without a time limit, and yields what it yields.
   *
   * @throws the caller's reason, UnavailableError when the client is closed, or the error of `run`
   */
  async *lasting<Item>(
    signal: CallSignal | undefined,
    run: (lasting: Lasting) => AsyncIterable<Item>,
  ): AsyncGenerator<Item, void, undefined> {
    const { controller, end } = this.#begin(signal)
    const lasting: Lasting = {
      signal: controller.signal,
      pause: (milliseconds) => this.#chance.wait(milliseconds, controller.signal),
    }
    try {
      controller.signal.throwIfAborted()
      for await (const item of run(lasting)) {
        yield item
        controller.signal.throwIfAborted()
      }
    } finally {
      end()
    }
  }

  /**
   * Yields the body of one answer as it arrives, in one attempt. The connection counts as lost after `silenceMs`
   * without data.
   *
   * @throws ApiError, UnavailableError (`bad_answer` when it does not have `contentType`), or the signal's reason
   */
  async *stream(
    call: Call,
    contentType: string,
    silenceMs: number,
    { signal }: Lasting,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const name = nameOf(call)
    const controller = new AbortController()
    const unfollow = followSignal(signal, controller)
    const silence = () => new UnavailableError('connection', `${name}: nothing arrived for ${silenceMs} ms`)
    const heard = async <Came>(coming: Promise<Came>): Promise<Came> => {
      const came = new AbortController()
      this.#chance.wait(silenceMs, came.signal).then(
        () => controller.abort(silence()),
        () => undefined,
      )
      try {
        return await coming
      } catch (error) {
        throw controller.signal.aborted ? controller.signal.reason : faultOf(name, error)
      } finally {
        came.abort()
      }
    }
    try {
      const request = { ...this.#request(call), isLongPoll: true, signal: controller.signal }
      const answer = await heard(
        this.#transport.stream({ ...request, headers: { ...request.headers, accept: contentType } }),
      )
      if (answer.status !== 200 || answer.header('content-type')?.split(';')[0]?.trim() !== contentType) {
        readAnswer(name, await heard(wholeAnswer(answer, MAX_PROBLEM_BYTES)))
        throw new UnavailableError('bad_answer', `${name}: the answer is not a stream`, { status: answer.status })
      }
      const chunks = answer.chunks[Symbol.asyncIterator]()
      for (;;) {
        const { done, value } = await heard(chunks.next())
        if (done) return
        yield value
      }
    } finally {
      unfollow()
      controller.abort()
    }
  }

  /** An unpredictable number in [0, 1). */
  random(): number {
    return this.#chance.random()
  }

  /** Milliseconds that never go back. */
  now(): number {
    return this.#chance.now()
  }

  async #run(
    call: Call,
    run: (request: TransportRequest, running: Running) => Promise<TransportAnswer>,
  ): Promise<TransportAnswer> {
    const ownMs = checkTimeout('timeoutMs', call.options?.timeoutMs ?? this.#settings.timeoutMs)
    const timeoutMs = ownMs + (call.extraTimeMs ?? 0)
    const { lateMs = 0 } = call
    const request = this.#request(call)
    const limit = {
      timeoutMs: timeoutMs + lateMs,
      signal: call.options?.signal,
      timeoutError: () => new UnavailableError('timeout', `${nameOf(call)}: no answer within ${timeoutMs} ms`),
    }
    return this.within(limit, (running) => {
      const remainingMs = (): number => running.remainingMs() - lateMs
      return run({ ...request, signal: running.signal }, { ...running, remainingMs })
    })
  }

  #request(call: Call): Omit<TransportRequest, 'signal'> {
    const given = { ...traceHeaders(), ...this.#settings.headers, ...call.headers }
    const headers: Record<string, string> = { ...given, accept: 'application/json' }
    if (call.isAuthenticated !== false) headers.authorization = `Bearer ${this.#settings.apiKey}`
    if (call.body !== undefined) headers['content-type'] = 'application/json'
    if (call.idempotencyKey !== undefined) {
      const key = call.idempotencyKey
      headers['idempotency-key'] = key === true ? crypto.randomUUID() : idempotencyKeyOf(key)
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
      const outcome = await this.#exchange(name, request)
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
  async #exchange(name: string, request: TransportRequest): Promise<TransportAnswer | UnavailableError> {
    try {
      return await this.#transport.send(request)
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason
      return faultOf(name, error)
    }
  }

  /** For work that ends with a signal of the caller, or when the client is closed. */
  #begin(signal: CallSignal | undefined): { readonly controller: AbortController; readonly end: () => void } {
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

function resultOf(outcome: TransportAnswer | UnavailableError): TransportAnswer {
  if (outcome instanceof UnavailableError) throw outcome
  return outcome
}

function faultOf(name: string, error: unknown): UnavailableError {
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
function followSignal(signal: CallSignal | undefined, controller: AbortController): () => void {
  if (signal === undefined) return () => undefined
  if (signal.aborted) controller.abort(signal.reason)
  const onAbort = (): void => controller.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  return () => signal.removeEventListener('abort', onAbort)
}

const realChance: Chance = {
  random: () => Math.random(),
  now: () => performance.now(),
  wait(milliseconds, signal) {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        clearTimeout(timer)
        reject(signal.reason)
      }
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }, milliseconds)
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
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
