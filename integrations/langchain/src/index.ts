/** LangChain agents whose tools run only on a decision that permits it. Source: docs/langchain.md. */
export { type CountersignGuardOptions, countersignGuard } from './countersign-guard.js'
export type { ToolGuardOptions } from './guard-options.js'
export type { ToolDenial } from './tool-messages.js'
export type { AgentId, GuardedToolCall, MappedCall, ToolArguments, ToolMapping } from './tool-question.js'
