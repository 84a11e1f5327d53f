import { assertOptions } from '@countersign/client/kernel'
import { interopParseAsync, isInteropZodSchema } from '@langchain/core/utils/types'
import { type AgentMiddleware, createMiddleware, type ToolCallRequest, ToolInvocationError } from 'langchain'
import { TOOL_GUARD_OPTIONS, type ToolGuardOptions, toolGuard } from './guard-options.js'
import { guardCall } from './guarded-call.js'
import { denialMessage, failureMessage } from './tool-messages.js'
import { checkMapping, type ToolMapping } from './tool-question.js'

export interface CountersignGuardOptions extends ToolGuardOptions {
  /** What a call of each tool is about, by the name of the tool. */
  readonly map?: Readonly<Record<string, ToolMapping>> | undefined
  /**
   * An error of a tool: `message` (default) gives it to the model, as an agent without middleware does; `throw` throws it, for
   * middleware around this one, and ends the run of the agent where nobody catches it.
   */
  readonly onToolError?: 'message' | 'throw' | undefined
  /** Of the middleware. Two guards of one agent need two names. Default `CountersignGuard`. */
  readonly name?: string | undefined
}

const KNOWN_OPTIONS = [...TOOL_GUARD_OPTIONS, 'map', 'onToolError', 'name']

/**
 * Middleware for `createAgent`: each tool call runs only on a decision that permits it, and is settled by how it ended.
 *
 * A refusal is the tool's answer: an error message with what happened and what to do next. Put the guard last in `middleware`,
 * so that nothing changes a call after it was asked about.
 *
 * @throws TypeError naming the faulty option
 *
 * @example
 * const agent = createAgent({ model, tools: [refund], middleware: [
 *   countersignGuard({ client, agentId: 'agent:support-7', map: {
 *     refund: { action: 'payment.refund', resource: (a) => `order:${a.order}`, context: (a) => ({ amount: a.amount }) },
 *   } }),
 * ] })
 *
 * Source: docs/langchain.md.
 */
export function countersignGuard(options: CountersignGuardOptions): AgentMiddleware {
  assertOptions('countersignGuard', options, KNOWN_OPTIONS)
  const { map = {}, onToolError = 'message', name = 'CountersignGuard', ...rest } = options
  for (const [tool, mapping] of Object.entries(map)) checkMapping(tool, mapping)
  if (onToolError !== 'message' && onToolError !== 'throw')
    throw new TypeError("onToolError has to be 'message' or 'throw'")
  const guard = toolGuard(rest)
  return createMiddleware({
    name,
    async wrapToolCall(request, handler) {
      const { toolCall, runtime } = request
      // What is asked about is what runs, whatever becomes of the message that it came in.
      const held = { ...request, toolCall: { ...toolCall, args: structuredClone(toolCall.args) } }
      const call = {
        name: toolCall.name,
        id: toolCall.id,
        args: await argumentsOf(request),
        // The name is a model's: it may be `constructor`.
        mapping: Object.hasOwn(map, toolCall.name) ? map[toolCall.name] : undefined,
        runtime,
      }
      try {
        return await guardCall(
          guard,
          call,
          () => handler(held),
          (denied) => denialMessage(denied, toolCall),
        )
      } catch (error) {
        if (onToolError === 'throw' || isForFramework(error) || runtime.signal?.aborted) throw error
        return failureMessage(error, toolCall)
      }
    },
  })
}

/** As the tool is given them; as they came where its schema does not take them, so that it says so itself. */
async function argumentsOf({ tool, toolCall }: Pick<ToolCallRequest, 'tool' | 'toolCall'>): Promise<unknown> {
  const args = structuredClone(toolCall.args)
  const schema = tool && 'schema' in tool ? tool.schema : undefined
  if (!isInteropZodSchema(schema)) return args
  return interopParseAsync(schema, args).catch(() => args)
}

/** What the agent makes more of than a text: a pause, and arguments that the schema of a tool does not take. */
function isForFramework(error: unknown): boolean {
  return ToolInvocationError.isInstance(error) || Object(error).is_bubble_up === true
}
