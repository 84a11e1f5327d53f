/** What a caller sees of /v1/decisions, by status. Listing is told in pagination.slow.test.ts, explaining in explanation.test.ts. */
import { createPermitVerifier } from '@countersign/permit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FROZEN, type RunningServer, runServer } from '../running-server.js'
import { ALLOWED, createPolicy, DENIED, decide, everyItem, makeKey, REFUNDS, REVIEWED, succeed } from './refunds.js'
import { stored } from './stored.js'

const DEC = expect.stringMatching(/^dec_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
const HASH = expect.stringMatching(/^[A-Za-z0-9_-]{43}$/)

let server: RunningServer
// biome-ignore lint/suspicious/noExplicitAny: as it was answered
let policy: any
let self: string
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  policy = await createPolicy(server, REFUNDS)
  self = (await succeed(server.call('GET', '/v1/keys/self'))).id
})
afterAll(() => server.stop())

const later = (seconds: number) => new Date(FROZEN.getTime() + seconds * 1000).toISOString()
const auditOf = (id: string) => everyItem(server, `/v1/audit?decision_id=${id}`)

describe('POST 200', () => {
  it('answers an allow with a permit, whole', async () => {
    const answer = await server.call('POST', '/v1/decisions', { body: ALLOWED })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('server-timing')).toMatch(
      /^auth;dur=[\d.]+, eval;dur=[\d.]+, reserve;dur=[\d.]+, sign;dur=[\d.]+, store;dur=[\d.]+$/,
    )
    expect(Object.keys(answer.body)).toEqual([
      'id',
      'effect',
      'status',
      'reason',
      'reason_code',
      'policy_id',
      'policy_revision',
      'policy_set',
      'rule',
      'agent_id',
      'action',
      'resource',
      'latency_ms',
      'evaluated_at',
      'expires_at',
      'trace_id',
      'budgets',
      'review',
      'outcome',
      'advice',
      'shadow',
      'permit_token',
    ])
    expect(answer.body).toEqual({
      id: DEC,
      effect: 'allow',
      status: 'authorized',
      reason: null,
      reason_code: 'rule_matched',
      policy_id: policy.id,
      policy_revision: 1,
      policy_set: 1,
      rule: 0,
      agent_id: 'agent:support-7',
      action: 'payment.refund',
      resource: 'order:8812',
      latency_ms: expect.any(Number),
      evaluated_at: later(0),
      expires_at: later(300),
      trace_id: null,
      budgets: [],
      review: null,
      outcome: null,
      advice: null,
      shadow: [],
      permit_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    })
  })

  it('signs a permit that says what was decided and where it is recorded', async () => {
    const decision = await decide(server, ALLOWED)
    const verifier = createPermitVerifier({
      issuer: server.url,
      audience: server.url,
      jwks: async () => (await server.call('GET', '/.well-known/jwks.json', { key: null })).body,
      now: () => server.clock.now().getTime(),
    })
    const claims = await verifier.verify(decision.permit_token, { action: ALLOWED.action, resource: ALLOWED.resource })
    const [entry] = await auditOf(decision.id)
    const detail = await succeed(server.call('GET', `/v1/decisions/${decision.id}`))
    expect(claims).toEqual({
      iss: server.url,
      sub: 'agent:support-7',
      aud: server.url,
      iat: FROZEN.getTime() / 1000,
      exp: FROZEN.getTime() / 1000 + 300,
      jti: decision.id,
      action: 'payment.refund',
      resource: 'order:8812',
      effect: 'allow',
      policy_id: policy.id,
      policy_revision: 1,
      request_hash: detail.request_hash,
      audit: { log: entry.log, index: entry.index, leaf: entry.leaf },
    })
    const header = JSON.parse(Buffer.from(decision.permit_token.split('.')[0], 'base64url').toString())
    expect(header).toEqual({ alg: 'EdDSA', typ: 'permit+jwt', kid: expect.any(String) })
  })

  it('answers a review that waits for a person', async () => {
    const decision = await decide(server, REVIEWED)
    expect(decision).toEqual({
      ...decision,
      effect: 'review',
      status: 'awaiting_review',
      reason: 'Refunds over 100 need a person.',
      reason_code: 'rule_matched',
      rule: 1,
      expires_at: later(86_400),
      budgets: [],
      review: {
        status: 'waiting',
        requested_at: later(0),
        expires_at: later(86_400),
        decided_by: null,
        decided_at: null,
        comment: null,
        self_approved: null,
        policy_id: null,
        policy_revision: null,
        rule: null,
      },
      outcome: null,
      advice: {
        retry: 'after_approval',
        message: `A person has to approve this. Wait for decision ${decision.id}; do not ask again.`,
      },
    })
    expect(decision).not.toHaveProperty('permit_token')
  })

  it('answers a deny of a rule', async () => {
    const decision = await decide(server, DENIED)
    expect(decision).toMatchObject({
      effect: 'deny',
      status: 'denied',
      reason_code: 'rule_matched',
      policy_id: policy.id,
      rule: 2,
      expires_at: later(300),
      review: null,
      advice: { retry: 'never' },
    })
    expect(decision).not.toHaveProperty('permit_token')
  })

  it('denies what no policy allows', async () => {
    expect(await decide(server, { agent_id: 'agent:other', action: 'payment.refund' })).toMatchObject({
      effect: 'deny',
      status: 'denied',
      reason: 'No policy matches this request.',
      reason_code: 'no_matching_policy',
      policy_id: 'pol_default',
      policy_revision: null,
      policy_set: 1,
      rule: null,
      resource: null,
      advice: {
        retry: 'never',
        message: 'No policy allows payment.refund for this agent. Do not try again; tell the person you work for.',
      },
    })
  })

  it('denies what a review or deny rule cannot tell', async () => {
    const { context, ...without } = ALLOWED
    expect(await decide(server, without)).toMatchObject({
      effect: 'deny',
      reason: 'The policy needs context.amount as a number, and the request has none.',
      reason_code: 'condition_indeterminate',
      policy_id: policy.id,
      policy_revision: 1,
      rule: 1,
      advice: { retry: 'changed', message: 'Give context.amount as a number and ask again.' },
    })
    expect(await decide(server, { ...without, context: { ...context, amount: '42.5' } })).toMatchObject({
      effect: 'deny',
    })
  })

  it('records a log, permits it and blocks nothing', async () => {
    const trial = await createPolicy(server, { name: 'trial', rules: [{ action: 'mail.*', effect: 'log' }] })
    const decision = await decide(server, { agent_id: 'agent:mailer', action: 'mail.send' })
    expect(decision).toMatchObject({
      effect: 'log',
      status: 'authorized',
      policy_id: trial.id,
      reason: 'The policy records mail.send and does not block it.',
      advice: null,
    })
    const claims = JSON.parse(Buffer.from(decision.permit_token.split('.')[1], 'base64url').toString())
    expect(claims).toMatchObject({ effect: 'log', resource: null })
  })

  it('takes null for an optional member as if it were absent', async () => {
    const bare = await decide(server, { agent_id: 'agent:x', action: 'a.b' })
    const nulls = await decide(server, {
      agent_id: 'agent:x',
      action: 'a.b',
      resource: null,
      context: null,
      holder: null,
    })
    const hashOf = async (id: string) => (await succeed(server.call('GET', `/v1/decisions/${id}`))).request_hash
    expect(await hashOf(nulls.id)).toBe(await hashOf(bare.id))
    expect({ ...nulls, id: '', latency_ms: 0 }).toEqual({ ...bare, id: '', latency_ms: 0 })
  })

  it('shows shadow policies to a key with policies:read alone', async () => {
    const shadow = await createPolicy(server, {
      name: 'a stricter one',
      mode: 'shadow',
      rules: [{ action: 'payment.*', effect: 'deny' }],
    })
    const { key } = await makeKey(server, ['decisions:write'])
    expect(await decide(server, ALLOWED)).toMatchObject({
      effect: 'allow',
      shadow: [{ policy_id: shadow.id, effect: 'deny', rule: 0 }],
    })
    expect(await decide(server, ALLOWED, key)).not.toHaveProperty('shadow')
    expect(await decide(server, { ...ALLOWED, action: 'mail.send' })).toMatchObject({ shadow: [] })
  })

  it('is recorded with one audit entry that holds a salted hash of the request and not the request', async () => {
    const before = (await stored(server)) as Record<string, number>
    const decision = await decide(server, {
      ...ALLOWED,
      context: { ...ALLOWED.context, note: 'a secret of the customer' },
    })
    const after = await stored(server)
    expect(after).toMatchObject({
      decisions: (before.decisions as number) + 1,
      audit_entries: (before.audit_entries as number) + 1,
    })
    const [entry, ...rest] = await auditOf(decision.id)
    expect(rest).toEqual([])
    expect(entry).toEqual({
      id: expect.stringMatching(/^aud_/),
      log: expect.any(String),
      index: expect.any(Number),
      at: later(0),
      type: 'decision.created',
      actor: self,
      subject: decision.id,
      agent_id: 'agent:support-7',
      data: {
        version: 1,
        effect: 'allow',
        status: 'authorized',
        reason_code: 'rule_matched',
        policy_id: policy.id,
        policy_revision: 1,
        policy_set: decision.policy_set,
        rule: 0,
        action: 'payment.refund',
        latency_ms: decision.latency_ms,
        budgets: [],
        request: HASH,
        details: HASH,
        expires_at: later(300),
      },
      trace_id: null,
      leaf: HASH,
    })
    const { request_hash } = await succeed(server.call('GET', `/v1/decisions/${decision.id}`))
    expect(entry.data.request).not.toBe(request_hash)
    expect(JSON.stringify(entry)).not.toContain('customer')
    const again = await decide(server, {
      ...ALLOWED,
      context: { ...ALLOWED.context, note: 'a secret of the customer' },
    })
    expect((await auditOf(again.id))[0].data.request).not.toBe(entry.data.request)
  })

  it('marks the agent as seen', async () => {
    await decide(server, { agent_id: 'agent:seen', action: 'a.b' })
    expect(await succeed(server.call('GET', '/v1/agents/agent:seen'))).toMatchObject({
      registered: false,
      first_seen: later(0),
      last_seen: later(0),
    })
  })

  it('compares numbers as doubles and takes text as it is', async () => {
    await createPolicy(server, {
      name: 'exact',
      rules: [
        { action: 'exact.test', effect: 'allow', conditions: { 'context.a': { $eq: 1 }, 'context.b': { $eq: 'ä😀' } } },
      ],
    })
    const ask = (text: string) => decide(server, text as never)
    expect(
      await ask('{"agent_id":"agent:x","action":"exact.test","context":{"a":1.0,"b":"\\u00e4\\ud83d\\ude00"}}'),
    ).toMatchObject({ effect: 'allow' })
    expect(await ask('{"agent_id":"agent:x","action":"exact.test","context":{"a":"1","b":"ä😀"}}')).toMatchObject({
      effect: 'deny',
    })
  })
})

