/**
 * `@countersign/client/kernel`: the parts, besides the client, that integrations with frameworks share. Programs that
 * guard their own actions do not need it.
 *
 * Source: docs/enforcement.md "Write an integration".
 */
export { frozenCopy } from './enforcement/arguments/frozen-copy.js'
export { heldData } from './enforcement/arguments/held-data.js'
export { assertNoMissingPart, type TemplateField } from './enforcement/arguments/missing-part.js'
export { memberAt, nameTemplate, VISIBLE } from './enforcement/arguments/name-template.js'
export { faultOfPath } from './enforcement/arguments/path-fault.js'
export { atOnce } from './enforcement/at-once.js'
export { ENFORCEMENT_OPTIONS } from './enforcement/enforcement-options.js'
export { eventReporter } from './enforcement/reporting/enforcement-event.js'
export { noteFaultPlace, warnOfFault } from './enforcement/reporting/operator-faults.js'
export { isOutcomeUnknown } from './enforcement/settling/unknown-outcome.js'
export type { CallStep, EndedCall } from './enforcement/tools/call-in-step.js'
export { HiddenTools } from './enforcement/tools/hidden-tools.js'
export { actionOfTool } from './enforcement/tools/tool-action.js'
export {
  type CallToRun,
  currentRun,
  type DecisionEvent,
  type ReviewRequest,
  runToolCall,
  variantOf,
} from './enforcement/tools/tool-call.js'
export {
  guardOfOneTool,
  type MappedCall,
  type MappedMembers,
  mappingIn,
  TOOL_GUARD_OPTIONS,
  type ToolArguments,
  type ToolGuard,
  type ToolGuardOptions,
  type ToolMapping,
  toolGuard,
} from './enforcement/tools/tool-guard.js'
export type { PreparedCall } from './enforcement/tools/tool-question.js'
export { REFUSAL_SENTENCES } from './errors/refusal-sentences.js'
export { plainWithWords } from './errors/reviewer-words.js'
export { knownOptions } from './known-options.js'
export { warnOperator } from './operator-warning.js'
