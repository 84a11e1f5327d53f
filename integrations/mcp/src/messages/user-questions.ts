/** The questions of a gate for the user of its client, about calls that await a review. */
import type { GatedCall } from '../calls/call.js'
import { type Elicit, type ElicitParams, takesForms } from '../calls/elicitation.js'
import type { ToolResult } from '../calls/result.js'
import { capabilitiesIn } from '../calls/tool-params.js'
import type { ToolGate } from '../gate-options.js'
import { MAY_REQUIRE_INPUT } from '../rules/methods.js'
import { AnswerOfServer } from './answer-errors.js'
import { OwnRequests } from './awaited-response.js'
import type { JsonRpcMessage } from './json-rpc.js'

type AskClient = (message: JsonRpcMessage) => void | Promise<void>

export class UserQuestions extends OwnRequests {
  #capabilities: unknown

  constructor(private readonly gate: ToolGate) {
    super()
  }

  /** The capabilities in the client's `initialize`. */
  noteCapabilities(capabilities: unknown): void {
    this.#capabilities = capabilities
  }

  /** How the gate can ask the user about a call. Undefined if it cannot. */
  of({ meta, method }: GatedCall, ask: AskClient | undefined): Elicit | undefined {
    if (this.gate.reviewer === undefined) return undefined
    const capabilities = capabilitiesIn(meta)
    if (capabilities !== undefined)
      return takesForms(capabilities) && MAY_REQUIRE_INPUT.has(method) ? 'input_required' : undefined
    if (ask === undefined || !takesForms(this.#capabilities)) return undefined
    const tell = async (message: JsonRpcMessage): Promise<void> => ask(message)
    return (params, signal) => this.#elicit(params, signal, tell)
  }

  async #elicit(
    params: ElicitParams,
    signal: AbortSignal | undefined,
    tell: (message: JsonRpcMessage) => Promise<void>,
  ): Promise<ToolResult> {
    let asked = ''
    const giveUp = (error: unknown): void => this.fail(asked, error)
    const onAbort = (): void => giveUp(signal?.reason)
    const send = (id: string): void => {
      asked = id
      tell({ jsonrpc: '2.0', id, method: 'elicitation/create', params }).catch(giveUp)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      return await this.ask(send, this.gate.reviewTimeoutMs)
    } catch (error) {
      const cancelled = { method: 'notifications/cancelled', params: { requestId: asked } }
      if (!(error instanceof AnswerOfServer)) await tell({ jsonrpc: '2.0', ...cancelled }).catch(() => undefined)
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }
}
