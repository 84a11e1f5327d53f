/** One request that succeeds for every route of the table. A route without a case fails the suites that walk the table. */
import type { Scope } from '@countersign/contract'
import type { RunningServer } from '../running-server.js'
import { allowing, createPolicy, decide, makeKey, succeed } from './refunds.js'

interface RouteRequest {
  readonly path: string
  readonly body?: unknown
}

/** What a key that is bound to other agents meets. */
type Bound =
  /** No bound key can hold a scope of the route. */
  | 'cannot hold the scope'
  /** The request names an agent, which is refused. */
  | 'agent_not_allowed'
  | 'not_found'
  /** The list leaves out what is of other agents. */
  | 'left out'
  /** The stream has nothing of other agents: its own suite tells. */
  | 'not sent'
  /** Nothing here belongs to an agent. */
  | 'nothing of agents'

/** Whose request it is to be. */
export interface RouteCaller {
  readonly key: string
  readonly scopes: readonly string[]
}

export interface RouteCase {
  /** A request that succeeds for this caller (the bootstrap key, unless said), with objects of its own where it changes them. */
  readonly request: (caller?: RouteCaller) => Promise<RouteRequest> | RouteRequest
  readonly bound: Bound
  /** Scopes that this request needs in addition to those of its route. */
  readonly alsoNeeds?: readonly Scope[]
}

export const AGENT = 'agent:one'

