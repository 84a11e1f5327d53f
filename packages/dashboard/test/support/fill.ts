/** A server in use, with examples of everything that a page shows. */

import { createPolicy, decide, makeKey, REFUNDS, succeed } from '../../../../server/test/api/refunds.js'
import type { RunningServer } from '../../../../server/test/running-server.js'

export interface Filled {
  readonly policyId: string
  readonly deniedId: string
  readonly reviewId: string
  readonly confirmedId: string
  readonly webhookId: string
  readonly agentId: string
  readonly suspendedId: string
}

/** A port of this machine without a listener, so that no delivery leaves the machine. */
export const NOBODY = 'http://127.0.0.1:9'
/** How the server must be configured for that URL. */
export const LOCAL_WEBHOOKS = { webhookAllowPrivate: true } as const

const AGENT = 'agent:support-7'
const SUSPENDED = 'agent:rogue'

export async function fill(server: RunningServer): Promise<Filled> {
  const post = (path: string, body: object) => succeed(server.call('POST', path, { body }))
  await post('/v1/agents', { id: AGENT, name: 'Support desk', description: 'Refunds', metadata: { team: 'support' } })
  const policy = await createPolicy(server, {
    ...REFUNDS,
    description: 'Small refunds by themselves, larger ones with a person.',
    budget: { limit: 500, unit: 'EUR', period: 'daily', on_exceed: 'deny' },
  })
  await createPolicy(server, {
    name: 'nightly exports',
    mode: 'shadow',
    rules: [{ action: 'db.export', effect: 'deny', conditions: { 'now.hour': { $lt: 6 } } }],
  })
  await createPolicy(server, { name: 'reads', priority: -1, rules: [{ action: 'db.read', effect: 'log' }] })
  const ask = (amount: number, resource: string) =>
    decide(server, { agent_id: AGENT, action: 'payment.refund', resource, context: { amount, currency: 'EUR' } })
  const confirmed = await ask(90, 'order:1')
  await post(`/v1/decisions/${confirmed.id}/confirm`, { amount: 85 })
  for (let i = 2; i <= 5; i++) await ask(88, `order:${i}`)
  const denied = await ask(5_000, 'order:6')
  const review = await ask(420, 'order:7')
  await ask(420, 'order:7')
  await decide(server, { agent_id: 'agent:reporter', action: 'db.read', resource: 'table:orders' })
  await decide(server, { agent_id: SUSPENDED, action: 'shell.run', context: { command: 'rm -rf /' } })
  await post(`/v1/agents/${SUSPENDED}/suspend`, { reason: 'It asked to delete everything.' })
  const webhook = await post('/v1/webhooks', {
    url: `${NOBODY}/countersign`,
    description: 'Chat of the desk',
  })
  await makeKey(server, ['decisions:write'], { agents: ['agent:support-*'] })
  return {
    policyId: policy.id,
    deniedId: denied.id,
    reviewId: review.id,
    confirmedId: confirmed.id,
    webhookId: webhook.id,
    agentId: AGENT,
    suspendedId: SUSPENDED,
  }
}

/** Every page, by the name of its screenshot. */
export function pagesOf(filled: Filled): Readonly<Record<string, string>> {
  return {
    overview: '/',
    decisions: '/decisions',
    'decision-denied': `/decisions/${filled.deniedId}`,
    'decision-review': `/decisions/${filled.reviewId}`,
    'decision-confirmed': `/decisions/${filled.confirmedId}`,
    reviews: '/reviews',
    policies: '/policies',
    policy: `/policies/${filled.policyId}`,
    'policy-draft': `/policies/${filled.policyId}?for=${filled.deniedId}`,
    'policy-revisions': `/policies/${filled.policyId}?tab=revisions`,
    'policy-new': '/policies/new',
    simulator: '/simulator',
    budgets: '/budgets',
    agents: '/agents',
    agent: `/agents/${encodeURIComponent(filled.agentId)}`,
    'agent-suspended': `/agents/${encodeURIComponent(filled.suspendedId)}`,
    keys: '/keys',
    webhooks: '/webhooks',
    webhook: `/webhooks/${filled.webhookId}`,
    audit: '/audit',
    'get-started': '/get-started',
    reference: '/docs',
    'not-found': '/there-is-no-such-page',
  }
}
