/** Agents and tools as integrations for the enforcement suite. */
import { Countersign, DeniedError } from '@countersign/client'
import {
  type CountersignGuardOptions,
  countersignGuard,
  currentRun,
  type GuardedToolCall,
  guardTool,
  type MappedCall,
} from '@countersign/langchain'
import {
  type Act,
  type CallOutcome,
  type EnforcementAdapter,
  type GuardedCall,
  type GuardSetup,
  saysFailure,
} from '@countersign/testkit/enforcement-suite'
import { ToolMessage } from '@langchain/core/messages'
import { Command, interrupt, isInterrupted, MemorySaver } from '@langchain/langgraph'
import { createAgent, createMiddleware, tool } from 'langchain'
import { z } from 'zod'
import { type AgentParts, modelOf, toolMessages } from './rig.js'

type Args = Pick<GuardedCall, 'resource' | 'context'>

/** Calls one guarded tool through the framework. */
type CallTool = (call: GuardedCall) => Promise<unknown>

const NO_KEY = 'a call is named by its thread, its step and its id, and by no key of the caller'
const DOES_NOT_APPLY = {
  'gives an agent a gated resource only if the policies allow its reading, once, and settles that':
    'an agent reads by tools alone',
  'runs one of two calls that are made with one key at once': NO_KEY,
  'does not run again what was confirmed, for the same key and another process': NO_KEY,
  'does not run again what was rejected, for the same key and another process': NO_KEY,
  'runs in one of four processes that race for one approved decision, each of them twice': NO_KEY,
  'confirms what succeeded after its caller had left':
    'LangChain ends a tool for its caller at once, whatever it does later',
}

/** Agents of `createAgent` with the middleware. */
export function guardedAgents(): EnforcementAdapter {
  return adapter('an agent', (setup, options) => {
    const act = tool((args: Args, config) => acted(setup.act, args, config.toolCall?.id), { name: 'act', schema: ARGS })
    const guard = countersignGuard({ ...options, map: { act: (_args, call) => mapped(call) }, onToolError: 'throw' })
    const showing = createMiddleware({
      name: 'showing',
      wrapToolCall(request, handler) {
        callIn(request.runtime.context).onArguments(request.toolCall.args.context)
        return handler(request)
      },
    })
    return agentCaller({ tools: [act], middleware: [showing, guard] })
  })
}

/** Tools that are guarded by themselves, and called by a program; by an agent where they pause, which no other caller can answer. */
export function guardedTools(): EnforcementAdapter {
  return adapter(
    'a tool',
    (setup, options) => {
      const act = tool((args: Args, config) => acted(setup.act, args, config.toolCall?.id), {
        name: 'act',
        schema: ARGS,
      })
      const safe = guardTool(act, {
        ...options,
        action: (_args, call) => mapped(call).action,
        resource: (_args, call) => mapped(call).resource ?? null,
        context: (_args, call) => mapped(call).context ?? null,
      })
      const callInAgent = agentCaller({ tools: [safe], middleware: [] })
      return (call) => {
        if (call.thread !== undefined) return callInAgent(call)
        const args = { resource: call.resource, context: structuredClone(call.context) }
        call.onArguments(args.context)
        return safe.invoke(args, configOf(call))
      }
    },
    {
      'tells a model what the person wrote who approved, as a quotation that the words cannot leave':
        'a program that calls a tool itself gets its result as it is',
    },
  )
}

/** One agent for each call, all with the same checkpoints: a thread that there was is resumed. */
function agentCaller(parts: Pick<AgentParts, 'tools' | 'middleware'>): CallTool {
  const checkpointer = new MemorySaver()
  const threads = new Set<string>()
  return async (call) => {
    const { resource, context, thread } = call
    const model = modelOf({ name: 'act', args: { resource, context: structuredClone(context) } })
    const agent = createAgent({
      model,
      tools: [...parts.tools],
      middleware: [...parts.middleware],
      ...(thread !== undefined && { checkpointer }),
    })
    const isResumed = thread !== undefined && threads.has(thread)
    if (thread !== undefined) threads.add(thread)
    const input = isResumed ? new Command({ resume: 'go on' }) : { messages: [{ role: 'human', content: 'go' }] }
    const answer = await agent.invoke(input, configOf(call))
    return isInterrupted(answer) ? answer : toolMessages(answer)[0]
  }
}

const ARGS = z.object({ resource: z.string(), context: z.any() })

function adapter(
  name: string,
  open: (setup: GuardSetup, options: Omit<CountersignGuardOptions, 'map'>) => CallTool,
  doesNotApply: EnforcementAdapter['doesNotApply'] = {},
): EnforcementAdapter {
  return {
    name,
    doesNotApply: { ...DOES_NOT_APPLY, ...doesNotApply },
    open(setup) {
      const { baseUrl, apiKey } = setup
      const client = new Countersign({ baseUrl, apiKey, timeoutMs: 60_000, connectTimeoutMs: 60_000 })
      const { review, ...rest } = setup.options
      const agentId = ({ context }: GuardedToolCall) => callIn(context).agent_id
      const callTool = open(setup, { client, agentId, ...rest, review: review === 'wait' ? 'wait' : 'deny' })
      return {
        call: (call) => outcomeOf(call, callTool),
        flush: (timeoutMs) => client.flush({ timeoutMs }),
        close: () => client.close(),
      }
    },
  }
}

const configOf = (call: GuardedCall) => ({
  context: { call },
  ...(call.signal && { signal: call.signal }),
  ...(call.thread && { configurable: { thread_id: call.thread } }),
})
const callIn = (context: unknown): GuardedCall => (context as { call: GuardedCall }).call

function mapped({ context }: GuardedToolCall): MappedCall {
  const call = callIn(context)
  if (call.mapping === 'throws') throw new Error('there is no such order')
  const resource = call.mapping === 'misspelt' ? `order:${(call.context as { ordr?: string }).ordr}` : call.resource
  return { action: call.mapping === 'unmapped' ? undefined : call.action, resource, context: call.context }
}

async function acted(act: Act, args: Args, id = ''): Promise<string | ToolMessage> {
  const { value, amount } = await act(args, () => void interrupt('go on?'))
  if (amount !== undefined) currentRun()?.setAmount(amount)
  const content = JSON.stringify(value)
  return saysFailure(value) ? new ToolMessage({ status: 'error', content, tool_call_id: id, name: 'act' }) : content
}

async function outcomeOf(call: GuardedCall, callTool: CallTool): Promise<CallOutcome> {
  call.signal?.addEventListener('abort', call.onLeft)
  try {
    const answer = await callTool(call)
    if (isInterrupted(answer)) return { kind: 'paused' }
    const { content = answer, artifact } = Object(answer)
    const shown = JSON.stringify(answer)
    if (artifact?.denied) return { kind: 'denied', ...artifact.denied, shown }
    // What a reviewer wrote stands behind what the tool gave back.
    const [said] = content.split('\n\n')
    return { kind: 'value', value: JSON.parse(said), shown }
  } catch (error) {
    if (call.signal?.aborted) return { kind: 'aborted' }
    if (DeniedError.isInstance(error))
      return { kind: 'denied', reason: error.reason, decision_id: error.decision_id, shown: error.message }
    return { kind: 'failed', error, shown: String(error) }
  }
}
