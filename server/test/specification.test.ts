/**
 * One test for each sentence of the specification that a caller can see over HTTP, named after it.
 * docs/reference/specification.md maps every sentence to its test; a test of the repository keeps the two in step.
 */
import { createPermitVerifier } from '@countersign/permit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPolicy, decide, makeKey, succeed } from './api/refunds.js'
import { type RunningServer, runServer } from './running-server.js'
import { openStoreWith } from './store-with.js'

const ASKED = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

let server: RunningServer
beforeAll(async () => {
  server = await runServer()
  await createPolicy(server, {
    name: 'refunds',
    agents: ['agent:support-*'],
    rules: [
      { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
      { action: 'payment.refund', effect: 'review', conditions: { 'context.amount': { $lte: 1000 } } },
      { action: 'payment.refund', effect: 'deny' },
      { action: 'ticket.close', effect: 'log' },
    ],
  })
})
afterAll(() => server.stop())

const refund = (amount: number) => decide(server, { ...ASKED, context: { amount } })

/** The effects of one policy alone on several questions. */
async function effectsUnder(rules: readonly object[], questions: readonly object[]): Promise<string[]> {
  const policies = [{ name: 'alone', rules }]
  const answers = questions.map((question) =>
    succeed(server.call('POST', '/v1/simulate', { body: { request: { ...ASKED, ...question }, policies } })),
  )
  return (await Promise.all(answers)).map(({ effect }) => effect)
}

/** A policy that allows an action within a budget. */
async function budgeted(action: string, budget: object) {
  const policy = await createPolicy(server, { name: action, rules: [{ action, effect: 'allow' }], budget })
  return {
    policy,
    ask: (amount: number) => decide(server, { ...ASKED, action, context: { amount } }),
    /** What is spent and what is reserved. */
    used: async () => {
      const { data } = await succeed(server.call('GET', `/v1/policies/${policy.id}/budget`))
      return [data[0].spent, data[0].reserved]
    },
  }
}

describe('1. what the service does', () => {
  it('1.1 every decision carries an effect, one of: allow, deny, review, log', async () => {
    const effects = [
      (await refund(1)).effect,
      (await refund(101)).effect,
      (await refund(1001)).effect,
      (await decide(server, { ...ASKED, action: 'ticket.close' })).effect,
    ]
    expect(effects).toEqual(['allow', 'review', 'deny', 'log'])
  })

  it('1.2 when no policy matches a request, the effect is deny', async () => {
    expect(await decide(server, { ...ASKED, action: 'nobody.knows' })).toMatchObject({
      effect: 'deny',
      reason_code: 'no_matching_policy',
      policy_id: 'pol_default',
    })
  })

  it('1.3 the effect log audits without blocking', async () => {
    const decision = await decide(server, { ...ASKED, action: 'ticket.close' })
    expect(decision).toMatchObject({ effect: 'log', status: 'authorized', permit_token: expect.any(String) })
    const { body } = await server.call('GET', `/v1/audit?decision_id=${decision.id}`)
    expect(body.data).toMatchObject([{ type: 'decision.created', data: { effect: 'log' } }])
  })

  it('1.4 under normal conditions a decision is returned in under 1 ms; the response reports the latency in a field', async () => {
    const latencies: number[] = []
    for (let i = 0; i < 100; i++) latencies.push((await refund(42.5)).latency_ms)
    expect(Math.min(...latencies)).toBeGreaterThan(0)
    expect(latencies.sort((a, b) => a - b)[50]).toBeLessThan(1)
  })

  it('1.5 downstream services verify a permit without a further call to the service', async () => {
    const { permit_token } = await refund(42.5)
    const { body: jwks } = await server.call('GET', '/.well-known/jwks.json', { key: null })
    const now = () => server.clock.now().getTime()
    const verifier = createPermitVerifier({ issuer: server.url, audience: server.url, jwks, now })
    const { action, resource } = ASKED
    expect(await verifier.verify(permit_token, { action, resource })).toMatchObject({ sub: ASKED.agent_id, action })
  })

  it('1.6 policies are managed through the API; they are JSON documents', async () => {
    const document = { name: 'managed', rules: [{ action: 'a.b', effect: 'allow' }] }
    const { id } = await createPolicy(server, document)
    const changed = { ...document, enabled: false }
    expect(await succeed(server.call('PUT', `/v1/policies/${id}`, { body: changed }))).toMatchObject(changed)
    expect(await succeed(server.call('GET', `/v1/policies/${id}`))).toMatchObject({ ...changed, revision: 2 })
    const { data } = await succeed(server.call('GET', '/v1/policies?limit=1'))
    expect(data).toMatchObject([{ id }])
    expect((await server.call('DELETE', `/v1/policies/${id}`)).status).toBe(204)
    expect((await server.call('GET', `/v1/policies/${id}`)).status).toBe(404)
  })

  it('1.7 budget usage is tracked accurately when decisions are confirmed or rejected; this step is optional', async () => {
    const { used, ask } = await budgeted('pay.tracked', { limit: 100, unit: 'EUR', period: 'total' })
    const [one, two, three] = [await ask(30.1), await ask(20.2), await ask(10)]
    expect(await used()).toEqual([0, 60.3])
    await succeed(server.call('POST', `/v1/decisions/${one.id}/confirm`, { body: { amount: 25.55 } }))
    await succeed(server.call('POST', `/v1/decisions/${two.id}/reject`))
    expect(await used()).toEqual([25.55, 10])
    server.clock.advance(Date.parse(three.expires_at) - server.clock.now().getTime())
    expect(await used()).toEqual([35.55, 0])
  })

  it('1.8 every decision is audited', async () => {
    for (const { id, effect } of [await refund(1), await refund(101), await refund(1001)]) {
      const { body } = await server.call('GET', `/v1/audit?decision_id=${id}`)
      expect(body.data).toMatchObject([{ type: 'decision.created', subject: id, data: { effect } }])
    }
  })

  it('1.9 no partial evaluation, no tuples, no tenants, no bundles', async () => {
    const { body } = await server.call('GET', '/openapi.json', { key: null })
    expect(Object.keys(body.paths).filter((path) => /partial|tuple|relation|tenant|bundle/.test(path))).toEqual([])
    for (const member of ['tenant', 'relation', 'bundle', 'partial']) {
      const { status, body: problem } = await server.call('POST', '/v1/decisions', {
        body: { ...ASKED, [member]: 'x' },
      })
      expect([status, problem.errors[0].pointer]).toEqual([400, `/${member}`])
    }
  })
})

describe('2.1 decision', () => {
  it('2.1 id: prefix dec_ followed by an opaque string', async () => {
    expect((await refund(1)).id).toMatch(/^dec_[0-9a-z]{26}$/)
  })

  it('2.1 effect: one of allow, deny, review, log, and never another afterwards', async () => {
    const { id, effect } = await refund(101)
    server.clock.advance(24 * 3600_000)
    expect(await succeed(server.call('GET', `/v1/decisions/${id}`))).toMatchObject({ effect, status: 'expired' })
  })

  it('2.1 reason: string or null; null when absent, for example on an allow', async () => {
    expect((await refund(1)).reason).toBeNull()
    expect((await refund(1001)).reason).toEqual(expect.any(String))
  })

  it('2.1 policy_id: the policy that produced the decision, prefix pol_', async () => {
    const { body } = await server.call('GET', '/v1/policies')
    const { id } = body.data.find(({ name }: { name: string }) => name === 'refunds')
    expect(id).toMatch(/^pol_[0-9a-z]{26}$/)
    expect((await refund(1)).policy_id).toBe(id)
  })

  it('2.1 agent_id, action and resource: echo of what was requested', async () => {
    expect(await refund(1)).toMatchObject(ASKED)
    const { resource: _, ...withoutResource } = ASKED
    expect(await decide(server, withoutResource)).toMatchObject({ ...withoutResource, resource: null })
  })

  it('2.1 latency_ms: evaluation time in milliseconds, fractional', async () => {
    const latencies = [await refund(1), await refund(2), await refund(3)].map(({ latency_ms }) => latency_ms)
    expect(latencies.every((latency) => latency > 0)).toBe(true)
    expect(latencies.some((latency) => !Number.isInteger(latency))).toBe(true)
  })

  it('2.1 evaluated_at: timestamp of evaluation', async () => {
    expect((await refund(1)).evaluated_at).toBe(server.clock.now().toISOString())
  })

  it('2.1 expires_at: after it the decision and its permit token are no longer valid', async () => {
    const { id, expires_at, permit_token } = await refund(1)
    expect(expires_at).toMatch(TIMESTAMP)
    server.clock.advance(Date.parse(expires_at) - server.clock.now().getTime() - 1)
    expect(await succeed(server.call('GET', `/v1/decisions/${id}`))).toMatchObject({ status: 'authorized' })
    server.clock.advance(1)
    const over = await succeed(server.call('GET', `/v1/decisions/${id}`))
    expect(over).toMatchObject({ status: 'expired' })
    expect(over).not.toHaveProperty('permit_token')
    const redeemed = await server.call('POST', '/v1/permits/redeem', { body: { permit_token } })
    expect(redeemed).toMatchObject({ status: 400, body: { code: 'permit_invalid' } })
  })

  it('2.1 permit_token: a compact signed token of three dot-separated parts', async () => {
    expect((await refund(1)).permit_token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]{86}$/)
  })
})

