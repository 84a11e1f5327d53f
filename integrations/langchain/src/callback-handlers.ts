/** What callbacks of LangChain can do: watch tools, and stop them as a second best. */
import { DeniedError, refusalForModel } from '@countersign/client'
import { assertOptions, questionOfTool } from '@countersign/client/kernel'
import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { mappingIn, TOOL_GUARD_OPTIONS, type ToolsGuardOptions, toolGuard } from './guard-options.js'
import { failureOf } from './guarded-call.js'
import { isGraphBubbleUp } from './review.js'

/** Callbacks are told no context: `configurable` of a call is the metadata of its run, with `thread_id`. */
export type CallbackHandlerOptions = Omit<ToolsGuardOptions, 'mode' | 'review'>

type Start = Parameters<NonNullable<BaseCallbackHandler['handleToolStart']>>

/** A run of a tool, as its end is told. */
interface End {
  succeed(output: unknown): void
  fail(error: unknown): void
}

abstract class ToolCallbackHandler extends BaseCallbackHandler {
  /** Resolves once the tool may begin; the handler settles it when its end is told. */
  protected readonly begin: (...start: Start) => Promise<void>
  readonly #ends = new Map<string, End>()

  protected constructor(name: string, options: ToolsGuardOptions, isBlocking: boolean) {
    super({ raiseError: isBlocking, _awaitHandler: isBlocking })
    const { map, ...rest } = options
    const [mappingOf, guard] = [mappingIn(map), toolGuard(rest)]
    this.begin = (tool, input, runId, _parent, _tags, metadata = {}, runName, toolCallId) => {
      const called = runName ?? tool.name ?? tool.id.at(-1) ?? name
      const call = { name: called, id: toolCallId, context: {}, configurable: metadata }
      const ended = new Promise<unknown>((succeed, fail) => this.#ends.set(runId, { succeed, fail }))
      ended.catch(() => undefined)
      const request = () => questionOfTool(guard, mappingOf(called), argumentsIn(input), call)
      const asking = guard.point.admit(request, { tag: toolCallId ?? called })
      const how = { outcome: failureOf, isPause: isGraphBubbleUp }
      return new Promise<void>((begun, refused) => {
        const run = () => {
          begun()
          return ended
        }
        asking.then((admission) => guard.point.run(admission, run, how)).catch(refused)
      })
    }
  }

  override handleToolEnd(output: unknown, runId: string): void {
    this.#ends.get(runId)?.succeed(output)
    this.#ends.delete(runId)
  }

  override handleToolError(error: unknown, runId: string): void {
    this.#ends.get(runId)?.fail(error)
    this.#ends.delete(runId)
  }

  /** LangChain copies handlers: each run has one that knows of it. */
  override copy(): this {
    return this
  }
}

/**
 * Asks about each tool that runs and tells `onEvent` what would have been, as the mode `observe` does; stops and delays nothing.
 *
 * @throws TypeError naming the faulty option
 */
export class AuditCallbackHandler extends ToolCallbackHandler {
  readonly name = 'AuditCallbackHandler'

  constructor(options: CallbackHandlerOptions) {
    assertOptions('AuditCallbackHandler', options, HANDLER_OPTIONS)
    super('AuditCallbackHandler', { ...options, mode: 'observe' }, false)
  }

  override handleToolStart(...start: Start): void {
    this.begin(...start).catch(() => undefined)
  }
}

/**
 * Keeps a tool from running by throwing in its callback: the second best, for where neither the agent nor the tool can be
 * guarded. It stops no tool that is called without its callbacks, cannot wait for a review, and its refusal is an error of the
 * tool. Both flags that LangChain needs for that are set.
 *
 * @throws TypeError naming the faulty option
 */
export class BlockingCallbackHandler extends ToolCallbackHandler {
  readonly name = 'BlockingCallbackHandler'

  constructor(options: CallbackHandlerOptions) {
    assertOptions('BlockingCallbackHandler', options, HANDLER_OPTIONS)
    super('BlockingCallbackHandler', options, true)
  }

  override async handleToolStart(...start: Start): Promise<void> {
    try {
      await this.begin(...start)
    } catch (error) {
      throw DeniedError.isInstance(error) ? new Error(refusalForModel(error), { cause: error }) : error
    }
  }
}

const HANDLER_OPTIONS = [...TOOL_GUARD_OPTIONS.filter((option) => !['mode', 'review'].includes(option)), 'map']

/** A tool tells its arguments as JSON, or as the text that it was given. */
function argumentsIn(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
