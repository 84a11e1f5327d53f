import type { DeniedError } from '@countersign/client'
import { guardOfOneTool } from '@countersign/client/kernel'
import { type GuardToolOptions, REVIEWS, type ToolGuard } from './guard-options.js'
import { type CallRuntime, callOf, denialMessage, guardCall } from './guarded-call.js'
import { copyOf, withWords } from './reviewer-words.js'

/** Any tool of LangChain. */
type GuardableTool = { readonly name: string; readonly description?: string | undefined }

type CallConfig = CallRuntime & { readonly toolCall?: { readonly id?: string | undefined } }

interface RunManager {
  getChild(): unknown
  handleToolEvent?(chunk: unknown): Promise<void>
  handleToolError(error: unknown): Promise<void>
}

/**
 * The same tool, guarded for every caller and in all of its methods, including `func`. The original stays unguarded.
 *
 * If a call is denied, a model gets an error message, and a program that calls the tool with plain arguments gets the
 * DeniedError. What the tool throws is thrown.
 *
 * @throws TypeError naming the faulty option, and for anything but a tool
 *
 * @example
 * const safeRefund = guardTool(refund, { client, agentId: 'agent:support-7', action: 'payment.refund' })
 *
 * Source: docs/langchain.md.
 */
export function guardTool<Tool extends GuardableTool>(tool: Tool, options: GuardToolOptions): Tool {
  return guardedBy(guardOfOneTool('guardTool', tool.name, options, REVIEWS), tool, true)
}

/** `keepsResults` is for a step that runs all of its calls again. @throws TypeError for anything but a tool of LangChain's own kind */
export function guardedBy<Tool extends GuardableTool>(guard: ToolGuard, tool: Tool, keepsResults: boolean): Tool {
  const { name, _call, func, responseFormat } = tool as Tool & Record<'_call' | 'func' | 'responseFormat', unknown>
  const hasArtifact = responseFormat === 'content_and_artifact'
  if (typeof _call !== 'function')
    throw new TypeError(`${name} has no _call. Guard the agent that calls it with countersignGuard.`)
  /** Every method of the tool calls this. */
  const guarded = (args: unknown, second?: RunManager | CallConfig | null, third?: CallConfig): Promise<unknown> => {
    // A tool that was made of the `func` of this one passes no manager.
    const manager = second && 'getChild' in second ? second : undefined
    const runtime = third ?? (second && !('getChild' in second) ? second : {})
    const { toolCall } = runtime
    const call = callOf(runtime, name, toolCall?.id)
    const run = async (held: unknown) => ended(await Reflect.apply(_call, tool, [held, manager, runtime]), manager)
    const quote = toolCall && (hasArtifact ? withWordsInContent : withWords)
    const refuse = (denied: DeniedError): unknown => {
      if (toolCall === undefined) throw denied
      const message = denialMessage(denied, call)
      return hasArtifact ? [message, undefined] : message
    }
    return guardCall(guard, runtime, { call, args, run, quote, refuse }, keepsResults)
  }
  return copyOf(tool, { _call: guarded, ...(typeof func === 'function' && { func: guarded }) })
}

function withWordsInContent(result: unknown, words: string): unknown {
  return Array.isArray(result) ? [withWords(result[0], words), ...result.slice(1)] : withWords(result, words)
}

/** The result of a tool. One that streams has run after its last chunk, so its chunks are read here, as LangChain does. */
async function ended(result: unknown, manager: RunManager | undefined): Promise<unknown> {
  if (typeof Object(result)[Symbol.asyncIterator] !== 'function' || typeof Object(result).next !== 'function')
    return result
  for (;;) {
    const { done, value } = await (result as AsyncGenerator).next()
    if (done) return value
    await manager?.handleToolEvent?.(value).catch((error) => manager.handleToolError(error))
  }
}