describe('2.2 decision request body', () => {
  it('2.2 agent_id and action are required', async () => {
    const { status, body } = await server.call('POST', '/v1/decisions', { body: {} })
    expect(status).toBe(400)
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual(['/action', '/agent_id'])
  })

  it('2.2 action: semantic, dotted form, evaluated against policy action patterns', async () => {
    const rules = [{ action: 'payment.*', effect: 'allow' }]
    const actions = ['payment.refund', 'payment.refund.create', 'payments.refund', 'payment']
    expect(
      await effectsUnder(
        rules,
        actions.map((action) => ({ action })),
      ),
    ).toEqual(['allow', 'allow', 'deny', 'deny'])
    const undotted = await server.call('POST', '/v1/decisions', { body: { ...ASKED, action: 'payment..refund' } })
    expect(undotted).toMatchObject({ status: 400, body: { errors: [{ pointer: '/action' }] } })
  })

  it('2.2 resource: optional, form <type>:<id>, null when the action is not resource-specific', async () => {
    expect((await decide(server, { ...ASKED, resource: null })).resource).toBeNull()
    for (const resource of ['order', ':8812', 'order:']) {
      const answer = await server.call('POST', '/v1/decisions', { body: { ...ASKED, resource } })
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/resource' }] } })
    }
  })

  it('2.2 context: optional; strings, numbers, booleans and nested objects are there for conditions', async () => {
    const rules = [
      {
        action: 'payment.refund',
        effect: 'allow',
        conditions: {
          'context.currency': { $eq: 'EUR' },
          'context.amount': { $lt: 100 },
          'context.urgent': { $eq: true },
          'context.order.age': { $lte: 30 },
        },
      },
    ]
    const context = { currency: 'EUR', amount: 99.5, urgent: true, order: { age: 30 } }
    const questions = [
      { context },
      { context: { ...context, currency: 'USD' } },
      { context: { ...context, amount: 100 } },
      { context: { ...context, urgent: false } },
      { context: { ...context, order: { age: 31 } } },
      {},
    ]
    expect(await effectsUnder(rules, questions)).toEqual(['allow', 'deny', 'deny', 'deny', 'deny', 'deny'])
  })
})

