import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer()
})
afterAll(() => server.stop())

test('a policy counts for the next request, and its decision is durable, signed and audited', async () => {
  const rules = [{ action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } }]
  const policy = await server.call('POST', '/v1/policies', { body: { name: 'refunds', rules } })
  expect(policy.status).toBe(201)
  const asked = { agent_id: 'agent:a', action: 'payment.refund', context: { amount: 42.5 } }
  const decision = await server.call('POST', '/v1/decisions', { body: asked })
  expect(decision).toMatchObject({ status: 200, body: { effect: 'allow', policy_id: policy.body.id, rule: 0 } })
  expect(decision.body.permit_token.split('.')).toHaveLength(3)
  const audit = await server.call('GET', `/v1/audit?decision_id=${decision.body.id}`)
  expect(audit.body.data).toMatchObject([{ type: 'decision.created', agent_id: 'agent:a', data: { effect: 'allow' } }])
})
