/** What is known of a call of a tool, and how it is mapped: the kernel's words for LangChain. */
import type { AgentIdOfCall, ToolMapping as Mapping, MappedMembers as Members } from '@countersign/client/kernel'

/** What a mapping can read in addition to the arguments. */
export interface GuardedToolCall {
  readonly name: string
  /** Undefined where the model gave none, and where a program calls the tool itself. */
  readonly id: string | undefined
  /** Given with the invocation, as in `agent.invoke(input, { context })`; empty without one. */
  readonly context: Readonly<Record<string, unknown>>
  /** Given with the invocation, too: `thread_id`, and what else the app puts there. */
  readonly configurable: Readonly<Record<string, unknown>>
}

export type ToolMapping = Mapping<GuardedToolCall>
export type MappedMembers = Members<GuardedToolCall>
export type AgentId = AgentIdOfCall<GuardedToolCall>