describe('2.3 policy', () => {
  it('2.3 name: unique; a second policy with the same name yields 409', async () => {
    const document = { name: 'only once', rules: [{ action: 'a.b', effect: 'allow' }] }
    await createPolicy(server, document)
    const second = await server.call('POST', '/v1/policies', { body: document })
    expect(second).toMatchObject({ status: 409, body: { code: 'policy_name_taken' } })
  })

  it('2.3 agents: the agents that the policy applies to; optional', async () => {
    const rules = [{ action: 'agents.only', effect: 'allow' }]
    await createPolicy(server, { name: 'for two agents', agents: ['agent:a', 'agent:b'], rules })
    const ask = async (agent_id: string) => (await decide(server, { agent_id, action: 'agents.only' })).effect
    expect(await Promise.all(['agent:a', 'agent:b', 'agent:c'].map(ask))).toEqual(['allow', 'allow', 'deny'])
    await createPolicy(server, { name: 'for every agent', rules: [{ action: 'agents.every', effect: 'allow' }] })
    expect((await decide(server, { agent_id: 'agent:c', action: 'agents.every' })).effect).toBe('allow')
  })

  it('2.3 rules: evaluated in order as written', async () => {
    const [allow, deny] = ['allow', 'deny'].map((effect) => ({ action: 'payment.refund', effect })) as [object, object]
    expect(await effectsUnder([allow, deny], [{}])).toEqual(['allow'])
    expect(await effectsUnder([deny, allow], [{}])).toEqual(['deny'])
  })

  it('2.3 rule: an action or action pattern, an effect of allow, deny, review or log, optional conditions', async () => {
    for (const effect of ['allow', 'deny', 'review', 'log']) {
      expect(await effectsUnder([{ action: '*', effect }], [{}])).toEqual([effect])
      expect(await effectsUnder([{ action: 'payment.refund', effect }], [{}])).toEqual([effect])
    }
    const other = { name: 'other', rules: [{ action: 'a.b', effect: 'permit' }] }
    expect(await server.call('POST', '/v1/policies', { body: other })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/rules/0/effect' }] },
    })
  })

  it('2.3 conditions: keys are paths of the form context.<field>, values are operator objects', async () => {
    const rule = (conditions: object) => ({ name: 'c', rules: [{ action: 'a.b', effect: 'allow', conditions }] })
    const valid = async (conditions: object) =>
      (await succeed(server.call('POST', '/v1/policies/validate', { body: rule(conditions) }))).valid
    expect(await valid({ 'context.amount': { $lt: 1 } })).toBe(true)
    expect(await valid({ amount: { $lt: 1 } })).toBe(false)
    expect(await valid({ 'context.amount': 1 })).toBe(false)
    expect(await valid({ 'context.amount': { $below: 1 } })).toBe(false)
  })

  it('2.3 $lt: less than', async () => {
    const rules = [{ action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lt: 100 } } }]
    const questions = [99.99, 100, 100.01].map((amount) => ({ context: { amount } }))
    expect(await effectsUnder(rules, questions)).toEqual(['allow', 'deny', 'deny'])
  })

  it('2.3 $lte: less than or equal', async () => {
    const rules = [{ action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } }]
    const questions = [99.99, 100, 100.01].map((amount) => ({ context: { amount } }))
    expect(await effectsUnder(rules, questions)).toEqual(['allow', 'allow', 'deny'])
  })

  it('2.3 $in: the value is a member of the given array', async () => {
    const conditions = { 'context.currency': { $in: ['EUR', 'USD'] } }
    const rules = [{ action: 'payment.refund', effect: 'allow', conditions }]
    const questions = ['EUR', 'USD', 'GBP', 'eur'].map((currency) => ({ context: { currency } }))
    expect(await effectsUnder(rules, questions)).toEqual(['allow', 'allow', 'deny', 'deny'])
  })

  it('2.3 a rule without conditions matches every request for its action', async () => {
    const rules = [{ action: 'payment.refund', effect: 'allow' }]
    const questions = [{}, { context: {} }, { context: { amount: 1e9 } }, { resource: null }, { agent_id: 'other' }]
    expect(await effectsUnder(rules, questions)).toEqual(['allow', 'allow', 'allow', 'allow', 'allow'])
    expect(await effectsUnder(rules, [{ action: 'payment.create' }])).toEqual(['deny'])
  })

  it('2.3 a deny rule without conditions placed after allow rules acts as a fallback', async () => {
    expect(await refund(100)).toMatchObject({ effect: 'allow', rule: 0 })
    expect(await refund(1001)).toMatchObject({ effect: 'deny', rule: 2, reason_code: 'rule_matched' })
  })

  it('2.3 budget: optional; limit (number), unit (a currency code) and period (for example monthly)', async () => {
    const budget = { limit: 5000, unit: 'EUR', period: 'monthly' }
    const { policy } = await budgeted('pay.monthly', budget)
    expect(policy.budget).toMatchObject(budget)
    const without = await createPolicy(server, { name: 'no budget', rules: [{ action: 'a.b', effect: 'allow' }] })
    expect(without).not.toHaveProperty('budget')
    for (const [member, wrong] of Object.entries({ limit: '5000', unit: 978, period: 'moon' })) {
      const document = {
        name: 'wrong',
        rules: [{ action: 'a.b', effect: 'allow' }],
        budget: { ...budget, [member]: wrong },
      }
      const answer = await server.call('POST', '/v1/policies', { body: document })
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: `/budget/${member}` }] } })
    }
  })
})

