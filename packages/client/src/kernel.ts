/**
 * `@countersign/client/kernel`: what integrations with frameworks share in addition to the client. Programs that guard their own actions
 * need none of it.
 *
 * Source: docs/enforcement.md "Write an integration".
 */
export { textOfData } from './enforcement/arguments/data-text.js'
export { frozenCopy } from './enforcement/arguments/frozen-copy.js'
export { heldData } from './enforcement/arguments/held-data.js'
export { assertNoMissingPart } from './enforcement/arguments/missing-part.js'
export { atOnce } from './enforcement/at-once.js'
export { ENFORCEMENT_OPTIONS } from './enforcement/enforcement-options.js'
export { eventReporter } from './enforcement/event-reporter.js'
export { noteFaultPlace } from './enforcement/fault-place.js'
export { warnOfFault } from './enforcement/operator-faults.js'
export { isOutcomeUnknown } from './enforcement/settlement/unknown-outcome.js'
export { actionOfTool } from './enforcement/tool-action.js'
export { HiddenTools } from './enforcement/tools/hidden-tools.js'
export { type CallToPrepare, type PreparedCall, prepareToolCall } from './enforcement/tools/prepared-call.js'
export {
  mappingIn,
  TOOL_GUARD_OPTIONS,
  type ToolGuard,
  type ToolGuardOptions,
  toolGuard,
} from './enforcement/tools/tool-guard.js'
export {
  type AgentIdOfCall,
  type CalledTool,
  checkToolMapping,
  MAPPED_MEMBERS,
  type MappedCall,
  type MappedMembers,
  type QuestionSettings,
  questionOfTool,
  type ToolArguments,
  type ToolMapping,
} from './enforcement/tools/tool-question.js'
export { printable } from './errors/printable.js'
export { REFUSAL_SENTENCES } from './errors/refusal-sentences.js'
export { assertOptions } from './known-options.js'
export { LinesError, linesOf } from './lines.js'
export { warnOperator } from './operator-warning.js'
export { ownMembers } from './own-members.js'
export { readWebhookChecks } from './webhook/verify-webhook.js'