describe('POST 400', () => {
  it('names every faulty place at once', async () => {
    const before = await stored(server)
    const answer = await server.call('POST', '/v1/decisions', {
      body: { agent_id: 'agent:support-7', contxt: {}, resource: 'no colon', holder: '' },
      headers: { 'X-Request-Id': 'my-own-request' },
    })
    expect(answer).toMatchObject({ status: 400 })
    expect(answer.body).toEqual({
      type: '/docs/errors#validation_failed',
      title: 'The request is not valid.',
      status: 400,
      detail: '4 problems found; see `errors`.',
      code: 'validation_failed',
      request_id: 'my-own-request',
      errors: [
        { pointer: '/action', detail: 'is missing' },
        { pointer: '/contxt', detail: 'is not a member of a decision request; did you mean context?' },
        { pointer: '/holder', detail: 'must have 1 to 64 characters' },
        { pointer: '/resource', detail: 'must be <type>:<id>, such as order:8812' },
      ],
    })
    expect(await stored(server)).toEqual(before)
  })

  it('says where the text is no strict JSON', async () => {
    const body = '{"agent_id":"a","context":{"amount":1,"amount":2}}'
    const answer = await server.call('POST', '/v1/decisions', { body })
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'malformed_json', detail: 'Line 1, column 39: the key "amount" is repeated.' },
    })
    expect(answer.body).not.toHaveProperty('errors')
  })
})