describe('2.4 permit token', () => {
  const part = (token: string, index: number) =>
    JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString())

  it('2.4 issued with a decision, using an asymmetric digital-signature algorithm', async () => {
    const { permit_token, id } = await refund(1)
    const { body: jwks } = await server.call('GET', '/.well-known/jwks.json', { key: null })
    const { alg, kid } = part(permit_token, 0)
    expect(alg).toBe('EdDSA')
    expect(jwks.keys).toContainEqual(expect.objectContaining({ kid, kty: 'OKP', crv: 'Ed25519' }))
    expect(part(permit_token, 1)).toMatchObject({ jti: id, sub: ASKED.agent_id })
  })

  it('2.4 carries a cryptographic audit trail', async () => {
    const { permit_token, id } = await refund(1)
    const { body } = await server.call('GET', `/v1/audit?decision_id=${id}`)
    const [{ log, index, leaf }] = body.data
    expect(part(permit_token, 1).audit).toEqual({ log, index, leaf })
  })
})

describe('3. decision lifecycle', () => {
  it('3 a decision has a confirm and reject lifecycle that is optional and feeds budget tracking', async () => {
    const { used, ask } = await budgeted('pay.lifecycle', { limit: 10, unit: 'calls', period: 'total', amount: 1 })
    const statusAfter = async (transition: string) => {
      const { id } = await ask(0)
      return (await succeed(server.call('POST', `/v1/decisions/${id}/${transition}`))).status
    }
    expect(await statusAfter('confirm')).toBe('confirmed')
    expect(await used()).toEqual([1, 0])
    expect(await statusAfter('reject')).toBe('rejected')
    expect(await used()).toEqual([1, 0])
    expect((await ask(0)).status).toBe('authorized')
    expect(await used()).toEqual([1, 1])
  })
})

