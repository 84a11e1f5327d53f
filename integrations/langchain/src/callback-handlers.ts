/** What callbacks of LangChain can do: watch tools, and stop them as a second best. */
import { DeniedError, type GuardRequest, refusalForModel } from '@countersign/client'
import { assertOptions, mappingIn, questionOfTool, TOOL_GUARD_OPTIONS } from '@countersign/client/kernel'
import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { type ToolsGuardOptions, toolGuard } from './guard-options.js'
import { failureOf } from './guarded-call.js'
import { isGraphBubbleUp } from './review.js'
import { ToolSchema } from './tool-schema.js'

/** Callbacks are told no context: `configurable` of a call is the metadata of its run, with `thread_id`. */
export interface CallbackHandlerOptions extends Omit<ToolsGuardOptions, 'mode' | 'review'> {
  /**
   * The tools of the run. A callback is told the arguments as the model wrote them, and the tool runs with what its schema makes
   * of them: another amount, when it transforms. With `tools`, that is asked about; a tool that is not among them is a deny, and
   * so is a call whose arguments its schema cannot read from JSON. Without them, it is asked about what the model wrote.
   */
  readonly tools?: readonly { readonly name: string }[] | undefined
}

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

  protected constructor(name: string, options: CallbackHandlerOptions & ToolsGuardOptions, isBlocking: boolean) {
    super({ raiseError: isBlocking, _awaitHandler: isBlocking })
    const { map, tools, ...rest } = options
    const [mappingOf, guard] = [mappingIn(map), toolGuard(rest)]
    const known = tools && new Map(tools.map((tool) => [tool.name, tool]))
    this.begin = (tool, input, runId, _parent, _tags, metadata = {}, runName, toolCallId) => {
      const called = runName ?? tool.name ?? tool.id.at(-1) ?? name
      const call = { name: called, id: toolCallId, context: {}, configurable: metadata }
      const ended = new Promise<unknown>((succeed, fail) => this.#ends.set(runId, { succeed, fail }))
      ended.catch(() => undefined)
      const schema = new ToolSchema(known?.get(called))
      const request = (args: unknown) => (): GuardRequest => {
        if (known?.has(called) === false) throw new TypeError(`${called} is not among tools: add it there`)
        if (schema.hasRefused) throw new TypeError(`the schema of ${called} cannot read its arguments from JSON`)
        return questionOfTool(guard, mappingOf(called), args, call)
      }
      const asking = schema
        .parse(argumentsIn(input))
        .then((args) => guard.point.admit(request(args), { tag: toolCallId ?? called }))
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

  constructor(options: CallbackHandlerOptions & { readonly tools: readonly { readonly name: string }[] }) {
    assertOptions('BlockingCallbackHandler', options, HANDLER_OPTIONS)
    if (!Array.isArray(options.tools))
      throw new TypeError(
        'tools is missing: give the tools of the run, or one may run with other arguments than were asked about',
      )
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

const HANDLER_OPTIONS = [...TOOL_GUARD_OPTIONS.filter((option) => !['mode', 'review'].includes(option)), 'map', 'tools']

/** A tool tells its arguments as JSON, or as the text that it was given. */
function argumentsIn(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
