/** What the main entry exports in addition to the client itself, over Node and over `fetch`. */
export type { AuthorizeRequest } from './authorize-request.js'
export type { CapabilitiesQuestion } from './capabilities.js'
export type { CountersignClient, StatsQuery } from './countersign-client.js'
export type {
  Admission,
  AdmitOptions,
  ObservedAdmission,
  PausedAdmission,
  PermittedAdmission,
} from './enforcement/admission.js'
export type { Asked, GuardRequest } from './enforcement/arguments/asked.js'
export type { EnforcementEvent, ShownDecision, Would } from './enforcement/enforcement-event.js'
export type { EnforcementOptions } from './enforcement/enforcement-options.js'
export type { EnforcementPoint, FlushOptions } from './enforcement/enforcement-point.js'
export type { GuardOptions, ProtectOptions } from './enforcement/guard-options.js'
export type { GuardRun, PermittedRun } from './enforcement/guard-run.js'
export type { FromArguments, ProtectMapping } from './enforcement/protect.js'
export type { RunOptions } from './enforcement/run-options.js'
export type {
  ActionOutcome,
  Settle,
  Settlement,
  SettlementResult,
  SettlementState,
  SettleOn,
} from './enforcement/settlement/settlement.js'
export { ApiError } from './errors/api-error.js'
export { CountersignError } from './errors/countersign-error.js'
export { DeniedError, type DeniedReason } from './errors/denied-error.js'
export { NotPermittedError, type NotPermittedReason } from './errors/not-permitted-error.js'
export { refusalForModel } from './errors/refusal-for-model.js'
export { UnavailableError, type UnavailableKind } from './errors/unavailable-error.js'
export { type AskedAction, isPermitted, type PermittedDecision } from './is-permitted.js'
export type { CallOptions, CallSignal, CountersignOptions, IdempotentCallOptions } from './options.js'
export type { PageQuery, Pages } from './pages.js'
export type { SuspendOptions } from './resources/agents.js'
export type { AuditQuery, ConsistencyQuery } from './resources/audit.js'
export type { DecisionGetOptions, DecisionQuery, ReviewWaitOptions } from './resources/decisions.js'
export type { EventsOptions, ReceivedEvent } from './resources/events.js'
export type { KeyRotateOptions } from './resources/keys.js'
export type { PolicyChangeOptions } from './resources/policies.js'
export type { DeliveryQuery, SecretRotateOptions } from './resources/webhooks.js'
export type * from './wire.js'