describe('4. endpoints', () => {
  it('4 request and response bodies are JSON, Content-Type: application/json on requests', async () => {
    const ask = (type: string) =>
      server.call('POST', '/v1/decisions', { body: JSON.stringify(ASKED), headers: { 'Content-Type': type } })
    const answer = await ask('application/json')
    expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'application/json'])
    expect(await ask('text/plain')).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  })

  it('4.1 POST /v1/decisions: 200 with the body of 2.1', async () => {
    const { status, body } = await server.call('POST', '/v1/decisions', { body: { ...ASKED, context: { amount: 1 } } })
    expect(status).toBe(200)
    const fields = [
      'id',
      'effect',
      'reason',
      'policy_id',
      'agent_id',
      'action',
      'resource',
      'latency_ms',
      'evaluated_at',
      'expires_at',
      'permit_token',
    ]
    expect(Object.keys(body)).toEqual(expect.arrayContaining(fields))
  })

  it('4.1 all matching policies are evaluated in priority order', async () => {
    const rules = (effect: string) => [{ action: 'priority.order', effect }]
    const ask = async () => (await decide(server, { agent_id: 'agent:a', action: 'priority.order' })).effect
    await createPolicy(server, { name: 'low', priority: -1, rules: rules('allow') })
    expect(await ask()).toBe('allow')
    const { id } = await createPolicy(server, { name: 'high', priority: 10, rules: rules('review') })
    await createPolicy(server, { name: 'middle', priority: 5, rules: rules('deny') })
    expect(await ask()).toBe('review')
    await server.call('DELETE', `/v1/policies/${id}`)
    expect(await ask()).toBe('deny')
  })

  it('4.2 POST /v1/policies: 201, and 409 when a policy with the same name exists', async () => {
    const document = { name: 'made once', rules: [{ action: 'a.b', effect: 'allow' }] }
    expect((await server.call('POST', '/v1/policies', { body: document })).status).toBe(201)
    expect((await server.call('POST', '/v1/policies', { body: document })).status).toBe(409)
  })
})

