/** A call of a tool of LangChain: what names it, how it interrupts its graph, and what its model reads. */
import { type ActionOutcome, type DeniedError, refusalForModel } from '@countersign/client'
import { type CallStep, type CallToRun, runToolCall, warnOperator } from '@countersign/client/kernel'
import { ToolMessage } from '@langchain/core/messages'
import { Validator } from '@langchain/core/utils/json_schema'
import { interopParseAsync, isInteropZodSchema } from '@langchain/core/utils/types'
import type { GuardedToolCall, ToolGuard } from './guard-options.js'
import { keptResultsOf } from './kept-results.js'
import { withWords } from './reviewer-words.js'

/** What LangGraph gives a tool call in addition to its arguments; all of it is absent outside of a graph. */
export interface CallRuntime {
  readonly context?: unknown
  readonly configurable?: Readonly<Record<string, unknown>> | undefined
  readonly signal?: AbortSignal | undefined
  readonly writer?: ((chunk: unknown) => void) | null | undefined
  readonly interrupt?: ((value: unknown) => unknown) | undefined
}

type Called = CallToRun<GuardedToolCall, unknown>

/** The call of a tool by its name and id: what mappings read. */
export function callOf({ context, configurable = {} }: CallRuntime, name: string, id?: string): GuardedToolCall {
  return { name, id, context: Object(context ?? {}), configurable }
}

/**
 * Runs a call if it may, once, and settles it by how it ended. What interrupts the graph is thrown.
 *
 * @param keepsResult keeps the result for a step that runs all of its calls again
 */
export function guardCall(
  guard: ToolGuard,
  { signal, writer, interrupt }: CallRuntime,
  called: Partial<Called> & Pick<Called, 'call' | 'args' | 'run'>,
  keepsResult = false,
): Promise<unknown> {
  const step = stepOf(called.call, keepsResult)
  const pause: Called['pause'] = (request, isAnswered) =>
    // In a step of several calls, the graph may have resumed for another one, whose answer the first interrupt gets.
    interruptFor(interrupt, request, step?.results !== undefined && !isAnswered)
  return runToolCall<GuardedToolCall, unknown>(guard, {
    refuse: (denied) => denialMessage(denied, called.call),
    quote: withWords,
    ...called,
    ...{ signal, step },
    ...(guard.review === 'interrupt' && { pause }),
    outcome: failureOf,
    isPause: isGraphBubbleUp,
    tell: (event) => writer?.(event),
  })
}

/**
 * The schema of a tool, for the arguments of one call. Before the tool runs, it trims them, fills in and leaves out.
 * `hasRefused` says that it refuses them, so the tool does not run with them; `parse` then returns them unchanged.
 */
export function schemaOf(tool: unknown) {
  const { schema } = Object(tool)
  const parser = {
    hasRefused: false,
    async parse(args: unknown): Promise<unknown> {
      try {
        if (isInteropZodSchema(schema)) return await interopParseAsync(schema, args)
        if (schema && typeof schema === 'object') parser.hasRefused = !new Validator(schema).validate(args).valid
      } catch {
        parser.hasRefused = true
      }
      return args
    },
  }
  return parser
}

/** LangGraph calls a tool again when its step resumes, with a new scratchpad for each run. Outside of a thread it never does. */
function stepOf({ id, configurable }: GuardedToolCall, keepsResult: boolean): CallStep | undefined {
  const { thread_id, checkpoint_ns, __pregel_scratchpad: run } = configurable
  if (thread_id === undefined || checkpoint_ns === undefined) return undefined
  return { names: [thread_id, checkpoint_ns, id], run, results: keepsResult ? keptResultsOf(configurable) : undefined }
}

/**
 * Interrupts the graph. Each pass uses up what the graph was resumed with, so that a tool which interrupts itself never gets
 * an answer that was meant for the review. That answer permits nothing.
 *
 * @param parks interrupts until LangGraph has no more answers
 * @returns whether the graph continued without an interrupt
 */
function interruptFor(interrupt: CallRuntime['interrupt'], request: object, parks: boolean): boolean {
  try {
    if (interrupt === undefined) throw new Error('the tool is not called by a graph')
    do interrupt(request)
    while (parks)
    return true
  } catch (error) {
    if (isGraphBubbleUp(error)) throw error
    warnOperator(
      'COUNTERSIGN_NO_CHECKPOINTER',
      `A tool call that awaits a review is denied, because the graph cannot be interrupted (${Object(error).message}). Give the agent or graph a checkpointer and each invocation a thread_id, or set review to 'deny' or 'wait'.`,
    )
    return false
  }
}

/** Whether LangGraph uses the error for control flow, such as an interrupt. */
export function isGraphBubbleUp(error: unknown): boolean {
  return Object(error).is_bubble_up === true
}

/** The outcome of a value that says that the tool failed; undefined for any other value. */
export function failureOf(value: unknown): ActionOutcome | undefined {
  const [content] = Array.isArray(value) ? value : [value]
  const isFailure = ToolMessage.isInstance(content) && content.status === 'error'
  return isFailure ? { kind: 'failed', error: content.text } : undefined
}

/** Why a call did not run, for the app: `artifact.denied` of the message. No model gets it. */
export type ToolDenial = Pick<DeniedError, 'reason' | 'decision_id'>

/** An error message that says what happened and what to do next. It contains neither permit nor policy. */
export function denialMessage(error: DeniedError, call: GuardedToolCall): ToolMessage {
  const denied: ToolDenial = { reason: error.reason, decision_id: error.decision_id }
  return errorMessage(refusalForModel(error), call, { denied })
}

export function errorMessage(content: string, { name, id = '' }: GuardedToolCall, artifact?: unknown): ToolMessage {
  return new ToolMessage({ status: 'error', content, tool_call_id: id, name, artifact })
}
