export { checkRoutes } from './check-routes.js'
export type { FromRequest } from './from-request.js'
export { guard } from './guard.js'
export type { EnforcingGuardOptions, RouteGuardOptions, RouteOptions } from './guard-options.js'
export type {
  GuardedHandler,
  GuardedRequest,
  RouteGuard,
  VerifiedHandler,
  VerifiedRequest,
} from './guarded-handler.js'
export { permitErrors } from './permit-errors.js'
export type { PermitEvent } from './permit-event.js'
export type { RouteDeniedCode } from './refusal-sentences.js'
export { requirePermit } from './require-permit.js'
export type { PermitEffect, RequirePermitOptions } from './require-permit-options.js'
export { RouteDeniedError, type RouteProblem } from './route-denied-error.js'
export type { ObservedRoute, PermittedRoute, RoutePermit, VerifiedPermit } from './route-permit.js'
export type { Redeemer } from './single-use.js'
export { webhookReceiver } from './webhook-receiver.js'
export type { HandledWebhooks, WebhookHandlers, WebhookReceiverOptions } from './webhook-receiver-options.js'