describe('5. authentication', () => {
  it('5.1 every endpoint requires an API key', async () => {
    for (const { method, path } of server.started.composed.routes) {
      const answer = await server.call(method, path.replaceAll(/\{\w+\}/g, 'x'), { key: null })
      expect([method, path, answer.status]).toEqual([method, path, 401])
    }
  })

  it('5.2 the key is sent in the header Authorization with the value Bearer <API_KEY>', async () => {
    const withHeader = (headers: Record<string, string>) => server.call('GET', '/v1/keys/self', { key: null, headers })
    expect((await withHeader({ Authorization: `Bearer ${server.key}` })).status).toBe(200)
    expect((await withHeader({ Authorization: server.key })).status).toBe(401)
    expect((await withHeader({ Authorization: `Basic ${server.key}` })).status).toBe(401)
    expect((await withHeader({ 'X-Api-Key': server.key })).status).toBe(401)
  })

  it('5.3 a missing or invalid key yields 401', async () => {
    const { key, id } = await makeKey(server, ['decisions:read'])
    await server.call('DELETE', `/v1/keys/${id}`)
    for (const wrong of [null, `${server.key}x`, 'cs_sk_short', key]) {
      const answer = await server.call('GET', '/v1/keys/self', { key: wrong })
      expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
    }
  })

  it('5.4 a key that lacks the required scope yields 403', async () => {
    const { key } = await makeKey(server, ['decisions:read'])
    const answer = await server.call('POST', '/v1/decisions', { body: ASKED, key })
    expect(answer).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
    expect(answer.body.detail).toContain('decisions:write')
  })
})

describe('7. errors', () => {
  it('7 400: malformed JSON', async () => {
    const answer = await server.call('POST', '/v1/decisions', { body: '{"agent_id": "agent:a",' })
    expect(answer).toMatchObject({ status: 400, body: { code: 'malformed_json' } })
  })

  it('7 400: a missing required field', async () => {
    const answer = await server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a' } })
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed', errors: [{ pointer: '/action' }] } })
  })

  it('7 404: the addressed resource does not exist', async () => {
    for (const path of ['/v1/policies/pol_01kagx3v5ne8sr6w1y6gqk4t2h', '/v1/decisions/none', '/v1/nothing'])
      expect(await server.call('GET', path)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  it('7 500: internal server error; a request identifier is quoted', async () => {
    const list = () => Promise.reject(new Error('an inner matter'))
    const openStore = (dataDir: string) => openStoreWith(dataDir, () => ({ decisions: { list } }))
    const broken = await runServer({ parts: { openStore } })
    try {
      const { status, body, headers } = await broken.call('GET', '/v1/decisions')
      expect([status, body.code, body.request_id]).toEqual([500, 'internal_error', headers.get('X-Request-Id')])
      expect(JSON.stringify(body)).not.toContain('an inner matter')
      expect(broken.logged).toContainEqual(
        expect.objectContaining({ level: 'error', fields: expect.objectContaining({ request_id: body.request_id }) }),
      )
    } finally {
      await broken.stop()
    }
  })
})

describe('8. limits', () => {
  it('8.1 exceeding the rate limit yields 429 with a Retry-After header', async () => {
    const limited = await runServer({ settings: { rateLimitPerSecond: 1 } })
    try {
      expect((await limited.call('GET', '/v1/keys/self')).status).toBe(200)
      const { status, headers, body } = await limited.call('GET', '/v1/keys/self')
      expect([status, body.code]).toEqual([429, 'rate_limited'])
      expect(Number(headers.get('Retry-After'))).toBeGreaterThanOrEqual(1)
    } finally {
      await limited.stop()
    }
  })

  it('8.2 a policy budget has limit, unit and period', async () => {
    const { ask } = await budgeted('pay.hourly', { limit: 100, unit: 'EUR', period: 'hourly' })
    expect(await ask(100)).toMatchObject({
      effect: 'allow',
      budgets: [{ unit: 'EUR', period: 'hourly', remaining: 0 }],
    })
    expect(await ask(0.01)).toMatchObject({ effect: 'deny', reason_code: 'budget_exceeded' })
    server.clock.advance(3_600_000)
    expect(await ask(0.01)).toMatchObject({ effect: 'allow', budgets: [{ remaining: 99.99 }] })
  })

  it('8.4 decisions expire at expires_at', async () => {
    const { id, expires_at } = await refund(1)
    server.clock.advance(Date.parse(expires_at) - server.clock.now().getTime())
    expect((await succeed(server.call('GET', `/v1/decisions/${id}`))).status).toBe('expired')
  })
})

describe('9. versioning', () => {
  it('9 all endpoints live under /v1', () => {
    const paths = server.started.composed.routes.map(({ path }) => path)
    expect(paths.length).toBeGreaterThan(20)
    expect(paths.filter((path) => !path.startsWith('/v1/'))).toEqual([])
  })
})