/** Needs a policy that allows every action. */
export function routeCases(server: RunningServer): Readonly<Record<string, RouteCase>> {
  let made = 0
  const newAgent = async () =>
    (await succeed(server.call('POST', '/v1/agents', { body: { id: `agent:n${made++}` } }))).id
  const admin: RouteCaller = { key: server.key, scopes: ['*'] }
  const may = ({ scopes }: RouteCaller, scope: string) => scopes.includes(scope) || scopes.includes('*')
  const newDecision = (asker = admin) => decide(server, { agent_id: AGENT, action: 'mail.send' }, asker.key)
  /** One that the caller may settle: because it settles any, because it asked, or because it redeemed the permit. */
  const newToSettle = async (caller = admin) => {
    const decision = await newDecision(
      !may(caller, 'decisions:settle') && may(caller, 'decisions:write') ? caller : admin,
    )
    if (!may(caller, 'decisions:settle') && !may(caller, 'decisions:write'))
      await succeed(
        server.call('POST', '/v1/permits/redeem', { key: caller.key, body: { permit_token: decision.permit_token } }),
      )
    return decision
  }
  let reviews: Promise<unknown> | null = null
  const newReview = async (asker = admin) => {
    reviews ??= createPolicy(server, {
      name: 'mails that a person sees',
      rules: [{ action: 'mail.review', effect: 'review' }],
    })
    await reviews
    return decide(server, { agent_id: AGENT, action: 'mail.review' }, asker.key)
  }
  const transition = (id: string, verb: string) => succeed(server.call('POST', `/v1/decisions/${id}/${verb}`))
  const newConfirmed = async () => {
    const { key } = await makeKey(server, ['decisions:write'])
    const { id } = await decide(server, { agent_id: AGENT, action: 'mail.send' }, key)
    return transition(id, 'confirm')
  }
  const newPolicy = async () => (await createPolicy(server, allowing('mail.read'))).id
  const newKey = async () => (await makeKey(server, ['keys:write'])).id
  /** A policy that gives each agent an account; one agent has spent what there is. */
  const newBudget = async () => {
    const [agent_id, action] = [await newAgent(), `calls.n${made++}`]
    const budget = { limit: 1, unit: 'calls', period: 'total', amount: 1, scope: 'agent' }
    const policy = await createPolicy(server, { ...allowing(action), priority: 1, budget })
    const decision = await decide(server, { agent_id, action })
    return { policy, decision }
  }
  /** The same, where the account is of an earlier form of the budget and holds nothing. */
  const newPastBudget = async () => {
    const { policy, decision } = await newBudget()
    await succeed(server.call('POST', `/v1/decisions/${decision.id}/confirm`))
    const body = { ...policy, budget: { ...policy.budget, unit: 'other' } }
    await succeed(server.call('PUT', `/v1/policies/${policy.id}`, { body }))
    return policy
  }

  /** Its host is never found, and it asks for what hardly happens: the feed sends nothing but tests. */
  const webhookBody = () => ({ url: `https://receiver-${made++}.invalid/hook`, events: ['webhook.disabled'] })
  const newWebhook = async () => (await succeed(server.call('POST', '/v1/webhooks', { body: webhookBody() }))).id
  const newDelivery = () => newWebhook().then((id) => succeed(server.call('POST', `/v1/webhooks/${id}/test`)))

  return {
    'decisions.decide': {
      request: () => ({ path: '/v1/decisions', body: { agent_id: AGENT, action: 'mail.send' } }),
      bound: 'agent_not_allowed',
    },
    'decisions.list': { request: () => ({ path: '/v1/decisions' }), bound: 'left out' },
    'decisions.get': {
      // Without decisions:read only its own decisions show.
      request: async (caller = admin) => {
        const asker = may(caller, 'decisions:read') ? admin : caller
        return { path: `/v1/decisions/${(await newDecision(asker)).id}` }
      },
      bound: 'not_found',
    },
    'decisions.explanation': {
      request: async () => ({ path: `/v1/decisions/${(await newDecision()).id}/explanation` }),
      bound: 'not_found',
    },
    'decisions.confirm': {
      request: async (caller) => ({
        path: `/v1/decisions/${(await newToSettle(caller)).id}/confirm`,
        body: { amount: 1 },
      }),
      bound: 'not_found',
    },
    'decisions.reject': {
      request: async (caller) => ({ path: `/v1/decisions/${(await newToSettle(caller)).id}/reject` }),
      bound: 'not_found',
    },
    'decisions.correct': {
      request: async () => ({
        path: `/v1/decisions/${(await newConfirmed()).id}/correct`,
        body: { result: 'rejected' },
      }),
      bound: 'not_found',
    },
    'decisions.approve': {
      request: async () => ({ path: `/v1/decisions/${(await newReview()).id}/approve` }),
      bound: 'not_found',
    },
    'decisions.decline': {
      request: async () => ({ path: `/v1/decisions/${(await newReview()).id}/decline` }),
      bound: 'not_found',
    },
    'decisions.claim': {
      request: async (caller) => {
        const { id } = await newReview(caller)
        await transition(id, 'approve')
        return { path: `/v1/decisions/${id}/claim`, body: { holder: 'one' } }
      },
      bound: 'not_found',
    },
    'decisions.capabilities': {
      request: () => ({ path: '/v1/capabilities', body: { agent_id: AGENT, actions: ['mail.send'] } }),
      bound: 'agent_not_allowed',
    },
    'events.stream': { request: () => ({ path: '/v1/events' }), bound: 'not sent' },
    'policies.create': {
      request: () => ({ path: '/v1/policies', body: allowing('mail.read') }),
      bound: 'cannot hold the scope',
    },
    'policies.list': { request: () => ({ path: '/v1/policies' }), bound: 'nothing of agents' },
    'policies.validate': {
      request: () => ({ path: '/v1/policies/validate', body: allowing('mail.read') }),
      bound: 'nothing of agents',
    },
    'policies.get': {
      request: async () => ({ path: `/v1/policies/${await newPolicy()}` }),
      bound: 'nothing of agents',
    },
    'policies.replace': {
      request: async () => ({ path: `/v1/policies/${await newPolicy()}`, body: allowing('mail.read') }),
      bound: 'cannot hold the scope',
    },
    'policies.getByName': {
      request: async () => {
        const { name } = await createPolicy(server, allowing('mail.read'))
        return { path: `/v1/policies/by-name/${encodeURIComponent(name)}` }
      },
      bound: 'nothing of agents',
    },
    'policies.putByName': {
      request: async () => {
        const body = await createPolicy(server, allowing('mail.read'))
        return { path: `/v1/policies/by-name/${encodeURIComponent(body.name)}`, body }
      },
      bound: 'cannot hold the scope',
    },
    'policies.delete': {
      request: async () => ({ path: `/v1/policies/${await newPolicy()}` }),
      bound: 'cannot hold the scope',
    },
    'policies.revisions': {
      request: async () => ({ path: `/v1/policies/${await newPolicy()}/revisions` }),
      bound: 'nothing of agents',
    },
    'policies.simulate': {
      request: () => ({ path: '/v1/simulate', body: { request: { agent_id: AGENT, action: 'mail.send' } } }),
      bound: 'agent_not_allowed',
    },
    'budgets.list': {
      request: async () => {
        await newBudget()
        return { path: '/v1/budgets' }
      },
      bound: 'left out',
    },
    'policies.budget': {
      request: async () => ({ path: `/v1/policies/${(await newBudget()).policy.id}/budget` }),
      bound: 'left out',
    },
    'policies.budget_history': {
      request: async () => ({ path: `/v1/policies/${(await newPastBudget()).id}/budget/history` }),
      bound: 'left out',
    },
    'agents.create': {
      request: () => ({ path: '/v1/agents', body: { id: `agent:n${made++}` } }),
      bound: 'cannot hold the scope',
    },
    'agents.list': { request: () => ({ path: '/v1/agents' }), bound: 'left out' },
    'agents.get': { request: async () => ({ path: `/v1/agents/${await newAgent()}` }), bound: 'not_found' },
    'agents.update': {
      request: async () => ({ path: `/v1/agents/${await newAgent()}`, body: {} }),
      bound: 'cannot hold the scope',
    },
    'agents.delete': {
      request: async () => ({ path: `/v1/agents/${await newAgent()}` }),
      bound: 'cannot hold the scope',
    },
    'agents.suspend': {
      request: () => ({ path: `/v1/agents/agent:n${made++}/suspend` }),
      bound: 'cannot hold the scope',
    },
    'agents.resume': {
      request: () => ({ path: `/v1/agents/agent:n${made++}/resume` }),
      bound: 'cannot hold the scope',
    },
    'keys.create': {
      request: () => ({ path: '/v1/keys', body: { name: 'narrow', scopes: ['keys:write'] } }),
      bound: 'cannot hold the scope',
    },
    'keys.list': { request: () => ({ path: '/v1/keys' }), bound: 'nothing of agents' },
    'keys.self': { request: () => ({ path: '/v1/keys/self' }), bound: 'nothing of agents' },
    'keys.get': { request: async () => ({ path: `/v1/keys/${await newKey()}` }), bound: 'nothing of agents' },
    'keys.rotate': {
      // One that the caller made: those of others it may not rotate.
      request: async ({ key } = admin) => {
        const body = { name: 'child', scopes: ['keys:write'] }
        const { id } = await succeed(server.call('POST', '/v1/keys', { key, body }))
        return { path: `/v1/keys/${id}/rotate` }
      },
      bound: 'cannot hold the scope',
    },
    'keys.revoke': { request: async () => ({ path: `/v1/keys/${await newKey()}` }), bound: 'cannot hold the scope' },
    'permits.redeem': {
      request: async () => ({
        path: '/v1/permits/redeem',
        body: { permit_token: (await newDecision()).permit_token },
      }),
      bound: 'not_found',
    },
    'webhooks.create': {
      request: () => ({ path: '/v1/webhooks', body: webhookBody() }),
      bound: 'cannot hold the scope',
    },
    'webhooks.list': { request: () => ({ path: '/v1/webhooks' }), bound: 'cannot hold the scope' },
    'webhooks.get': {
      request: async () => ({ path: `/v1/webhooks/${await newWebhook()}` }),
      bound: 'cannot hold the scope',
    },
    'webhooks.update': {
      request: async () => ({ path: `/v1/webhooks/${await newWebhook()}`, body: webhookBody() }),
      bound: 'cannot hold the scope',
    },
    'webhooks.delete': {
      request: async () => ({ path: `/v1/webhooks/${await newWebhook()}` }),
      bound: 'cannot hold the scope',
    },
    'webhooks.rotateSecret': {
      request: async () => ({ path: `/v1/webhooks/${await newWebhook()}/rotate-secret` }),
      bound: 'cannot hold the scope',
    },
    'webhooks.test': {
      request: async () => ({ path: `/v1/webhooks/${await newWebhook()}/test` }),
      bound: 'cannot hold the scope',
    },
    'webhooks.replay': {
      request: async () => ({
        path: `/v1/webhooks/${await newWebhook()}/replay`,
        body: { since: '2026-11-01T00:00:00.000Z' },
      }),
      bound: 'cannot hold the scope',
    },
    'webhooks.deliveries': {
      request: async () => ({ path: `/v1/webhooks/${(await newDelivery()).webhook_id}/deliveries` }),
      bound: 'cannot hold the scope',
    },
    'webhooks.retry': {
      request: async () => {
        const { id, webhook_id } = await newDelivery()
        return { path: `/v1/webhooks/${webhook_id}/deliveries/${id}/retry` }
      },
      bound: 'cannot hold the scope',
    },
    'stats.get': { request: () => ({ path: '/v1/stats' }), bound: 'left out' },
    'audit.checkpoints': { request: () => ({ path: '/v1/audit/checkpoints' }), bound: 'cannot hold the scope' },
    'audit.consistency': {
      request: async () => {
        // There is a checkpoint then.
        await succeed(server.call('GET', `/v1/audit/proof?decision_id=${(await newDecision()).id}`))
        return { path: '/v1/audit/consistency?from=1' }
      },
      bound: 'cannot hold the scope',
    },
    'audit.proof': {
      request: async () => ({ path: `/v1/audit/proof?decision_id=${(await newDecision()).id}` }),
      bound: 'cannot hold the scope',
    },
    'audit.records': {
      request: async () => ({ path: `/v1/audit/records?kind=decision&id=${(await newDecision()).id}` }),
      alsoNeeds: ['decisions:read'],
      bound: 'cannot hold the scope',
    },
    'audit.export': { request: () => ({ path: '/v1/audit/export' }), bound: 'cannot hold the scope' },
    'audit.eraseRequest': {
      request: async () => ({ path: `/v1/audit/requests/${(await newDecision()).id}` }),
      bound: 'cannot hold the scope',
    },
    'audit.eraseRequests': {
      request: async () => ({ path: `/v1/audit/requests?agent_id=${(await newDecision()).agent_id}` }),
      bound: 'cannot hold the scope',
    },
    'audit.list': { request: () => ({ path: '/v1/audit' }), bound: 'cannot hold the scope' },
  }
}
