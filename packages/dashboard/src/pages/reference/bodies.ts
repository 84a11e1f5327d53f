/** A body for each operation that takes one: it stands in the example, and in the form that tries it. */
import { EXAMPLE_POLICY } from '../../example-policy.js'

const QUESTION = {
  agent_id: 'agent:support-7',
  action: 'payment.refund',
  resource: 'order:8812',
  context: { amount: 42.5, currency: 'EUR' },
}
const METADATA = { team: 'support', level: 2 }
const WEBHOOK = { url: 'https://hooks.example.com/countersign', events: ['decision.review_requested'] }

export const BODIES: Readonly<Record<string, unknown>> = {
  'decisions.decide': QUESTION,
  'decisions.capabilities': { agent_id: 'agent:support-7', actions: ['payment.refund', 'payment.delete'] },
  'decisions.claim': { holder: 'job-77' },
  'decisions.confirm': { amount: 40, note: 'Paid in part.' },
  'decisions.reject': { reason: 'The order was cancelled.' },
  'decisions.correct': { result: 'confirmed', amount: 40, note: 'As in the bank statement.' },
  'decisions.approve': { comment: 'Checked the order.' },
  'decisions.decline': { comment: 'Never paid.' },
  'policies.create': EXAMPLE_POLICY,
  'policies.validate': EXAMPLE_POLICY,
  'policies.replace': EXAMPLE_POLICY,
  'policies.simulate': { request: QUESTION, policies: [EXAMPLE_POLICY] },
  'agents.create': { id: 'agent:support-7', name: 'Support assistant', metadata: METADATA },
  'agents.update': { name: 'Support assistant', metadata: METADATA },
  'agents.suspend': { reason: 'Odd refunds.' },
  'agents.resume': {},
  'keys.create': { name: 'support bots', scopes: ['decisions:write'], agents: ['agent:support-*'] },
  'keys.rotate': { grace_seconds: 3600 },
  'permits.redeem': { permit_token: 'eyJ…' },
  'webhooks.create': WEBHOOK,
  'webhooks.update': { ...WEBHOOK, enabled: true },
  'webhooks.rotateSecret': { grace_seconds: 3600 },
  'webhooks.replay': { since: '2026-11-21T10:00:00.000Z' },
}
