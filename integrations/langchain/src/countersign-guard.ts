import { HiddenTools, toolGuard } from '@countersign/client/kernel'
import type { ToolCall } from '@langchain/core/messages/tool'
import { type AgentMiddleware, createMiddleware, ToolInvocationError } from 'langchain'
import { REVIEWS, type ToolsGuardOptions } from './guard-options.js'
import { callOf, errorMessage, guardCall, schemaOf } from './guarded-call.js'

export interface CountersignGuardOptions extends ToolsGuardOptions {
  /**
   * An error of a tool: `message` (default) gives it to the model, as an agent without middleware does. `throw` throws it,
   * for middleware around this one, and ends the run of the agent if nothing catches it.
   */
  readonly onToolError?: 'message' | 'throw' | undefined
  /**
   * Hides from the model tools that are not mapped, and tools whose action is denied to the agent in every case. An answer
   * of the decision point counts for 10 seconds. Without an answer, or if a function gives the action, mapped tools are
   * shown. This enforces nothing. Default false.
   */
  readonly hideForbidden?: boolean | undefined
  /** The name of the middleware. Two guards of one agent need two names. Default `CountersignGuard`. */
  readonly name?: string | undefined
}

/**
 * Middleware for `createAgent`: each tool call runs only on a decision that permits it, and is settled by how it ended.
 *
 * A refusal is the tool's answer: an error message that says what happened and what to do next. Put the guard last in
 * `middleware`, so that nothing changes a call after the guard has asked about it.
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
  const guard = toolGuard('countersignGuard', options, REVIEWS, ['onToolError', 'hideForbidden', 'name'])
  const { onToolError = 'message', hideForbidden = false, name = 'CountersignGuard' } = options
  if (onToolError !== 'message' && onToolError !== 'throw')
    throw new TypeError("onToolError must be 'message' or 'throw'")
  const hidden = new HiddenTools(guard)
  return createMiddleware({
    name,
    ...(hideForbidden && {
      async wrapModelCall(request, handler) {
        return handler({ ...request, tools: await hidden.without(request.tools, callOf(request.runtime, '')) })
      },
    }),
    async wrapToolCall(request, handler) {
      const { toolCall, runtime, tool } = request
      const schema = schemaOf(tool)
      const call = callOf(runtime, toolCall.name, toolCall.id)
      const answer = guardCall(guard, runtime, {
        ...{ call, args: toolCall.args, parse: schema.parse },
        run: (held) => handler({ ...request, toolCall: { ...toolCall, args: held as ToolCall['args'] } }),
        hasNotRun: (error) => schema.hasRefused && error instanceof ToolInvocationError,
        fail(error) {
          // The agent itself explains to the model why the schema of a tool refuses its arguments.
          const isForFramework = error instanceof ToolInvocationError || runtime.signal?.aborted
          if (onToolError === 'throw' || isForFramework) throw error
          // The text of an agent without middleware.
          return errorMessage(`${error}\n Please fix your mistakes.`, call)
        },
      })
      return answer as ReturnType<typeof handler>
    },
  })
}
