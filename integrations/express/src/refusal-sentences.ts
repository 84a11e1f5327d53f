/** The codes of refusals, and their sentences for a caller: what happened, and what to do next. */
import type { DeniedReason } from '@countersign/client'
import { REFUSAL_SENTENCES } from '@countersign/client/kernel'
import type { PermitErrorCode } from '@countersign/permit'

/**
 * Why a route did not run: the reasons of an enforcement point, those of a permit check, and
 * - `agent_missing`: the call has no agent;
 * - `permit_missing`, `permit_ambiguous`: the request shows no permit, or more than one;
 * - `idempotency_key_reused`: the key was used with another question before.
 */
export type RouteDeniedCode =
  | DeniedReason
  | PermitErrorCode
  | 'agent_missing'
  | 'permit_missing'
  | 'permit_ambiguous'
  | 'idempotency_key_reused'

const NO_PERMIT = 'This request shows something other than a permit. Show the whole permit_token of a decision.'
const NOT_FOR_THIS = 'Ask for a decision about exactly what this call does, and show its permit.'
const OPERATOR = 'The operator finds the cause in the warnings and events of this service.'

/** Refusals of permits that callers showed. */
export const PERMIT_SENTENCES: Readonly<Record<PermitErrorCode, string>> = {
  token_malformed: NO_PERMIT,
  token_too_large: NO_PERMIT,
  header_invalid: NO_PERMIT,
  header_member_not_allowed: NO_PERMIT,
  algorithm_not_allowed: NO_PERMIT,
  type_not_allowed: NO_PERMIT,
  claims_invalid: NO_PERMIT,
  life_too_long: NO_PERMIT,
  signature_invalid: 'The signature of this permit is not valid. Show the permit_token of a decision, unchanged.',
  key_unknown: `This service does not know the key that signed this permit. The permit is from another decision point, or the service reads another key set. ${OPERATOR}`,
  key_unusable: `This service cannot use the key that signed this permit. ${OPERATOR}`,
  key_set_unavailable: `This service cannot read the keys of the decision point now. Try again later. ${OPERATOR}`,
  issuer_mismatch: `This service does not accept permits of this issuer. ${OPERATOR}`,
  audience_mismatch: `This permit is for another audience. ${OPERATOR}`,
  expired:
    'This permit has expired. Ask for a new decision, and show its permit at once. If new permits expire at once, the operator must set the clock of this service.',
  issued_in_future:
    'This permit was signed in the future by the clock of this service. The operator must set the clocks of the service and the decision point.',
  effect_not_allowed: `This service does not accept permits of this effect. ${NOT_FOR_THIS}`,
  expectation_missing: `The arguments of this call could not be mapped to what its permit must be for. Check what you have sent. ${OPERATOR}`,
  action_mismatch: `This permit is for another action. ${NOT_FOR_THIS}`,
  resource_mismatch: `This permit is for another resource. ${NOT_FOR_THIS}`,
  agent_mismatch: `This permit is for another agent. ${NOT_FOR_THIS}`,
  amount_mismatch: `This permit is for another amount. ${NOT_FOR_THIS}`,
  unit_mismatch: `This permit is for another unit. ${NOT_FOR_THIS}`,
  request_hash_mismatch: `This permit is for a request with other facts. ${NOT_FOR_THIS}`,
  already_seen: 'This permit was used before. Ask for a new decision: every call needs its own permit.',
  replay_check_failed: `This service cannot tell now whether this permit was used before. Try again later. ${OPERATOR}`,
}

type OwnCode = Exclude<RouteDeniedCode, DeniedReason | PermitErrorCode>

const OWN_SENTENCES: Readonly<Record<OwnCode, string>> = {
  agent_missing: 'This call does not say which agent makes it. Send an access token that this service accepts.',
  permit_missing:
    'This call shows no permit. Ask for a decision, and show its permit_token in the header that WWW-Authenticate names.',
  permit_ambiguous: 'This call shows more than one permit. Show one, in one header.',
  idempotency_key_reused: 'This idempotency key was used for another call. Use a new key for a new call.',
}

/** For a code of both permits and decisions, the sentence is that of decisions. */
export const ROUTE_SENTENCES: Readonly<Record<RouteDeniedCode, string>> = {
  ...PERMIT_SENTENCES,
  ...REFUSAL_SENTENCES,
  unmapped: 'This route is not mapped to an action. The operator must map it to one.',
  ...OWN_SENTENCES,
}
