/** The exports of the main entry besides the client itself, for both Node and `fetch`. */
export type { CapabilitiesQuestion } from './capabilities.js'
export type { CountersignClient, StatsQuery } from './countersign-client.js'
export type { Asked, GuardRequest } from './enforcement/asking/asked.js'
export type { FlushOptions } from './enforcement/enforcement-calls.js'
export type { EnforcementOptions } from './enforcement/enforcement-options.js'
export type { EnforcementPoint } from './enforcement/enforcement-point.js'
export type { GuardOptions, ProtectOptions } from './enforcement/guard-options.js'
export type { EnforcementEvent, ShownDecision, Would } from './enforcement/reporting/enforcement-event.js'
export type {
  Admission,
  AdmitOptions,
  ObservedAdmission,
  PausedAdmission,
  PermittedAdmission,
} from './enforcement/running/admission.js'
export type { GuardRun, PermittedRun, RunOptions } from './enforcement/running/guard-run.js'
export type { FromArguments, ProtectMapping } from './enforcement/running/protect.js'
export type {
  ActionOutcome,
  Settle,
  Settlement,
  SettlementResult,
  SettlementState,
  SettleOn,
} from './enforcement/settling/settlement.js'
export { ApiError } from './errors/api-error.js'
export { CountersignError } from './errors/countersign-error.js'
export { DeniedError } from './errors/denied-error.js'
export { NotPermittedError } from './errors/not-permitted-error.js'
export { refusalForModel } from './errors/refusal-for-model.js'
export type { DeniedReason, NotPermittedReason } from './errors/refusal-reason.js'
export { UnavailableError, type UnavailableKind } from './errors/unavailable-error.js'
export type { AuditFollowQuery, FollowedPage, FollowOptions } from './follow-options.js'
export { type AskedAction, isPermitted, type PermittedDecision } from './is-permitted.js'
export type { AuthorizeRequest, CallOptions, CallSignal, CountersignOptions, IdempotentCallOptions } from './options.js'
export type { PageQuery, Pages } from './pages.js'
export type { ReceivedEvent } from './received-event.js'
export type { SuspendOptions } from './resources/agents.js'
export type { AuditQuery, AuditRecordQuery, ConsistencyQuery } from './resources/audit.js'
export type { DecisionGetOptions, DecisionQuery, ReviewWaitOptions } from './resources/decisions.js'
export type { EventsOptions } from './resources/events.js'
export type { KeyRotateOptions } from './resources/keys.js'
export type { PolicyChangeOptions, PolicyPutOptions } from './resources/policies.js'
export type { DeliveryQuery, SecretRotateOptions } from './resources/webhooks.js'
export type * from './wire.js'
