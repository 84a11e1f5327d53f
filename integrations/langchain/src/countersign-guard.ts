import { assertOptions, HiddenTools, mappingIn, TOOL_GUARD_OPTIONS } from '@countersign/client/kernel'
import type { ToolCall } from '@langchain/core/messages/tool'
import { type AgentMiddleware, createMiddleware, ToolInvocationError } from 'langchain'
import { type ToolsGuardOptions, toolGuard } from './guard-options.js'
import { type CallToGuard, guardCall } from './guarded-call.js'
import { isGraphBubbleUp } from './review.js'
import { denialMessage, failureMessage } from './tool-messages.js'
import { ToolSchema } from './tool-schema.js'

export interface CountersignGuardOptions extends ToolsGuardOptions {
  /**
   * An error of a tool: `message` (default) gives it to the model, as an agent without middleware does; `throw` throws it, for
   * middleware around this one, and ends the run of the agent where nobody catches it.
   */
  readonly onToolError?: 'message' | 'throw' | undefined
  /**
   * Does not show the model tools whose action is denied to the agent whatever it is about, nor tools that nobody mapped. What
   * the decision point has said counts for 10 seconds. Where it says nothing, and where a function gives the action, all that
   * are mapped are shown. This enforces nothing. Default false.
   */
  readonly hideForbidden?: boolean | undefined
  /** Of the middleware. Two guards of one agent need two names. Default `CountersignGuard`. */
  readonly name?: string | undefined
}

const KNOWN_OPTIONS = [...TOOL_GUARD_OPTIONS, 'map', 'onToolError', 'hideForbidden', 'name']

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
  const { map, onToolError = 'message', hideForbidden = false, name = 'CountersignGuard', ...rest } = options
  if (onToolError !== 'message' && onToolError !== 'throw')
    throw new TypeError("onToolError has to be 'message' or 'throw'")
  const mappingOf = mappingIn(map)
  const guard = toolGuard(rest)
  const hidden = new HiddenTools(guard, mappingOf)
  return createMiddleware({
    name,
    ...(hideForbidden && {
      async wrapModelCall(request, handler) {
        const { context, configurable = {} } = request.runtime
        const tools = await hidden.without(request.tools, {
          name: '',
          id: undefined,
          context: Object(context ?? {}),
          configurable,
        })
        return handler({ ...request, tools })
      },
    }),
    async wrapToolCall(request, handler) {
      const { toolCall, runtime, tool } = request
      const { name, id, args } = toolCall
      const schema = new ToolSchema(tool)
      const call: CallToGuard = {
        ...{ name, id, args, runtime },
        mapping: mappingOf(name),
        parse: (held) => schema.parse(held),
        isRefused: (error) => schema.hasRefused && ToolInvocationError.isInstance(error),
      }
      const run = (held: unknown) => handler({ ...request, toolCall: { ...toolCall, args: held as ToolCall['args'] } })
      try {
        return await guardCall(guard, call, run, (denied) => denialMessage(denied, toolCall))
      } catch (error) {
        if (onToolError === 'throw' || isForFramework(error) || runtime.signal?.aborted) throw error
        return failureMessage(error, toolCall)
      }
    },
  })
}

/** What the agent makes more of than a text: a pause, and arguments that the schema of a tool does not take. */
function isForFramework(error: unknown): boolean {
  return ToolInvocationError.isInstance(error) || isGraphBubbleUp(error)
}
