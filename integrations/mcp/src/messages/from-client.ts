/**
 * Sorts the messages of a client. Calls need a decision and are settled (`relayed-call.ts`); other requests pass
 * (`passed-requests.ts`).
 */
import { DeniedError } from '@countersign/client'
import { readOther } from '../calls/other-params.js'
import { RefusedCall, warnOfDropped } from '../calls/refusals.js'
import { runCall } from '../calls/run-call.js'
import { type ClientContext, type ReadCall, readCall, rebuilt } from '../calls/tool-params.js'
import type { ToolGate } from '../gate-options.js'
import { excessOf, plainOf, spellingsOf } from '../json/exact-json.js'
import { type ExactNumber, unsafeNumberIn } from '../json/exact-number.js'
import {
  CLIENT_REQUESTS,
  LISTEN,
  PASSING_NOTIFICATIONS,
  PASSING_REQUESTS,
  TASK_LIST,
  TASK_REQUESTS,
  TOOL_CALL,
} from '../rules/methods.js'
import { strangeTask } from '../tasks/permitted-tasks.js'
import type { MessageConnection, Sent } from './connection.js'
import {
  errorMessage,
  type Incoming,
  isAnswerable,
  isBatch,
  isObject,
  isRequestId,
  MAX_BATCH,
  type NotificationMessage,
  type ProtocolError,
  type RequestId,
  type RequestMessage,
  type ResponseMessage,
  readMessage,
} from './json-rpc.js'
import { withGivenId } from './odd-ids.js'
import type { PassedRequests } from './passed-requests.js'
import { callFaultOf, failedBecause, rangeFault, refusedBecause, refusedFor } from './refused-messages.js'
import { RelayedCall } from './relayed-call.js'
import { AskedSubscriptions } from './subscriptions.js'

const MAX_PENDING = 10_000

export class FromClient<ClientVia, ServerVia> {
  readonly #gate: ToolGate
  readonly #passed: PassedRequests<ClientVia, ServerVia>
  readonly #subscriptions: AskedSubscriptions<ClientVia, ServerVia>

  constructor(
    private readonly connection: MessageConnection<ClientVia, ServerVia>,
    passed: PassedRequests<ClientVia, ServerVia>,
  ) {
    this.#gate = connection.gate
    this.#passed = passed
    this.#subscriptions = new AskedSubscriptions(connection, passed)
  }

  /** @param message a message or a batch, as `JSON.parse` or `parseJson` returned it */
  take(message: unknown, via: ClientVia, of: ClientContext = {}): void {
    if (Array.isArray(message)) {
      if (isBatch(message)) for (const one of message) this.take(one, via, of)
      else this.connection.refuse(null, via, `a batch has 1 to ${MAX_BATCH} messages`)
      return
    }
    const sent = { ...of, via, written: Object(spellingsOf(message)).params }
    const read = readMessage(plainOf(message))
    const excess = excessOf(message)
    const unsafe = excess === undefined ? unsafeNumberIn(message) : undefined
    if (excess !== undefined) this.#takeNothing(excess, message, read, via)
    else if (unsafe === undefined) this.#one(read, sent)
    else this.#takeUnsafe(unsafe, message, read, sent)
  }

