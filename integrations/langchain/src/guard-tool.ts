import { assertOptions, checkToolMapping, MAPPED_MEMBERS, TOOL_GUARD_OPTIONS } from '@countersign/client/kernel'
import { type ToolGuard, type ToolGuardOptions, toolGuard } from './guard-options.js'
import { type CallRuntime, guardCall } from './guarded-call.js'
import type { MappedMembers, ToolMapping } from './guarded-tool-call.js'
import { denialMessage } from './tool-messages.js'

/** The options of the guard, with the mapping of the tool's calls. */
export type GuardToolOptions = ToolGuardOptions & MappedMembers

/** Any tool of LangChain; its exact type is kept. */
interface GuardableTool {
  readonly name: string
  readonly description?: string | undefined
}

/** What every call of a tool comes to, whichever of its methods it began with. */
type CallWithin = (args: unknown, manager?: RunManager | CallConfig, config?: CallConfig) => unknown

type CallConfig = CallRuntime & { toolCall?: ModelCall }

interface RunManager {
  getChild(): unknown
  handleToolEvent?(chunk: unknown): Promise<void>
  handleToolError(error: unknown): Promise<void>
}

interface ModelCall {
  readonly id?: string | undefined
}

/**
 * The same tool, guarded for every caller and in all of its methods, including `func`. The original stays unguarded.
 *
 * A model is answered by an error message when a call is denied; a program that calls the tool with plain arguments gets the
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
  assertOptions('guardTool', options, [...TOOL_GUARD_OPTIONS, ...MAPPED_MEMBERS])
  const members = Object.entries(options)
  const isMapping = ([name]: [string, unknown]): boolean => MAPPED_MEMBERS.some((member) => member === name)
  const mapping: MappedMembers = Object.fromEntries(members.filter(isMapping))
  checkToolMapping(tool.name, mapping)
  const rest = Object.fromEntries(members.filter((member) => !isMapping(member))) as unknown as ToolGuardOptions
  return guardedBy(toolGuard(rest), mapping, tool)
}

/** @throws TypeError for anything but a tool of LangChain's own kind */
export function guardedBy<Tool extends GuardableTool>(
  guard: ToolGuard,
  mapping: ToolMapping | undefined,
  tool: Tool,
): Tool {
  const { name } = tool
  const { _call: run, func, responseFormat } = tool as { _call?: unknown; func?: unknown; responseFormat?: unknown }
  if (typeof run !== 'function')
    throw new TypeError(
      `${name} has no _call, so it cannot be guarded by itself: guard the agent with countersignGuard`,
    )
  const guarded: CallWithin = (args, second, third) => {
    // A tool that is made of the function of this one gives it no manager.
    const manager = isRunManager(second) ? second : undefined
    const config = third ?? (isRunManager(second) ? {} : (second ?? {}))
    const { toolCall } = config
    const call = { name, id: toolCall?.id, args, mapping, runtime: config }
    const action = async (held: unknown): Promise<unknown> =>
      ended(await Reflect.apply(run, tool, [held, manager, config]), manager)
    return guardCall(guard, call, action, (denied) => {
      if (toolCall === undefined) throw denied
      const message = denialMessage(denied, { name, id: toolCall.id })
      return responseFormat === 'content_and_artifact' ? [message, undefined] : message
    })
  }
  const clone = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool)) as Tool
  const asGuarded = { value: guarded, configurable: true, writable: true }
  return Object.defineProperties(clone, { _call: asGuarded, ...(typeof func === 'function' && { func: asGuarded }) })
}

function isRunManager(value: RunManager | CallConfig | undefined): value is RunManager {
  return typeof Object(value).getChild === 'function'
}

/** What a tool gives in the end: one that streams has run once its last chunk is there. As LangChain does it, but here. */
async function ended(result: unknown, manager: RunManager | undefined): Promise<unknown> {
  if (!isAsyncGenerator(result)) return result
  for (;;) {
    const { done, value } = await result.next()
    if (done) return value
    try {
      await manager?.handleToolEvent?.(value)
    } catch (error) {
      await manager?.handleToolError(error)
    }
  }
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator {
  return typeof Object(value).next === 'function' && typeof Object(value)[Symbol.asyncIterator] === 'function'
}
