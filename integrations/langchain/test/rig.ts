/** Agents on scripted models, whose tools count what they do. */
import { Countersign } from '@countersign/client'
import { Operator, type RealDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'

/** A call as a model makes it. */
export interface Call {
  readonly name: string
  readonly args?: Record<string, unknown>
  readonly id?: string
}

/** What a test has at a decision point: policies of its own, and a client that may only ask and settle. */
export class Rig {
  readonly operator: Operator
  readonly client: Countersign
  readonly agentId = `agent:${crypto.randomUUID().slice(0, 8)}`

  private constructor(point: RealDecisionPoint, apiKey: string) {
    this.operator = new Operator(point)
    this.client = new Countersign({ baseUrl: point.url, apiKey, timeoutMs: 20_000, agentId: this.agentId })
  }

  static async open(point: RealDecisionPoint): Promise<Rig> {
    return new Rig(point, await new Operator(point).makeKey())
  }
}

/** A model that makes these calls in its first turn, and then says that it is done. */
export function modelOf(...calls: readonly Call[]) {
  return fakeModel()
    .respond(callsOf(...calls))
    .respond(new AIMessage('done'))
}

/** One message with these calls. */
function callsOf(...calls: readonly Call[]): AIMessage {
  return new AIMessage({
    content: '',
    tool_calls: calls.map(({ name, args = {}, ...id }, i) => ({
      type: 'tool_call',
      id: `call_${i}`,
      name,
      args,
      ...id,
    })),
  })
}

export function toolMessages({ messages }: { readonly messages: readonly BaseMessage[] }): ToolMessage[] {
  return messages.filter((message) => ToolMessage.isInstance(message))
}