describe('POST 403', () => {
  it('lets a bound key ask for its own agents only', async () => {
    const { key } = await makeKey(server, ['decisions:write'], { agents: ['agent:support-*'] })
    expect((await decide(server, ALLOWED, key)).effect).toBe('allow')
    const before = await stored(server)
    const other = { ...ALLOWED, agent_id: 'agent:finance-1' }
    expect(await server.call('POST', '/v1/decisions', { key, body: other })).toMatchObject({
      status: 403,
      body: { code: 'agent_not_allowed', title: 'The API key may not act for this agent.' },
    })
    expect(await stored(server)).toEqual(before)
  })
})

describe('GET 200', () => {
  it('shows what was asked and who asked', async () => {
    const body = { ...ALLOWED, holder: 'run-77' }
    const asked = await server.call('POST', '/v1/decisions', { body, headers: { 'X-Request-Id': 'request-of-run-77' } })
    const read = await server.call('GET', `/v1/decisions/${asked.body.id}`)
    expect(read.body).toEqual({
      ...asked.body,
      context: ALLOWED.context,
      request_hash: HASH,
      key_id: self,
      request_id: 'request-of-run-77',
    })
  })

  it('gives the permit to the key that asked, and to no other', async () => {
    const { id, permit_token } = await decide(server, ALLOWED)
    const other = (await makeKey(server, ['*'])).key
    expect((await server.call('GET', `/v1/decisions/${id}`)).body.permit_token).toBe(permit_token)
    expect((await server.call('GET', `/v1/decisions/${id}`, { key: other })).body).not.toHaveProperty('permit_token')
    expect((await everyItem(server, '/v1/decisions')).filter((one) => 'permit_token' in one)).toEqual([])
  })

  it('is over at the very moment of expires_at', async () => {
    const { id } = await decide(server, ALLOWED)
    const review = await decide(server, REVIEWED)
    const statusOf = async (one: string) => (await succeed(server.call('GET', `/v1/decisions/${one}`))).status
    server.clock.advance(299_999)
    expect(await statusOf(id)).toBe('authorized')
    expect(await succeed(server.call('GET', `/v1/decisions/${id}`))).toHaveProperty('permit_token')
    server.clock.advance(1)
    const over = await succeed(server.call('GET', `/v1/decisions/${id}`))
    expect(over).toMatchObject({ effect: 'allow', status: 'expired', outcome: null, review: null })
    expect(over).not.toHaveProperty('permit_token')
    expect(await statusOf(review.id)).toBe('awaiting_review')
    server.clock.advance(86_400_000 - 300_000)
    expect(await succeed(server.call('GET', `/v1/decisions/${review.id}`))).toMatchObject({
      effect: 'review',
      status: 'expired',
      expires_at: review.expires_at,
      review: { status: 'expired', decided_by: null, decided_at: null },
      outcome: null,
    })
  })

  it('keeps what was decided when policies change', async () => {
    const rule = { action: 'ship.send', effect: 'allow', conditions: { 'context.kg': { $lte: 5 } } }
    const made = await createPolicy(server, { name: 'shipping', rules: [rule] })
    const asked = await decide(server, { agent_id: 'agent:x', action: 'ship.send', context: { kg: 4 } })
    await succeed(
      server.call('PUT', `/v1/policies/${made.id}`, { body: { ...made, rules: [{ ...rule, effect: 'deny' }] } }),
    )
    expect(await succeed(server.call('GET', `/v1/decisions/${asked.id}`))).toMatchObject(asked)
    await succeed(server.call('DELETE', `/v1/policies/${made.id}`))
    expect(await succeed(server.call('GET', `/v1/decisions/${asked.id}`))).toMatchObject(asked)
  })

  it('outlives a restart, permit and all', async () => {
    const first = await runServer({ settings: { rateLimitPerSecond: 0, issuer: 'https://permits.example' } })
    await createPolicy(first, REFUNDS)
    const decision = await decide(first, ALLOWED)
    const second = await first.restart()
    try {
      expect(await succeed(second.call('GET', `/v1/decisions/${decision.id}`))).toMatchObject(decision)
      expect(await decide(second, ALLOWED)).toMatchObject({ effect: 'allow', policy_set: 1 })
    } finally {
      await second.stop()
    }
  })
})

describe('GET 404', () => {
  it('does not know decisions of agents that the key is not bound to', async () => {
    const { id } = await decide(server, ALLOWED)
    const { key } = await makeKey(server, ['decisions:read', 'policies:read'], { agents: ['agent:finance-*'] })
    const absent = await server.call('GET', '/v1/decisions/dec_01kagx3v5ne8sr6w1y6gqk4t2h', { key })
    for (const path of [`/v1/decisions/${id}`, `/v1/decisions/${id}/explanation`]) {
      const answer = await server.call('GET', path, { key })
      expect(answer.status).toBe(404)
      expect({ ...answer.body, request_id: '' }).toEqual({ ...absent.body, request_id: '' })
    }
  })
})
