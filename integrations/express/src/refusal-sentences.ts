/** What a caller is told of each refusal, in a sentence or two: what happened, and what to do next. */
import type { DeniedReason } from '@countersign/client'
import { REFUSAL_SENTENCES } from '@countersign/client/kernel'
import type { PermitErrorCode } from '@countersign/permit'
import type { RouteDeniedCode } from './route-denied-error.js'

const NO_PERMIT =
  'What this request shows is no permit of the decision point. Show the permit_token of a decision, whole.'
const NOT_FOR_THIS = 'Ask for a decision about exactly what this call does, and show its permit.'
const OPERATOR = 'The operator finds the cause in the warnings and events of this service.'

/** Of permits that were shown. */
export const PERMIT_SENTENCES: Readonly<Record<PermitErrorCode, string>> = {
  token_malformed: NO_PERMIT,
  token_too_large: NO_PERMIT,
  header_invalid: NO_PERMIT,
  header_member_not_allowed: NO_PERMIT,
  algorithm_not_allowed: NO_PERMIT,
  type_not_allowed: NO_PERMIT,
  claims_invalid: NO_PERMIT,
  life_too_long: NO_PERMIT,
  signature_invalid: 'The signature of this permit does not hold. Show the permit_token of a decision, unchanged.',
  key_unknown: `This permit was signed with a key that this service does not know: it is from another decision point, or the service reads another key set. ${OPERATOR}`,
  key_unusable: `The key that this permit was signed with cannot be used here. ${OPERATOR}`,
  key_set_unavailable: `This service cannot read the keys of the decision point now, so nothing ran. Try again later. ${OPERATOR}`,
  issuer_mismatch: `This permit is from another issuer than this service takes permits from. ${OPERATOR}`,
  audience_mismatch: `This permit is for another audience than this service. ${OPERATOR}`,
  expired:
    'This permit is over. Ask for a new decision, and show its permit at once. If new permits are over at once, the operator has to set the clock of this service.',
  issued_in_future:
    'By the clock of this service, this permit was signed in the future: the clocks of the service and the decision point differ. The operator has to set them.',
  effect_not_allowed: `A permit of this effect lets nothing run here. ${NOT_FOR_THIS}`,
  expectation_missing: `This call does not say what its permit has to be for, so nothing ran. Check what you have sent. ${OPERATOR}`,
  action_mismatch: `This permit is for another action. ${NOT_FOR_THIS}`,
  resource_mismatch: `This permit is for another resource. ${NOT_FOR_THIS}`,
  agent_mismatch: `This permit is for another agent. ${NOT_FOR_THIS}`,
  amount_mismatch: `This permit is for another amount. ${NOT_FOR_THIS}`,
  unit_mismatch: `This permit is for another unit. ${NOT_FOR_THIS}`,
  request_hash_mismatch: `This permit is for another request: the facts that were asked about differ from those of this call. ${NOT_FOR_THIS}`,
  already_seen: 'This permit was used up before. Every call needs a permit of its own: ask for a new decision.',
  replay_check_failed: `This service cannot tell now whether this permit was used before, so nothing ran. Try again later. ${OPERATOR}`,
}

type OwnCode = Exclude<RouteDeniedCode, DeniedReason | PermitErrorCode>

const OWN_SENTENCES: Readonly<Record<OwnCode, string>> = {
  agent_missing: 'This call does not say which agent makes it. Send an access token that this service accepts.',
  permit_missing:
    'This call shows no permit. Ask for a decision, and show its permit_token in the header that WWW-Authenticate names.',
  permit_ambiguous: 'This call shows more than one permit. Show one, in one header.',
  idempotency_key_reused: 'This idempotency key was used for another call. Use a new key for a new call.',
}

/** Where a code is one of permits and of decisions, the sentence is that of decisions. */
export const ROUTE_SENTENCES: Readonly<Record<RouteDeniedCode, string>> = {
  ...PERMIT_SENTENCES,
  ...REFUSAL_SENTENCES,
  ...OWN_SENTENCES,
}
