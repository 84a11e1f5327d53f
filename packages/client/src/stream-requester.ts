/** Makes the calls that not every client needs: probes, streams, and work without a time limit. */
import { readAnswer } from './answer.js'
import { type Call, nameOf } from './call.js'
import type { CallNames } from './call-names.js'
import { UnavailableError } from './errors/unavailable-error.js'
import type { CallSignal, Settings } from './options.js'
import { type Chance, faultOf, followSignal, type Lasting, Requester, realChance, resultOf } from './requester.js'
import { type Transport, wholeAnswer } from './transport.js'

/** The limit of an answer that replaces a stream: a problem document is much smaller. */
const MAX_PROBLEM_BYTES = 1024 * 1024

export class StreamRequester extends Requester {
  readonly #transport: Transport
  readonly #chance: Chance

  constructor(settings: Settings, transport: Transport, names: CallNames, chance: Chance = realChance) {
    super(settings, transport, names, chance)
    this.#transport = transport
    this.#chance = chance
  }

  /**
   * Returns the status of one attempt, whatever the body.
   *
   * @throws UnavailableError, the signal's reason, or TypeError for invalid options
   */
  async probe(call: Call): Promise<number> {
    const name = nameOf(call)
    return (await this.run(call, async (request) => resultOf(await this.exchange(name, request)))).status
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
    const { controller, end } = this.begin(signal)
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
      const request = { ...this.requestOf(call), isLongPoll: true, signal: controller.signal }
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

  /** Milliseconds that never go back. */
  now(): number {
    return this.#chance.now()
  }
}
