/**
 * A call on its way between client and server. It needs a decision, is forwarded once if it is permitted, and is settled by the server's
 * response (`calls/run-call.ts`).
 */
import type { ActionOutcome } from '@countersign/client'
import type { ToolResult } from '../calls/result.js'
import { type EndOfTask, runCall } from '../calls/run-call.js'
import { ownResult, type ReadCall } from '../calls/tool-params.js'
import type { ToolDefinitions } from '../lists/tool-definitions.js'
import type { ToolListPage } from '../lists/tool-pages.js'
import { TOOL_CALL } from '../rules/methods.js'
import { taskOf } from '../tasks/tasks.js'
import { AwaitedResponse } from './awaited-response.js'
import type { MessageConnection, Sent } from './connection.js'
import { errorMessage, type RequestId, type RequestMessage, type ResponseMessage } from './json-rpc.js'
import type { Pending } from './pending-requests.js'

export class RelayedCall<ClientVia, ServerVia> implements Pending<ServerVia> {
  readonly sentId: RequestId
  readonly isAskedAbout = true
  /** The client that may ask for the task that answers the call. */
  readonly #client: string
  readonly #awaited = new AwaitedResponse<ServerVia>()
  #outcomeOfTask: Promise<ActionOutcome> | undefined
  readonly #over: Promise<void>

  constructor(
    private readonly connection: MessageConnection<ClientVia, ServerVia>,
    private readonly message: RequestMessage,
    private readonly read: ReadCall,
    private readonly sent: Sent<ClientVia>,
  ) {
    this.#client = connection.clientOf(sent)
    this.sentId = connection.pending.sentIdOf(message)
    const { signal } = sent
    const onGone = (): void => {
      if (!this.#awaited.isForwarded) this.#awaited.cancel()
    }
    if (signal?.aborted) onGone()
    signal?.addEventListener('abort', onGone, { once: true })
    this.#over = this.#settle().finally(() => {
      signal?.removeEventListener('abort', onGone)
      connection.pending.over(message.id)
    })
    this.#over.catch(() => undefined)
  }

  async respond(response: ResponseMessage, via: ServerVia): Promise<void> {
    if (!this.#awaited.respond(response, via)) return
    this.#noteTask(response.result)
    await this.#over
  }

  fail(error: unknown): Promise<void> {
    this.#awaited.fail(error)
    return this.#over
  }

  cancel(): boolean {
    this.#awaited.cancel()
    if (this.#awaited.isForwarded) this.connection.pending.noteCancelled(this.message.id)
    return this.#awaited.isForwarded
  }

  /** Must run when the server answers, because its next message may report the end of the task. */
  #noteTask(result: unknown): void {
    const taskId = taskOf(Object(result))
    if (taskId === undefined) return
    const { gate, scope } = this.connection
    gate.permittedTasks.note(this.#client, taskId)
    const resultOf = (): Promise<ToolResult> =>
      this.connection.ask('tasks/result', { taskId }, this.read.call, this.sent.via)
    this.#outcomeOfTask = gate.tasks.endOf(scope, taskId, resultOf)
  }

  /** Resolves when the call is settled and the client has its answer. Rejects as `toClient` does. */
  async #settle(): Promise<void> {
    const { ways } = this.connection
    const response = await this.#response()
    if (this.#awaited.isCancelled) return ways.dropped?.(this.sent.via)
    const { answeredVia } = this.#awaited
    if (answeredVia === undefined) return this.connection.answer(response, this.sent.via)
    try {
      await ways.toClient(response, answeredVia.via)
    } catch (error) {
      await this.connection.answerError(this.message.id, error, this.sent.via)
      throw error
    }
  }

  /** Never rejects. */
  async #response(): Promise<ResponseMessage> {
    const { jsonrpc, id } = this.message
    try {
      const result = await this.#gated()
      return { jsonrpc, id, result: this.#awaited.isForwarded ? result : ownResult(result, this.read.call.meta) }
    } catch (error) {
      return errorMessage(id, this.connection.errorFor(error))
    }
  }

  /** @throws as `runCall` */
  async #gated(): Promise<ToolResult> {
    const { gate, ways, questions } = this.connection
    const { paramsWith, ...read } = this.read
    const { signal } = this.#awaited
    const elicit = questions.of(read.call, ways.ask && ((asked) => ways.ask?.(asked, this.sent.via, this.message.id)))
    const isTool = read.call.method === TOOL_CALL
    const fault = read.fault ?? (isTool ? await this.#definitionFault() : undefined)
    const endOfTask: EndOfTask = async (taskId, words) => {
      gate.permittedTasks.note(this.#client, taskId, words)
      return (await this.#outcomeOfTask) ?? { kind: 'unknown' }
    }
    return runCall(gate, { ...read, fault, signal, elicit, endOfTask }, (args, brought) => {
      const message = { ...this.message, id: this.sentId, params: paramsWith(args, brought) }
      return this.#awaited.forward(() => this.connection.forward(message, this.sent.via))
    })
  }

  #definitionFault(): ReturnType<ToolDefinitions['fault']> {
    const { call } = this.read
    const list = (cursor?: string): Promise<ToolListPage> =>
      this.connection.ask('tools/list', cursor === undefined ? {} : { cursor }, call, this.sent.via)
    return this.connection.definitions.fault(call.name, list)
  }
}
