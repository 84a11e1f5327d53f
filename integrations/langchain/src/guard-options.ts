/** The options of every guard, and what its mappings read of a call: the kernel's, in the words of LangChain. */
import type * as kernel from '@countersign/client/kernel'

/** What a mapping can read in addition to the arguments. */
export interface GuardedToolCall {
  readonly name: string
  /** Undefined if the model gave none, and if a program calls the tool itself. */
  readonly id: string | undefined
  /** The context of the invocation, as in `agent.invoke(input, { context })`; empty without one. */
  readonly context: Readonly<Record<string, unknown>>
  /** The `configurable` of the invocation: `thread_id`, and what else the app puts there. */
  readonly configurable: Readonly<Record<string, unknown>>
}

export type ToolMapping = kernel.ToolMapping<GuardedToolCall>
export type MappedMembers = kernel.MappedMembers<GuardedToolCall>
export type AgentId = NonNullable<ToolsGuardOptions['agentId']>
export type ToolGuard = kernel.ToolGuard<GuardedToolCall, keyof typeof REVIEWS>

/** The option `review` of a guard, and the one of the enforcement point that it stands for. */
export const REVIEWS = { deny: 'throw', interrupt: 'pause', wait: 'wait' } as const

/** For guards of several tools. */
export interface ToolsGuardOptions extends kernel.ToolGuardOptions<GuardedToolCall, keyof typeof REVIEWS> {
  /**
   * What happens to a call that needs a review. `deny` (default): it is denied, with words for the model. `interrupt`: the
   * graph is interrupted with a ReviewRequest until the app resumes it; this needs a checkpointer. `wait`: the call waits
   * for the answer of a person. Whatever a graph is resumed with, only the answer at the decision point counts.
   */
  readonly review?: keyof typeof REVIEWS | undefined
}

/** The options that all guards of this package have. */
export type ToolGuardOptions = Omit<ToolsGuardOptions, 'map'>

/** The options of the guard, with the mapping of the tool's calls. */
export type GuardToolOptions = ToolGuardOptions & MappedMembers
