/** A small store with something of everything: what `fixtures/store-v1.db` was filled with. */

import type { StoredAgent } from '#server/ports/store/documents'
import {
  agentOf,
  createOf,
  type Draft,
  decisionOf,
  idempotencyOf,
  idOf,
  instant,
  keyOf,
  policyOf,
  requestOf,
  reviewOf,
  updateOf,
  writeAgentOf,
  writeKeyOf,
  writePolicyOf,
} from '../../store-suite/index.js'

export const REFUNDS = policyOf(1, 1)
export const REFUNDS_LATER = policyOf(1, 2, {
  version: 2,
  updated_at: instant(5),
  document: { name: 'refunds', rules: [{ action: 'payment.*', effect: 'review' }], agents: ['agent:support-*'] },
})
const MAIL = policyOf(2, 3)
const MAIL_DELETED = policyOf(2, 4, { version: 2, deleted_at: instant(8) })

export const ALLOWED = decisionOf(10)
export const ALLOWED_REQUEST = requestOf(10, { amount: 42.5, currency: 'EUR', note: 'naïve ☃ 𝄞', $where: [1e-7, null] })
export const DENIED = decisionOf(11, { effect: 'deny', status: 'denied', resource: null, agent_id: 'agent:billing' })
export const WAITING = reviewOf(12)
export const SUSPENDED: StoredAgent = agentOf('agent:rogue', {
  registration: null,
  last_revision: 0,
  suspended: { at: instant(9), by: idOf('key', 1), reason: 'loops' },
})
export const REGISTERED = agentOf('agent:support-7')
export const KEY = keyOf(1, { scopes: ['*'] })
export const IDEMPOTENCY = idempotencyOf(ALLOWED.id)

export const SAMPLE: readonly Draft[] = [
  { change: writeKeyOf(KEY) },
  { change: writePolicyOf(REFUNDS) },
  { change: writePolicyOf(REFUNDS_LATER) },
  { change: writePolicyOf(MAIL) },
  { change: writePolicyOf(MAIL_DELETED) },
  { change: writeAgentOf(REGISTERED) },
  { change: writeAgentOf(SUSPENDED) },
  { change: createOf(ALLOWED, ALLOWED_REQUEST), idempotency: IDEMPOTENCY },
  { change: createOf(DENIED, requestOf(11, null)) },
  { change: createOf(WAITING) },
  { change: updateOf(ALLOWED, { redeemed: { by: idOf('key', 1), at: instant(20) } }) },
  { change: { kind: 'entry.only' } },
]

export const KEY_USES = new Map([[KEY.id, instant(60)]])
