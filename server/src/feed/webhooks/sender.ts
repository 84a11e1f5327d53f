/** Sends one message to one endpoint, once. */
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../ports/clock.js'
import { faultOfWebhookUrl, type WebhookUrlRules } from '../../webhook-url.js'
import { connectTo } from './connector.js'
import type { Resolve } from './resolve.js'
import { retryAfterMs } from './schedule.js'
import { SendError, sentenceOf } from './send-error.js'
import { shownResponse } from './shown-response.js'

export interface SenderOptions extends WebhookUrlRules {
  readonly clock: Clock
  readonly resolve?: Resolve | undefined
  readonly ca?: string | undefined
  /** Absent: 5 s to connect, 15 s in all. */
  readonly connectTimeoutMs?: number | undefined
  readonly timeoutMs?: number | undefined
}

/** What became of one attempt. */
export interface SendResult {
  /** Null: there was no answer. */
  readonly status: number | null
  /** Null: the attempt succeeded. Else why it did not, as a sentence. */
  readonly error: string | null
  /** The beginning of the answer's body; null without an answer. */
  readonly response: string | null
  /** How long the receiver asks to wait. */
  readonly retryAfterMs: number | null
  readonly durationMs: number
}

const CONNECT_TIMEOUT_MS = 5000
const TIMEOUT_MS = 15_000
/** No more of an answer is read. */
const MAX_RESPONSE_BYTES = 16 * 1024
/** So many attempts may be in progress at a time, each on a connection of its own. */
export const MAX_CONNECTIONS = 4
const IDLE_CONNECTION_MS = 30_000

/** Sends to one URL. It keeps connections open, follows no redirects, and uses no proxy. */
export class Sender {
  private readonly url: URL
  private readonly agent: HttpAgent | HttpsAgent
  private readonly sending = new Set<AbortController>()
  private isClosed = false

  constructor(
    readonly text: string,
    private readonly options: SenderOptions,
  ) {
    this.url = new URL(text)
    this.agent = this.url.protocol === 'https:' ? new HttpsAgent(AGENT_OPTIONS) : new HttpAgent(AGENT_OPTIONS)
    this.agent.createConnection = (_, callback) => {
      const failed = (error: Error) => callback?.(error, undefined as never)
      connectTo(this.url, { ...options, connectTimeoutMs: this.connectTimeoutMs }).then((socket) => {
        if (!this.isClosed || !this.isIdle) return callback?.(null, socket)
        // Nobody wants it any more, and the agent would keep it.
        socket.destroy()
        failed(new SendError('The connection came too late.'))
      }, failed)
      return undefined
    }
  }

  private get connectTimeoutMs(): number {
    return this.options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS
  }

  get isIdle(): boolean {
    return this.sending.size === 0
  }

  /**
   * Never rejects.
   *
   * @param hidden texts that the result must not show, whatever the receiver answers
   */
  async send(
    headers: Readonly<Record<string, string>>,
    body: Buffer,
    hidden: readonly string[] = [],
  ): Promise<SendResult> {
    const startedMs = performance.now()
    const durationMs = () => Math.round(performance.now() - startedMs)
    const ending = new AbortController()
    this.sending.add(ending)
    try {
      const { shown, ...answer } = await this.exchange(headers, body, ending)
      return { ...answer, response: shownResponse(shown, hidden), durationMs: durationMs() }
    } catch (error) {
      return { status: null, error: sentenceOf(error), response: null, retryAfterMs: null, durationMs: durationMs() }
    } finally {
      this.sending.delete(ending)
      if (this.isClosed && this.isIdle) this.agent.destroy()
    }
  }

  /** Closes its connections when nothing is sent any more. */
  close(): void {
    this.isClosed = true
    if (this.isIdle) this.agent.destroy()
  }

  /** Gives up what is in progress. */
  abort(): void {
    for (const ending of this.sending) ending.abort()
    this.close()
  }

  private async exchange(headers: Readonly<Record<string, string>>, body: Buffer, ending: AbortController) {
    // The rules may have become stricter since the URL was written.
    const fault = faultOfWebhookUrl(this.text, this.options)
    if (fault !== null) throw new SendError(`The URL ${fault}.`)
    const timeoutMs = this.options.timeoutMs ?? TIMEOUT_MS
    const timer = setTimeout(() => ending.abort(), timeoutMs)
    try {
      const answer = await this.request(headers, body, ending.signal)
      return await this.resultOf(answer, ending.signal)
    } catch (error) {
      if (ending.signal.aborted) throw new SendError(`There was no answer within ${timeoutMs / 1000} seconds.`)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  private async resultOf(answer: IncomingMessage, signal: AbortSignal) {
    const { statusCode: status = 0, headers } = answer
    const isSuccess = status >= 200 && status < 300
    return {
      status,
      error: isSuccess ? null : faultOfStatus(status),
      shown: await firstBytes(answer, signal),
      retryAfterMs: isSuccess ? null : retryAfterMs(headers['retry-after'], this.options.clock.now()),
    }
  }

  /** The answer's head. A connection that was kept open may close in this very moment: then once more on a new one. */
  private async request(headers: Readonly<Record<string, string>>, body: Buffer, signal: AbortSignal) {
    for (;;) {
      const request = this.begin(headers, body, signal)
      try {
        return await answerOf(request, signal)
      } catch (error) {
        if (!request.reusedSocket || signal.aborted || !isReset(error)) throw error
      }
    }
  }

  private begin(headers: Readonly<Record<string, string>>, body: Buffer, signal: AbortSignal): ClientRequest {
    const request = (this.url.protocol === 'https:' ? requestHttps : requestHttp)(this.url, {
      agent: this.agent,
      method: 'POST',
      headers: { ...headers, 'content-length': String(body.length) },
      signal,
    })
    request.end(body)
    return request
  }
}

/**
 * The agent must not queue requests (`maxSockets`): when connections fail, it forgets those in the queue. There are no more
 * connections than requests in progress.
 */
const AGENT_OPTIONS = {
  keepAlive: true,
  maxFreeSockets: MAX_CONNECTIONS,
  timeout: IDLE_CONNECTION_MS,
}

function answerOf(request: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve)
    // It stays: an answer that breaks off afterwards makes an error, too.
    request.on('error', reject)
    request.once('close', () => reject(new SendError('The connection was closed before there was an answer.')))
    request.once('upgrade', (_, socket: Duplex) => {
      socket.destroy()
      reject(new SendError('The endpoint answered with another protocol.'))
    })
    // A request that has no connection yet says nothing when it is aborted.
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

/** The status was what counts: an answer that breaks off here or never ends is shown as far as it came. */
function firstBytes(answer: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const end = () => resolve(Buffer.concat(chunks).subarray(0, MAX_RESPONSE_BYTES))
    answer.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= MAX_RESPONSE_BYTES) answer.destroy()
    })
    answer.on('error', end)
    answer.once('end', end)
    answer.once('close', end)
    signal.addEventListener('abort', end)
  })
}

function faultOfStatus(status: number): string {
  const redirect = status >= 300 && status < 400 ? ' Redirects are not followed.' : ''
  return `The endpoint answered ${status}.${redirect}`
}

function isReset(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')
}
