/** LangChain agents whose tools run only on a decision that permits it. Source: docs/langchain.md. */
export { AuditCallbackHandler, BlockingCallbackHandler, type CallbackHandlerOptions } from './callback-handlers.js'
export { type CountersignGuardOptions, countersignGuard } from './countersign-guard.js'
export type { ToolGuardOptions, ToolsGuardOptions } from './guard-options.js'
export { type GuardToolOptions, guardTool } from './guard-tool.js'
export { currentRun, type DecisionEvent } from './guarded-call.js'
export type { ReviewRequest } from './review.js'
export type { ToolDenial } from './tool-messages.js'
export type {
  AgentId,
  GuardedToolCall,
  MappedCall,
  MappedMembers,
  ToolArguments,
  ToolMapping,
} from './tool-question.js'
