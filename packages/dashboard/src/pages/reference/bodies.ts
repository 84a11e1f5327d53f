/** A body for each operation that takes one, for its example and its form. */
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
  decisions_decide: QUESTION,
  decisions_capabilities: { agent_id: 'agent:support-7', actions: ['payment.refund', 'payment.delete'] },
  decisions_claim: { holder: 'job-77' },
  decisions_confirm: { amount: 40, note: 'Paid in part.' },
  decisions_reject: { reason: 'The order was cancelled.' },
  decisions_correct: { result: 'confirmed', amount: 40, note: 'As in the bank statement.' },
  decisions_approve: { comment: 'Checked the order.' },
  decisions_decline: { comment: 'Never paid.' },
  policies_create: EXAMPLE_POLICY,
  policies_putByName: EXAMPLE_POLICY,
  policies_validate: EXAMPLE_POLICY,
  policies_replace: EXAMPLE_POLICY,
  policies_simulate: { request: QUESTION, policies: [EXAMPLE_POLICY] },
  agents_create: { id: 'agent:support-7', name: 'Support assistant', metadata: METADATA },
  agents_update: { name: 'Support assistant', metadata: METADATA },
  agents_suspend: { reason: 'Odd refunds.' },
  agents_resume: {},
  keys_create: { name: 'support bots', scopes: ['decisions:write'], agents: ['agent:support-*'] },
  keys_rotate: { grace_seconds: 3600 },
  permits_redeem: { permit_token: 'eyJ…' },
  webhooks_create: WEBHOOK,
  webhooks_update: { ...WEBHOOK, enabled: true },
  webhooks_test: {},
  webhooks_retry: {},
  webhooks_rotateSecret: { grace_seconds: 3600 },
  webhooks_replay: { since: '2026-11-21T10:00:00.000Z' },
}
