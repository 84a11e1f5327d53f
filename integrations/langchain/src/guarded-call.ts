import { DeniedError } from '@countersign/client'
import type { ToolGuard } from './guard-options.js'
import { type GuardedToolCall, questionOf, type ToolMapping } from './tool-question.js'

/** What LangGraph gives a tool call beside its arguments. */
interface CallRuntime {
  readonly context?: unknown
  readonly configurable?: Readonly<Record<string, unknown>> | undefined
  readonly signal?: AbortSignal | undefined
}

/** A call that is to be asked about. */
export interface CallToGuard {
  readonly name: string
  readonly id: string | undefined
  /** For the mapping alone. */
  readonly args: unknown
  readonly mapping: ToolMapping | undefined
  readonly runtime: CallRuntime
}

/** Runs a call if it may, once, and settles by how it ended. `onDenied` answers in its place; what the action throws is thrown. */
export async function guardCall<Result>(
  { point, agentId }: ToolGuard,
  { name, id, args, mapping, runtime }: CallToGuard,
  run: () => Result | Promise<Result>,
  onDenied: (denied: DeniedError) => Result,
): Promise<Result> {
  const { context, configurable = {}, signal } = runtime
  const call: GuardedToolCall = { name, id, context: Object(context), configurable }
  let isRunning = false
  try {
    const admission = await point.admit(() => questionOf({ point, agentId }, mapping, args, call), { signal })
    return await point.run(admission, () => {
      isRunning = true
      return run()
    })
  } catch (error) {
    if (isRunning || !DeniedError.isInstance(error)) throw error
    return onDenied(error)
  }
}
