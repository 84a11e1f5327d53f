/** Agents on scripted models, with tools that are named after how the decision point decides about them. */
import { Countersign, type CountersignOptions, type EnforcementEvent } from '@countersign/client'
import { type CountersignGuardOptions, countersignGuard, type ToolMapping } from '@countersign/langchain'
import { EFFECTS, ToolRig } from '@countersign/testkit/enforcement-suite'
import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import type { StructuredToolInterface } from '@langchain/core/tools'
import { MemorySaver } from '@langchain/langgraph'
import { type AgentMiddleware, createAgent, tool } from 'langchain'
import { z } from 'zod'

/** A call as a model makes it. */
export interface Call {
  readonly name: string
  readonly args?: Record<string, unknown>
  /** Default `call_0` and so on; null for none. */
  readonly id?: string | null
}

export class Rig extends ToolRig<Countersign, EnforcementEvent> {
  get options(): CountersignOptions {
    return this.clientOptions
  }

  newClient(change: CountersignOptions = {}): Countersign {
    return new Countersign({ ...this.clientOptions, ...change })
  }

  guard(options: Partial<CountersignGuardOptions> = {}): AgentMiddleware {
    const onEvent = (event: EnforcementEvent) => this.events.push(event)
    return countersignGuard({ client: this.client, map: MAP, onEvent, ...options })
  }
}

/** Tools `allow`, `deny`, `review` and `log`, and what maps them. */
export const MAP: Record<string, ToolMapping> = Object.fromEntries(
  EFFECTS.map((effect) => [effect, { action: `t.${effect}`, resource: (a) => `order:${a.n}`, context: (a) => a }]),
)

type Work = (args: { n: number }, config: never) => unknown

/** Tools that note their runs. */
export function toolsOf(runs: string[], work: Work = ({ n }) => `did ${n}`) {
  return EFFECTS.map((name) =>
    tool(
      (args: { n: number }, config) => {
        runs.push(`${name} ${args.n}`)
        return work(args, config as never) as string
      },
      { name, description: name, schema: z.object({ n: z.number() }) },
    ),
  )
}

/** A model that makes these calls after each message of a person, and then says that it is done; by the messages alone. */
export function modelOf(...calls: readonly Call[]) {
  const model = fakeModel()
  for (let turn = 0; turn < 20; turn += 1) {
    model.respond((messages) => (messages.at(-1)?.getType() === 'human' ? callsOf(...calls) : new AIMessage('done')))
  }
  return model
}

/** One message with these calls. */
export function callsOf(...calls: readonly Call[]): AIMessage {
  const tool_calls = calls.map(({ name, args = { n: 1 }, id = `call_${calls.length}` }, i) => ({
    type: 'tool_call' as const,
    name,
    args,
    ...(id !== null && { id: id === `call_${calls.length}` ? `call_${i}` : id }),
  }))
  return new AIMessage({ content: '', tool_calls })
}

export interface AgentParts {
  readonly calls: readonly Call[]
  readonly middleware: readonly AgentMiddleware[]
  readonly tools: readonly StructuredToolInterface[]
}

/** One agent with its own checkpoints. */
export function agentOf({ calls, middleware, tools }: AgentParts) {
  return createAgent({
    model: modelOf(...calls),
    tools: [...tools],
    middleware: [...middleware],
    checkpointer: new MemorySaver(),
  })
}

export function toolMessages({ messages }: { readonly messages: readonly BaseMessage[] }): ToolMessage[] {
  return messages.filter((message) => ToolMessage.isInstance(message))
}

export const thread = (thread_id: string = crypto.randomUUID()) => ({ configurable: { thread_id } })
