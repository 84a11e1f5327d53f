/** LangChain agents whose tools run only on a decision that permits it. Source: docs/langchain.md. */
export {
  currentRun,
  type DecisionEvent,
  type MappedCall,
  type ReviewRequest,
  type ToolArguments,
} from '@countersign/client/kernel'
export { AuditCallbackHandler, BlockingCallbackHandler, type CallbackHandlerOptions } from './callback-handlers.js'
export { type CountersignGuardOptions, countersignGuard } from './countersign-guard.js'
export type {
  AgentId,
  GuardedToolCall,
  GuardToolOptions,
  MappedMembers,
  ToolGuardOptions,
  ToolMapping,
  ToolsGuardOptions,
} from './guard-options.js'
export { guardTool } from './guard-tool.js'
export type { ToolDenial } from './guarded-call.js'
