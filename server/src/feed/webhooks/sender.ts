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

export interface SendResult {
  /** Null: there was no answer. */
  readonly status: number | null
  /** Null: the attempt succeeded. Otherwise the reason for the failure, as a sentence. */
  readonly error: string | null
  /** The first part of the answer's body; null without an answer. */
  readonly response: string | null
  /** The delay that the receiver asks for. */
  readonly retryAfterMs: number | null
  readonly durationMs: number
}

const CONNECT_TIMEOUT_MS = 5000
const TIMEOUT_MS = 15_000
/** How many bytes of an answer are read. */
const MAX_RESPONSE_BYTES = 16 * 1024
/** How many attempts may run at a time, each on its own connection. */
export const MAX_CONNECTIONS = 4
const IDLE_CONNECTION_MS = 30_000

/** Nothing was sent, because the caller withdrew the message. */
export class WithdrawnError extends Error {
  override readonly name = 'WithdrawnError'
}

/** A message that is being sent. */
interface Sending {
  readonly ending: AbortController
  /** It has a connection: its bytes are being written, or have been. */
  isConnected: boolean
  /** The caller no longer wants it to begin. */
  isWithdrawn: boolean
}

/** Sends to one URL. It keeps connections open, follows no redirects, and uses no proxy. */
export class Sender {
  private readonly url: URL
  private readonly agent: HttpAgent | HttpsAgent
  private readonly sending = new Set<Sending>()
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
        // Unused now, and the agent would keep it open.
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
   * Sends a message. Failures are part of the result.
   *
   * @param hidden texts that the result must not show, whatever the receiver answers
   * @throws WithdrawnError when it was withdrawn: nothing was sent
   */
  async send(
    headers: Readonly<Record<string, string>>,
    body: Buffer,
    hidden: readonly string[] = [],
  ): Promise<SendResult> {
    const startedMs = performance.now()
    const durationMs = () => Math.round(performance.now() - startedMs)
    const sending: Sending = { ending: new AbortController(), isConnected: false, isWithdrawn: false }
    this.sending.add(sending)
    try {
      const { shown, ...answer } = await this.exchange(headers, body, sending)
      return { ...answer, response: shownResponse(shown, hidden), durationMs: durationMs() }
    } catch (error) {
      if (sending.isWithdrawn && !sending.isConnected) throw new WithdrawnError()
      return { status: null, error: sentenceOf(error), response: null, retryAfterMs: null, durationMs: durationMs() }
    } finally {
      this.sending.delete(sending)
      if (this.isClosed && this.isIdle) this.agent.destroy()
    }
  }

  /** Closes its connections when no message is in progress. */
  close(): void {
    this.isClosed = true
    if (this.isIdle) this.agent.destroy()
  }

  /** Withdraws messages without a connection. A message that is being sent continues, and is not sent again. */
  withdraw(): void {
    for (const sending of this.sending) {
      sending.isWithdrawn = true
      if (!sending.isConnected) sending.ending.abort()
    }
  }

  /** Aborts all messages in progress. */
  abort(): void {
    for (const { ending } of this.sending) ending.abort()
    this.close()
  }

  private async exchange(headers: Readonly<Record<string, string>>, body: Buffer, sending: Sending) {
    const { ending } = sending
    // The rules may have become stricter since the URL was written.
    const fault = faultOfWebhookUrl(this.text, this.options)
    if (fault !== null) throw new SendError(`The URL ${fault}.`)
    const timeoutMs = this.options.timeoutMs ?? TIMEOUT_MS
    const timer = setTimeout(() => ending.abort(), timeoutMs)
    try {
      const answer = await this.request(headers, body, sending)
      return await this.resultOf(answer, ending.signal)
    } catch (error) {
      if (ending.signal.aborted) throw new SendError(`There was no response within ${timeoutMs / 1000} seconds.`)
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

  /**
   * Sends the request and returns the head of the answer. A kept-open connection may close at this very moment: then it
   * tries once more on a new one.
   */
  private async request(headers: Readonly<Record<string, string>>, body: Buffer, sending: Sending) {
    const { signal } = sending.ending
    for (;;) {
      const request = this.begin(headers, body, signal)
      request.once('socket', () => {
        sending.isConnected = true
      })
      try {
        return await answerOf(request, signal)
      } catch (error) {
        if (!request.reusedSocket || signal.aborted || !isReset(error)) throw error
        sending.isConnected = false
        if (sending.isWithdrawn) throw error
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
 * The agent must not queue requests (`maxSockets`), because it drops the queued ones when connections fail. There are
 * never more connections than requests in progress.
 */
const AGENT_OPTIONS = {
  keepAlive: true,
  maxFreeSockets: MAX_CONNECTIONS,
  timeout: IDLE_CONNECTION_MS,
}

function answerOf(request: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve)
    // Not removed: an answer that breaks off later raises an error, too.
    request.on('error', reject)
    request.once('close', () => reject(new SendError('The connection was closed before there was a response.')))
    request.once('upgrade', (_, socket: Duplex) => {
      socket.destroy()
      reject(new SendError('The endpoint responded with another protocol.'))
    })
    // Aborting a request without a connection raises no event.
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

/** Only the status matters: an answer that breaks off or never ends is shown up to that point. */
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
  return `The endpoint responded with ${status}.${redirect}`
}

function isReset(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')
}
