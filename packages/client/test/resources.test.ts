import { answerJson, answerNothing, decisionAbout } from '@countersign/testkit'
import { expect, it } from 'vitest'
import type { Countersign } from '../src/index.js'
import { API_KEY, describeTransports, rejectionOf } from './transports.js'

const document = { name: 'refunds', rules: [{ action: 'payment.refund', effect: 'deny' }] } as const
const agent = 'team/agent+7@eu:support'
const encodedAgent = 'team%2Fagent%2B7%40eu%3Asupport'
const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }
const decision = decisionAbout(asked)
const { id } = decision
const capabilities = {
  agent_id: asked.agent_id,
  data: [
    { action: 'payment.refund', effects: ['allow', 'deny'] },
    { action: 'email.send', effects: ['deny'] },
  ],
}
const page = { data: [{ id: 'one' }], next_cursor: null }

/** What a method must send, and what it makes of the answer. */
interface Expectation {
  readonly call: (client: Countersign) => Promise<unknown>
  readonly method: string
  readonly url: string
  readonly body?: unknown
  /** Undefined for one that must not be sent. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** The call moves something, so it carries an idempotency key. */
  readonly isKeyed?: true
  readonly answer?: unknown
}

const EXPECTATIONS: Readonly<Record<string, Expectation>> = {
  'policies.create': {
    call: (client) => client.policies.create(document),
    method: 'POST',
    url: '/v1/policies',
    body: document,
    isKeyed: true,
  },
  'policies.get': { call: (client) => client.policies.get('pol_1'), method: 'GET', url: '/v1/policies/pol_1' },
  'policies.list': {
    call: (client) => client.policies.list({ limit: 20, cursor: 'c=1&2' }).page(),
    method: 'GET',
    url: '/v1/policies?limit=20&cursor=c%3D1%262',
    answer: page,
  },
  'policies.update': {
    call: (client) => client.policies.update('pol_1', document),
    method: 'PUT',
    url: '/v1/policies/pol_1',
    body: document,
    headers: { 'if-match': undefined },
  },
  'policies.update of a revision': {
    call: (client) => client.policies.update('pol_1', document, { ifRevision: 3 }),
    method: 'PUT',
    url: '/v1/policies/pol_1',
    body: document,
    headers: { 'if-match': '"3"' },
  },
  'policies.delete': {
    call: (client) => client.policies.delete('pol_1'),
    method: 'DELETE',
    url: '/v1/policies/pol_1',
    headers: { 'if-match': undefined },
    answer: undefined,
  },
  'policies.delete of a revision': {
    call: (client) => client.policies.delete('pol_1', { ifRevision: 3 }),
    method: 'DELETE',
    url: '/v1/policies/pol_1',
    headers: { 'if-match': '"3"' },
    answer: undefined,
  },
  'policies.revisions': {
    call: (client) => client.policies.revisions('pol_1', { limit: 5 }).page(),
    method: 'GET',
    url: '/v1/policies/pol_1/revisions?limit=5',
    answer: page,
  },
  'policies.validate': {
    call: (client) => client.policies.validate({ nmae: 'refunds' }),
    method: 'POST',
    url: '/v1/policies/validate',
    body: { nmae: 'refunds' },
    answer: { valid: false, errors: [], warnings: [] },
  },
  simulate: {
    call: (client) => client.simulate({ request: asked, policies: [document] }),
    method: 'POST',
    url: '/v1/simulate',
    body: { request: asked, policies: [document] },
  },
  capabilities: {
    call: (client) => client.capabilities({ agent_id: asked.agent_id, actions: ['payment.refund', 'email.send'] }),
    method: 'POST',
    url: '/v1/capabilities',
    body: { agent_id: asked.agent_id, actions: ['payment.refund', 'email.send'] },
    answer: capabilities,
  },
  'keys.create': {
    call: (client) => client.keys.create({ name: 'bots', scopes: ['decisions:write'], agents: ['agent:*'] }),
    method: 'POST',
    url: '/v1/keys',
    body: { name: 'bots', scopes: ['decisions:write'], agents: ['agent:*'] },
    isKeyed: true,
    answer: { id: 'key_1', key: 'cs_sk_new' },
  },
  'keys.get': { call: (client) => client.keys.get('key_1'), method: 'GET', url: '/v1/keys/key_1' },
  'keys.self': { call: (client) => client.keys.self(), method: 'GET', url: '/v1/keys/self' },
  'keys.list': { call: (client) => client.keys.list().page(), method: 'GET', url: '/v1/keys', answer: page },
  'keys.rotate': {
    call: (client) => client.keys.rotate('key_1'),
    method: 'POST',
    url: '/v1/keys/key_1/rotate',
    body: {},
    isKeyed: true,
    answer: { id: 'key_1', key: 'cs_sk_new' },
  },
  'keys.rotate with a grace': {
    call: (client) => client.keys.rotate('key_1', { graceSeconds: 0 }),
    method: 'POST',
    url: '/v1/keys/key_1/rotate',
    body: { grace_seconds: 0 },
    isKeyed: true,
    answer: { id: 'key_1', key: 'cs_sk_new' },
  },
  'keys.revoke': {
    call: (client) => client.keys.revoke('key_1'),
    method: 'DELETE',
    url: '/v1/keys/key_1',
    answer: undefined,
  },
  'agents.create': {
    call: (client) => client.agents.create({ id: agent, metadata: { team: 'eu' } }),
    method: 'POST',
    url: '/v1/agents',
    body: { id: agent, metadata: { team: 'eu' } },
    isKeyed: true,
  },
  'agents.get': { call: (client) => client.agents.get(agent), method: 'GET', url: `/v1/agents/${encodedAgent}` },
  'agents.list': { call: (client) => client.agents.list().page(), method: 'GET', url: '/v1/agents', answer: page },
  'agents.update': {
    call: (client) => client.agents.update(agent, { name: 'Support' }),
    method: 'PUT',
    url: `/v1/agents/${encodedAgent}`,
    body: { name: 'Support' },
  },
  'agents.delete': {
    call: (client) => client.agents.delete(agent),
    method: 'DELETE',
    url: `/v1/agents/${encodedAgent}`,
    answer: undefined,
  },
  'agents.suspend': {
    call: (client) => client.agents.suspend(agent, { reason: 'odd refunds' }),
    method: 'POST',
    url: `/v1/agents/${encodedAgent}/suspend`,
    body: { reason: 'odd refunds' },
    isKeyed: true,
  },
  'agents.resume': {
    call: (client) => client.agents.resume(agent),
    method: 'POST',
    url: `/v1/agents/${encodedAgent}/resume`,
    body: {},
    isKeyed: true,
  },
  'decisions.get': {
    call: (client) => client.decisions.get(id),
    method: 'GET',
    url: `/v1/decisions/${id}`,
    answer: decision,
  },
  'decisions.get (waiting)': {
    call: (client) => client.decisions.get(id, { waitSeconds: 30 }),
    method: 'GET',
    url: `/v1/decisions/${id}?wait=30`,
    answer: decision,
  },
  'decisions.list': {
    call: (client) =>
      client.decisions
        .list({
          agent_id: agent,
          action: 'payment.refund',
          resource: 'order:8812',
          effect: 'allow',
          status: 'authorized',
          policy_id: 'pol_1',
          request_hash: 'h',
          trace_id: 't',
          from: '2026-11-21T10:00:00.000Z',
          to: '2026-11-22T10:00:00.000Z',
          limit: 200,
        })
        .page(),
    method: 'GET',
    url: `/v1/decisions?agent_id=${encodedAgent}&action=payment.refund&resource=order%3A8812&effect=allow&status=authorized&policy_id=pol_1&request_hash=h&trace_id=t&from=2026-11-21T10%3A00%3A00.000Z&to=2026-11-22T10%3A00%3A00.000Z&limit=200`,
    answer: page,
  },
  'decisions.explanation': {
    call: (client) => client.decisions.explanation('dec_1'),
    method: 'GET',
    url: '/v1/decisions/dec_1/explanation',
  },
  'decisions.confirm': {
    call: (client) => client.decisions.confirm(id),
    method: 'POST',
    url: `/v1/decisions/${id}/confirm`,
    body: {},
    isKeyed: true,
    answer: decision,
  },
  'decisions.confirm of an amount': {
    call: (client) => client.decisions.confirm(id, { amount: 40, note: 'shipping kept' }),
    method: 'POST',
    url: `/v1/decisions/${id}/confirm`,
    body: { amount: 40, note: 'shipping kept' },
    isKeyed: true,
    answer: decision,
  },
  'decisions.reject': {
    call: (client) => client.decisions.reject(id, { reason: 'out of stock' }),
    method: 'POST',
    url: `/v1/decisions/${id}/reject`,
    body: { reason: 'out of stock' },
    isKeyed: true,
    answer: decision,
  },
  'decisions.correct': {
    call: (client) => client.decisions.correct(id, { result: 'confirmed', amount: 0.4, note: 'cents' }),
    method: 'POST',
    url: `/v1/decisions/${id}/correct`,
    body: { result: 'confirmed', amount: 0.4, note: 'cents' },
    isKeyed: true,
    answer: decision,
  },
  'decisions.approve': {
    call: (client) => client.decisions.approve(id, { comment: 'fine', exceed_budget: true }),
    method: 'POST',
    url: `/v1/decisions/${id}/approve`,
    body: { comment: 'fine', exceed_budget: true },
    isKeyed: true,
    answer: decision,
  },
  'decisions.decline': {
    call: (client) => client.decisions.decline(id, { comment: 'not now' }),
    method: 'POST',
    url: `/v1/decisions/${id}/decline`,
    body: { comment: 'not now' },
    isKeyed: true,
    answer: decision,
  },
  'decisions.claim': {
    call: (client) => client.decisions.claim(id, { holder: 'run-77' }),
    method: 'POST',
    url: `/v1/decisions/${id}/claim`,
    body: { holder: 'run-77' },
    isKeyed: true,
    answer: decision,
  },
  'decisions.claim without a holder': {
    call: (client) => client.decisions.claim(id),
    method: 'POST',
    url: `/v1/decisions/${id}/claim`,
    body: { holder: expect.stringMatching(/^.{16,64}$/) },
    isKeyed: true,
    answer: decision,
  },
  'budgets.list': {
    call: (client) => client.budgets.list({ limit: 20 }).page(),
    method: 'GET',
    url: `/v1/budgets?limit=20`,
    answer: page,
  },
  'policies.budget': {
    call: (client) => client.policies.budget('pol_1', { limit: 5, cursor: 'c2' }).page(),
    method: 'GET',
    url: `/v1/policies/pol_1/budget?limit=5&cursor=c2`,
    answer: page,
  },
  'policies.budgetHistory': {
    call: (client) => client.policies.budgetHistory('pol_1', { limit: 5, cursor: 'c2' }).page(),
    method: 'GET',
    url: `/v1/policies/pol_1/budget/history?limit=5&cursor=c2`,
    answer: page,
  },
  'permits.redeem': {
    call: (client) => client.permits.redeem('a.b.c'),
    method: 'POST',
    url: '/v1/permits/redeem',
    body: { permit_token: 'a.b.c' },
    isKeyed: true,
    answer: decision,
  },
  'audit.list': {
    call: (client) => client.audit.list({ type: 'decision.created', decision_id: 'dec_1', agent_id: agent }).page(),
    method: 'GET',
    url: `/v1/audit?type=decision.created&decision_id=dec_1&agent_id=${encodedAgent}`,
    answer: page,
  },
  'audit.checkpoints': {
    call: (client) => client.audit.checkpoints(),
    method: 'GET',
    url: '/v1/audit/checkpoints',
    answer: { data: [], root: null },
  },
  'audit.proof': {
    call: (client) => client.audit.proof(id),
    method: 'GET',
    url: `/v1/audit/proof?decision_id=${id}`,
    answer: { decision_id: id, data: [] },
  },
  'audit.records': {
    call: (client) => client.audit.records({ kind: 'decision', id }).page(),
    method: 'GET',
    url: `/v1/audit/records?kind=decision&id=${id}`,
    answer: page,
  },
  'audit.consistency': {
    call: (client) => client.audit.consistency({ log: 'a1', from: 12 }),
    method: 'GET',
    url: '/v1/audit/consistency?log=a1&from=12',
  },
  'audit.consistency of the root log': {
    call: (client) => client.audit.consistency({ from: 0 }),
    method: 'GET',
    url: '/v1/audit/consistency?from=0',
  },
  'audit.eraseRequest': {
    call: (client) => client.audit.eraseRequest(id),
    method: 'DELETE',
    url: `/v1/audit/requests/${id}`,
    answer: undefined,
  },
  'audit.eraseRequests': {
    call: (client) => client.audit.eraseRequests({ agent_id: agent }),
    method: 'DELETE',
    url: `/v1/audit/requests?agent_id=${encodedAgent}`,
    answer: { agent_id: agent, erased: 12 },
  },
  'webhooks.create': {
    call: (client) => client.webhooks.create({ url: 'https://example.com/hook', events: ['decision.denied'] }),
    method: 'POST',
    url: '/v1/webhooks',
    body: { url: 'https://example.com/hook', events: ['decision.denied'] },
    isKeyed: true,
    answer: { id: 'whk_1', secret: 'whsec_new' },
  },
  'webhooks.get': { call: (client) => client.webhooks.get('whk_1'), method: 'GET', url: '/v1/webhooks/whk_1' },
  'webhooks.list': {
    call: (client) => client.webhooks.list({ limit: 5 }).page(),
    method: 'GET',
    url: '/v1/webhooks?limit=5',
    answer: page,
  },
  'webhooks.update': {
    call: (client) => client.webhooks.update('whk_1', { url: 'https://example.com/hook', enabled: false }),
    method: 'PUT',
    url: '/v1/webhooks/whk_1',
    body: { url: 'https://example.com/hook', enabled: false },
  },
  'webhooks.delete': {
    call: (client) => client.webhooks.delete('whk_1'),
    method: 'DELETE',
    url: '/v1/webhooks/whk_1',
    answer: undefined,
  },
  'webhooks.rotateSecret': {
    call: (client) => client.webhooks.rotateSecret('whk_1'),
    method: 'POST',
    url: '/v1/webhooks/whk_1/rotate-secret',
    body: {},
    isKeyed: true,
    answer: { id: 'whk_1', secret: 'whsec_new' },
  },
  'webhooks.rotateSecret with a grace': {
    call: (client) => client.webhooks.rotateSecret('whk_1', { graceSeconds: 0 }),
    method: 'POST',
    url: '/v1/webhooks/whk_1/rotate-secret',
    body: { grace_seconds: 0 },
    isKeyed: true,
    answer: { id: 'whk_1', secret: 'whsec_new' },
  },
  'webhooks.test': {
    call: (client) => client.webhooks.test('whk_1'),
    method: 'POST',
    url: '/v1/webhooks/whk_1/test',
    body: {},
    isKeyed: true,
  },
  'webhooks.replay': {
    call: (client) => client.webhooks.replay('whk_1', { since: '2026-11-21T10:00:00.000Z' }),
    method: 'POST',
    url: '/v1/webhooks/whk_1/replay',
    body: { since: '2026-11-21T10:00:00.000Z' },
    isKeyed: true,
  },
  'webhooks.deliveries': {
    call: (client) => client.webhooks.deliveries('whk_1', { status: 'failed', limit: 5, cursor: 'c2' }).page(),
    method: 'GET',
    url: '/v1/webhooks/whk_1/deliveries?status=failed&limit=5&cursor=c2',
    answer: page,
  },
  'webhooks.retry': {
    call: (client) => client.webhooks.retry('whk_1', 'dlv_1'),
    method: 'POST',
    url: '/v1/webhooks/whk_1/deliveries/dlv_1/retry',
    body: {},
    isKeyed: true,
  },
  stats: {
    call: (client) => client.stats({ from: '2026-11-21T10:00:00.000Z', interval: 'hour', group: 'action' }),
    method: 'GET',
    url: '/v1/stats?from=2026-11-21T10%3A00%3A00.000Z&interval=hour&group=action',
  },
  jwks: {
    call: (client) => client.jwks(),
    method: 'GET',
    url: '/.well-known/jwks.json',
    headers: { authorization: undefined },
    answer: { keys: [] },
  },
}

