/** Records of every kind, and the command that compares them with the log, in a process of its own. */

import { ALLOWED, createPolicy, DENIED, decide, makeKey, REFUNDS, REVIEWED, succeed } from './api/refunds.js'
import { databaseOf, ON_MONGODB } from './open-test-store.js'
import { countersign } from './process/shipped-server.js'
import type { RunningServer } from './running-server.js'
import { mongoUrl } from './stores/mongodb/open-mongo-store.js'

/** In the query of the URL of each webhook: nothing of the log may show it. */
export const HIDDEN_TOKEN = 'hidden-in-the-query'

export interface MadeRecords {
  readonly confirmed: string
  readonly denied: string
  readonly approved: string
  readonly policy: string
  readonly agent: string
  readonly suspended: string
  readonly key: string
  readonly revokedKey: string
  readonly webhook: string
  readonly disabledWebhook: string
}

export async function makeRecords(server: RunningServer): Promise<MadeRecords> {
  const budget = { limit: 1000, unit: 'EUR', period: 'monthly' }
  const { id: policy } = await createPolicy(server, { ...REFUNDS, budget })
  await succeed(server.call('PUT', `/v1/policies/${policy}`, { body: { ...REFUNDS, budget, priority: 1 } }))
  const post = (path: string, body: object, key?: string) =>
    succeed(server.call('POST', path, { body, ...(key !== undefined && { key }) }))
  const asker = await makeKey(server, ['decisions:write'], { agents: ['agent:support-*'] })
  const { id: key } = await makeKey(server, ['decisions:read'], {
    agents: ['agent:a'],
    expires_at: '2036-01-01T00:00:00.000Z',
  })
  const confirmed = await decide(server, ALLOWED)
  await post(`/v1/decisions/${confirmed.id}/confirm`, { amount: 40, note: 'paid' })
  const denied = await decide(server, DENIED)
  const approved = await decide(server, REVIEWED, asker.key)
  await post(`/v1/decisions/${approved.id}/approve`, { comment: 'Fine.' })
  await post(`/v1/decisions/${approved.id}/claim`, { holder: 'run-1' }, asker.key)
  const declined = await decide(server, REVIEWED, asker.key)
  await post(`/v1/decisions/${declined.id}/decline`, { comment: 'No.' })
  await decide(server, REVIEWED, asker.key)
  const redeemed = await decide(server, ALLOWED)
  await post('/v1/permits/redeem', { permit_token: redeemed.permit_token })
  const erased = await decide(server, ALLOWED)
  await succeed(server.call('DELETE', `/v1/audit/requests/${erased.id}`))
  const agent = 'agent:support-9'
  await post('/v1/agents', { id: agent, name: 'Nine', metadata: { limit: 100 } })
  await succeed(server.call('PUT', `/v1/agents/${agent}`, { body: { name: 'Nine', metadata: { limit: 50 } } }))
  const suspended = 'agent:suspended'
  await post(`/v1/agents/${suspended}/suspend`, { reason: 'lost' })
  const gone = await createPolicy(server, { name: 'gone', rules: [{ action: 'a.b', effect: 'allow' }] })
  await succeed(server.call('DELETE', `/v1/policies/${gone.id}`))
  await post('/v1/agents', { id: 'agent:gone' })
  await succeed(server.call('DELETE', '/v1/agents/agent:gone'))
  await post('/v1/agents/agent:unknown/resume', {})
  const { webhook, disabledWebhook } = await makeWebhooks(server)
  const { id: revokedKey } = await makeKey(server, ['decisions:read'])
  await succeed(server.call('DELETE', `/v1/keys/${revokedKey}`))
  return {
    ...{ confirmed: confirmed.id, denied: denied.id, approved: approved.id, policy },
    agent,
    suspended,
    key,
    revokedKey,
    webhook,
    disabledWebhook,
  }
}

/** None of them asks for what happens here. */
async function makeWebhooks(server: RunningServer): Promise<Pick<MadeRecords, 'webhook' | 'disabledWebhook'>> {
  const url = `https://example.com/hooks?token=${HIDDEN_TOKEN}`
  const body = { url, events: ['webhook.disabled'], description: 'the ops room' }
  const make = async () => (await succeed(server.call('POST', '/v1/webhooks', { body }))).id as string
  const [webhook, gone, disabledWebhook] = [await make(), await make(), await make()]
  await succeed(server.call('PUT', `/v1/webhooks/${webhook}`, { body: { ...body, events: ['budget.exceeded'] } }))
  await succeed(server.call('POST', `/v1/webhooks/${webhook}/rotate-secret`, { body: {} }))
  await succeed(server.call('DELETE', `/v1/webhooks/${gone}`))
  await succeed(server.call('PUT', `/v1/webhooks/${disabledWebhook}`, { body: { ...body, enabled: false } }))
  return { webhook, disabledWebhook }
}

/** Runs a command of the command line against the server or its data. `found` is its line of JSON, or what it complains of. */
export async function runAudit(
  { key, url, dataDir }: RunningServer,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
) {
  const env = {
    ...settings,
    COUNTERSIGN_API_KEY: key,
    COUNTERSIGN_URL: url,
    DATA_DIR: dataDir,
    ...(ON_MONGODB && { MONGODB_URL: mongoUrl(databaseOf(dataDir)) }),
  }
  const child = countersign([...args, '--json'], { env })
  const { code } = await child.end(600_000)
  return { code, found: child.stdout === '' ? child.stderr : JSON.parse(child.stdout) }
}