  #one(read: Incoming, sent: Sent<ClientVia>): void {
    if (read.kind === 'request') this.#request(read.message, sent)
    else if (read.kind === 'notification') this.#notification(read.message, sent)
    else if (read.kind === 'response') this.#response(read.message, sent.via)
    else if (read.id === undefined) this.connection.ways.dropped?.(sent.via)
    else void this.connection.answer(errorMessage(read.id, read.error), sent.via)
  }

  /** Reads only as much of the message as its refusal needs. */
  #takeNothing(why: string, message: unknown, read: Incoming, via: ClientVia): void {
    const { id } = read.kind === 'request' ? read.message : Object(message)
    if (read.kind === 'response') this.#response(failedBecause(why, read.message.id ?? null), via)
    else void this.connection.answer(refusedBecause(why, isAnswerable(id) ? id : null), via)
  }

  /** Takes a message with a number that a double cannot hold: what the gate reads is not what the client sent. */
  #takeUnsafe(unsafe: number | ExactNumber, message: unknown, read: Incoming, sent: Sent<ClientVia>): void {
    const { id = null } = Object(message) as { readonly id?: unknown }
    const isCall = read.kind === 'request' && read.message.method === 'tools/call'
    const isAsked = unsafeNumberIn(id) === undefined && read.kind !== 'invalid'
    if (isAsked && isCall) this.#request(read.message, { ...sent, fault: callFaultOf(unsafe) })
    else if (isAsked && this.#gate.point.mode === 'observe') this.#one(read, sent)
    else if (read.kind === 'response' && isAsked)
      this.#response(failedBecause(rangeFault(unsafe), read.message.id ?? null), sent.via)
    else void this.connection.answer(refusedFor(unsafe, isAnswerable(id) ? id : null, isCall), sent.via)
  }

  #request(message: RequestMessage, sent: Sent<ClientVia>): void {
    const { id, method } = message
    if (this.connection.isClosed) void this.connection.answerError(id, undefined, sent.via)
    else if (this.isTaken(id)) this.connection.refuse(id, sent.via, 'a request with this id is pending')
    else if (this.connection.pending.size >= MAX_PENDING)
      this.connection.refuse(id, sent.via, 'too many requests are pending')
    else if (method === TOOL_CALL) this.#call(message, readCall(message, sent), sent)
    else if (this.#passes(message)) this.#pass(message, sent)
    else this.#other(message, sent)
  }

  #call(message: RequestMessage, read: ReadCall | ProtocolError, sent: Sent<ClientVia>): void {
    if ('code' in read) void this.connection.answer(errorMessage(message.id, read), sent.via)
    else this.connection.pending.add(message.id, new RelayedCall(this.connection, message, read, sent))
  }

  /** Whether a request with this id awaits a decision or a response. */
  isTaken(id: RequestId): boolean {
    return this.connection.pending.isTaken(id) || this.#subscriptions.has(id) || this.connection.own.isOwn(id)
  }

  /** Whether every request of this method passes. */
  #passes({ method }: RequestMessage): boolean {
    return PASSING_REQUESTS.has(method) || method === TASK_LIST || this.#gate.rules.isOpen(method)
  }

  #pass(message: RequestMessage, sent: Sent<ClientVia>): void {
    if (message.method === 'initialize') this.connection.questions.noteCapabilities(Object(message.params).capabilities)
    this.#passed.pass(message, sent)
  }

  /** Takes requests that may need a decision. */
  #other(message: RequestMessage, sent: Sent<ClientVia>): void {
    const read = readOther(message, sent)
    if ('code' in read) this.#call(message, read, sent)
    else if (TASK_REQUESTS.has(message.method)) this.#aboutTask(message, read, sent)
    else if (message.method === LISTEN) this.#subscriptions.listen(message, read, sent)
    else if (this.#gate.rules.passes(read.call)) this.#passed.pass(message, sent)
    else this.#call(message, read, sent)
  }

  #aboutTask(message: RequestMessage, read: ReadCall, sent: Sent<ClientVia>): void {
    const isOwn = this.#gate.permittedTasks.has(this.connection.clientOf(sent), Object(read.args).taskId)
    if (isOwn && read.fault === undefined) this.#passed.pass(rebuilt(message, read), sent)
    else this.#call(message, { ...read, fault: isOwn ? read.fault : strangeTask() }, sent)
  }

  #notification(message: NotificationMessage, sent: Sent<ClientVia>): void {
    const { method, params } = message
    if (method === 'notifications/cancelled' && isObject(params) && isRequestId(params.requestId))
      this.#cancel(message, { ...params, requestId: params.requestId }, sent.via)
    // A request without an id would run, and would never be settled.
    else if (CLIENT_REQUESTS.has(method)) this.connection.ways.dropped?.(sent.via)
    else if (PASSING_NOTIFICATIONS.has(method) || this.#gate.rules.isOpen(method))
      this.connection.forward(message, sent.via)
    else void this.#askAbout(message, sent)
  }

  /** Takes a notification that the protocol does not know. Its sender gets no answer, so the operator is warned of a refusal. */
  async #askAbout(message: NotificationMessage, sent: Sent<ClientVia>): Promise<void> {
    const read = readOther(message, sent)
    try {
      if ('code' in read) throw new DeniedError('arguments_refused', { detail: read.message })
      const { paramsWith, ...call } = read
      await runCall(this.#gate, { ...call, signal: sent.signal }, async (args, brought) => {
        this.connection.assertOpen()
        const params = message.params === undefined ? {} : { params: paramsWith(args, brought) }
        this.connection.forward({ ...message, ...params }, sent.via)
        return {}
      })
    } catch (error) {
      this.connection.ways.dropped?.(sent.via)
      if (error instanceof RefusedCall) warnOfDropped(message.method, error)
    }
  }

  #cancel(message: NotificationMessage, params: { readonly requestId: RequestId }, via: ClientVia): void {
    const { requestId } = params
    const pending = this.connection.pending.get(requestId)
    const isOfGate =
      this.connection.own.isOwn(requestId) ||
      this.connection.pending.isGiven(requestId) ||
      this.#subscriptions.cancel(requestId)
    if (pending?.cancel() ?? !isOfGate)
      this.connection.forward({ ...message, params: { ...params, requestId: pending?.sentId ?? requestId } }, via)
    else this.connection.ways.dropped?.(via)
  }

  #response(message: ResponseMessage, via: ClientVia): void {
    const { id } = message
    if (isRequestId(id) && this.connection.questions.isOwn(id)) {
      this.connection.questions.respond(id, message)
      this.connection.ways.dropped?.(via)
    } else this.connection.forward(withGivenId(message), via)
  }
}
