/** The callbacks of LangChain: they can watch tools, and stop them as a last resort. */
import { refusalForModel } from '@countersign/client'
import { knownOptions, runToolCall, TOOL_GUARD_OPTIONS, toolGuard } from '@countersign/client/kernel'
import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { type GuardedToolCall, REVIEWS, type ToolsGuardOptions } from './guard-options.js'
import { callOf, failureOf, isGraphBubbleUp, schemaOf } from './guarded-call.js'

/** A callback gets no context. `configurable` of a call is the metadata of its run, with `thread_id`. */
export interface CallbackHandlerOptions extends Omit<ToolsGuardOptions, 'mode' | 'review'> {
  /**
   * The tools of the run. With them, the handler asks about the arguments after the schema, which may give another amount than
   * the model wrote. It denies a tool that is not among them, and a call whose arguments its schema cannot read from JSON.
   * Without `tools`, it asks about what the model wrote.
   */
  readonly tools?: readonly { readonly name: string }[] | undefined
}

abstract class ToolCallbackHandler extends BaseCallbackHandler {
  readonly name: string
  /** Of a blocking handler: resolves as soon as the tool may begin. */
  override readonly handleToolStart: NonNullable<BaseCallbackHandler['handleToolStart']>
  readonly #ends = new Map<string, (end: unknown) => void>()

  protected constructor(name: string, options: CallbackHandlerOptions, isBlocking: boolean) {
    super({ raiseError: isBlocking, _awaitHandler: isBlocking })
    this.name = name
    const { tools, ...rest } = knownOptions(name, options, HANDLER_OPTIONS)
    const guard = toolGuard(name, { ...rest, mode: isBlocking ? 'enforce' : 'observe' }, REVIEWS)
    const known = tools && new Map(tools.map((tool) => [tool.name, tool]))
    this.handleToolStart = (tool, input, runId, _parent, _tags, configurable = {}, runName, id) => {
      const called = runName ?? tool.name ?? tool.id.at(-1) ?? name
      const schema = schemaOf(known?.get(called))
      const ended = new Promise((resolve) => this.#ends.set(runId, resolve))
      ended.catch(() => undefined)
      const begun = new Promise<void>((begin, fail) => {
        runToolCall<GuardedToolCall, unknown>(guard, {
          call: callOf({ configurable }, called, id),
          args: argumentsIn(input),
          async parse(given) {
            if (known?.has(called) === false) throw new TypeError(`${called} is not among tools: add it there`)
            const args = await schema.parse(given)
            if (schema.hasRefused) throw new TypeError(`the schema of ${called} cannot read its arguments from JSON`)
            return args
          },
          // An audit is about every tool that runs, guarded or not.
          nested: 'ask',
          run() {
            begin()
            return ended
          },
          outcome: failureOf,
          isPause: isGraphBubbleUp,
          refuse: (denied) => Promise.reject(new Error(refusalForModel(denied), { cause: denied })),
        }).catch(fail)
      })
      return isBlocking ? begun : void begun.catch(() => undefined)
    }
  }

  override handleToolEnd(output: unknown, runId: string): void {
    this.#ends.get(runId)?.(output)
    this.#ends.delete(runId)
  }

  override handleToolError(error: unknown, runId: string): void {
    this.#ends.get(runId)?.(Promise.reject(error))
    this.#ends.delete(runId)
  }

  /** LangChain copies handlers, and this one must know the ends of all runs. */
  override copy(): this {
    return this
  }
}

/**
 * Asks about each tool that runs, and reports to `onEvent` what would have happened. It stops and delays nothing.
 *
 * @throws TypeError naming the faulty option
 */
export class AuditCallbackHandler extends ToolCallbackHandler {
  constructor(options: CallbackHandlerOptions) {
    super('AuditCallbackHandler', options, false)
  }
}

/**
 * Keeps a tool from running by throwing in its callback: the last resort, if neither the agent nor the tool can be guarded.
 * It does not stop a tool that is called without callbacks, cannot wait for a review, and refuses by an error of the tool.
 *
 * @throws TypeError naming the faulty option
 */
export class BlockingCallbackHandler extends ToolCallbackHandler {
  constructor(options: CallbackHandlerOptions & { readonly tools: readonly { readonly name: string }[] }) {
    super('BlockingCallbackHandler', options, true)
    if (!Array.isArray(options.tools))
      throw new TypeError(
        'tools is missing: pass the tools of the run, or a tool may run with other arguments than the decision is about',
      )
  }
}

const HANDLER_OPTIONS = [...TOOL_GUARD_OPTIONS.filter((option) => !['mode', 'review'].includes(option)), 'map', 'tools']

/** LangChain passes the arguments as JSON, or as the text that the tool was given. */
function argumentsIn(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