describeTransports('resources', (rig) => {
  it.each(Object.entries(EXPECTATIONS))('%s', async (_name, expectation) => {
    const { stub, open } = rig()
    const answer = 'answer' in expectation ? expectation.answer : { id: 'one' }
    stub.answer(answer === undefined ? answerNothing : answerJson(200, answer))
    expect(await expectation.call(open({ headers: { 'X-Team': 'payments' } }))).toEqual(answer)
    expect(stub.requests).toHaveLength(1)
    const [request] = stub.requests
    expect(request).toMatchObject({ method: expectation.method, url: expectation.url })
    expect(request?.body === '' ? undefined : JSON.parse(request?.body ?? '')).toEqual(expectation.body)
    const headers = { accept: 'application/json', authorization: `Bearer ${API_KEY}`, 'x-team': 'payments' }
    for (const [name, value] of Object.entries({ ...headers, ...expectation.headers })) {
      expect([name, request?.headers[name]]).toEqual([name, value])
    }
    expect(request?.headers['content-type']).toBe(expectation.body === undefined ? undefined : 'application/json')
    expect(request?.headers['idempotency-key'] !== undefined).toBe(expectation.isKeyed === true)
  })

  it('sends the idempotency key that a call is given', async () => {
    const { stub, open } = rig()
    stub.answer(answerJson(200, { ...decision, key: 'cs_sk_new', secret: 'whsec_new' }))
    const client = open()
    const options = { idempotencyKey: 'mine-1' }
    await client.policies.create(document, options)
    await client.keys.create({ name: 'bots', scopes: ['decisions:write'] }, options)
    await client.keys.rotate('key_1', options)
    await client.agents.create({ id: agent }, options)
    await client.agents.suspend(agent, options)
    await client.agents.resume(agent, options)
    await client.permits.redeem('a.b.c', options)
    await client.decisions.confirm(id, {}, options)
    await client.decisions.reject(id, {}, options)
    await client.decisions.correct(id, { result: 'rejected' }, options)
    await client.decisions.approve(id, {}, options)
    await client.decisions.decline(id, {}, options)
    await client.decisions.claim(id, {}, options)
    await client.webhooks.create({ url: 'https://example.com/hook' }, options)
    await client.webhooks.rotateSecret('whk_1', options)
    await client.webhooks.test('whk_1', options)
    await client.webhooks.replay('whk_1', { since: '2026-11-21T10:00:00.000Z' }, options)
    await client.webhooks.retry('whk_1', 'dlv_1', options)
    expect(stub.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(Array(18).fill('mine-1'))
  })

  it.each(['', 8 as never])('refuses the idempotency key %j', async (idempotencyKey) => {
    const { stub, open } = rig()
    expect(await rejectionOf(open().policies.create(document, { idempotencyKey }))).toBeInstanceOf(TypeError)
    expect(stub.connectionCount()).toBe(0)
  })

  it('keeps the path of the base address', async () => {
    const { stub, open } = rig()
    stub.answer(answerJson(200, { id: 'pol_1' }))
    await open({ baseUrl: `${stub.url}/countersign/` }).policies.get('pol_1')
    expect(stub.requests[0]?.url).toBe('/countersign/v1/policies/pol_1')
  })

  it('refuses an empty id before anything is sent, so that no other endpoint is met', async () => {
    const { stub, open } = rig()
    const client = open()
    for (const call of [
      client.policies.delete(''),
      client.keys.revoke('..'),
      client.agents.suspend(''),
      client.audit.eraseRequest(''),
    ]) {
      expect(await rejectionOf(call)).toBeInstanceOf(TypeError)
    }
    expect(() => client.policies.revisions('')).toThrow(TypeError)
    expect(stub.connectionCount()).toBe(0)
  })

  it.each([
    ['keys.create', (client: Countersign) => client.keys.create({ name: 'bots', scopes: ['decisions:write'] })],
    ['keys.rotate', (client: Countersign) => client.keys.rotate('key_1')],
    ['webhooks.create', (client: Countersign) => client.webhooks.create({ url: 'https://example.com/hook' })],
    ['webhooks.rotateSecret', (client: Countersign) => client.webhooks.rotateSecret('key_1')],
  ])('says what to do when the secret of %s went with a lost answer', async (_name, call) => {
    const { stub, open } = rig()
    stub.answer(answerJson(200, { id: 'key_1', name: 'bots' }, { 'idempotent-replayed': 'true' }))
    const error = await rejectionOf(call(open()))
    expect(error).toMatchObject({ name: 'UnavailableError', kind: 'bad_answer' })
    expect(String(error)).toContain('rotate key_1')
  })

  it('takes no other decision for the one that it named', async () => {
    const { stub, open } = rig()
    stub.answer(answerJson(200, decision))
    const { decisions } = open()
    const other = 'dec_01kagx5v5ne8sr6w1y6gqk4t2j'
    for (const call of [decisions.get(other), decisions.confirm(other), decisions.claim(other, { holder: 'run-77' })]) {
      expect(await rejectionOf(call)).toMatchObject({ name: 'UnavailableError', kind: 'bad_answer' })
    }
  })

  it('asks what the agent of the client can get, and no other one', async () => {
    const { stub, open } = rig()
    stub.answer(answerJson(200, capabilities))
    const client = open({ agentId: asked.agent_id })
    const actions = ['payment.refund', 'email.send']
    expect(await client.capabilities({ actions })).toEqual(capabilities)
    expect(await rejectionOf(client.capabilities({ agent_id: 'agent:other', actions }))).toBeInstanceOf(TypeError)
    expect(await rejectionOf(open({ agentId: undefined }).capabilities({ actions }))).toBeInstanceOf(TypeError)
    expect(stub.requests.map(({ body }) => JSON.parse(body))).toEqual([{ agent_id: asked.agent_id, actions }])
  })

  it.each([
    ['of another agent', { ...capabilities, agent_id: 'agent:other' }],
    ['of fewer actions', { ...capabilities, data: capabilities.data.slice(1) }],
    ['of another action', { ...capabilities, data: [...capabilities.data].reverse() }],
    ['without effects', { ...capabilities, data: capabilities.data.map((one) => ({ ...one, effects: [] })) }],
    [
      'of effects that are no texts',
      { ...capabilities, data: capabilities.data.map((one) => ({ ...one, effects: [1] })) },
    ],
    ['of nothing', {}],
  ])('takes no answer %s for what an agent can get', async (_what, answer) => {
    const { stub, open } = rig()
    stub.answer(answerJson(200, answer))
    const call = open().capabilities({ agent_id: asked.agent_id, actions: ['payment.refund', 'email.send'] })
    expect(await rejectionOf(call)).toMatchObject({ name: 'UnavailableError', kind: 'bad_answer' })
  })

  it.each([{}, { data: {} }, { data: null }])('does not take %j for the accounts of a budget', async (answer) => {
    const { stub, open } = rig()
    stub.answer(answerJson(200, answer))
    expect(await rejectionOf(open().policies.budget('pol_1').page())).toMatchObject({ kind: 'bad_answer' })
  })

  it.each([
    ['decisions.get', (client: Countersign) => client.decisions.get(id)],
    ['decisions.confirm', (client: Countersign) => client.decisions.confirm(id)],
    ['decisions.claim', (client: Countersign) => client.decisions.claim(id, { holder: 'run-77' })],
    ['permits.redeem', (client: Countersign) => client.permits.redeem('a.b.c')],
  ])('never takes an unknown effect for an answer of %s', async (_name, call) => {
    const { stub, open } = rig()
    stub.answer(answerJson(200, { ...decision, effect: 'permit' }))
    expect(await rejectionOf(call(open()))).toMatchObject({ kind: 'bad_answer' })
  })

  it('asks for health without a key, and once', async () => {
    const { stub, open } = rig()
    const client = open({ maxRetries: 2 })
    stub.answer(
      answerJson(200, { status: 'ok' }),
      answerJson(200, { status: 'ok' }),
      answerJson(503, { status: 'stopping' }),
    )
    expect([await client.health.livez(), await client.health.readyz(), await client.health.readyz()]).toEqual([
      true,
      true,
      false,
    ])
    expect(stub.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/livez', undefined],
      ['/readyz', undefined],
      ['/readyz', undefined],
    ])
    await stub.close()
    expect(await rejectionOf(client.health.livez())).toMatchObject({ kind: 'connection' })
  })
})
