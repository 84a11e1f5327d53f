/** What a caller sees of POST /v1/permits/redeem, by status, and of the key set. */
import { generateSigningKey, mintPermitSync } from '@countersign/permit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { ALLOWED, allowing, createPolicy, decide, everyItem, makeKey, REFUNDS, succeed } from './refunds.js'
import { stored } from './stored.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, REFUNDS)
})
afterAll(() => server.stop())

const redeem = (permit_token: unknown, key = server.key, on = server) =>
  on.call('POST', '/v1/permits/redeem', { key, body: { permit_token } })
const redeemed = async (id: string) => everyItem(server, `/v1/audit?decision_id=${id}&type=decision.redeemed`)

const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString())

describe('200', () => {
  it('answers the decision the first time, without its permit', async () => {
    const { permit_token, ...decision } = await decide(server, ALLOWED)
    const { key, id } = await makeKey(server, ['permits:redeem'])
    const { shadow, ...seen } = decision
    expect(await redeem(permit_token, key)).toMatchObject({ status: 200, body: seen })
    expect((await redeem(permit_token, key)).status).toBe(409)
    expect(await redeemed(decision.id)).toMatchObject([
      { type: 'decision.redeemed', actor: id, agent_id: 'agent:support-7' },
    ])
    expect(await succeed(server.call('GET', `/v1/decisions/${decision.id}`))).toMatchObject({ status: 'authorized' })
  })

  it('is told to exactly one of a hundred that come at once', async () => {
    const { permit_token, id } = await decide(server, ALLOWED)
    const keys = await Promise.all(Array.from({ length: 4 }, () => makeKey(server, ['permits:redeem'])))
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => redeem(permit_token, keys[i % 4]?.key)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.code === 'permit_already_used')).toHaveLength(99)
    expect(await redeemed(id)).toHaveLength(1)
  })

  it('takes the permit of a log', async () => {
    await createPolicy(server, { name: 'trial', rules: [{ action: 'trial.run', effect: 'log' }] })
    const { permit_token } = await decide(server, { agent_id: 'agent:a', action: 'trial.run' })
    expect(await redeem(permit_token)).toMatchObject({ status: 200, body: { effect: 'log' } })
  })

  it('is told until the permit expires', async () => {
    const { permit_token } = await decide(server, ALLOWED)
    server.clock.advance(299_999)
    expect((await redeem(permit_token)).status).toBe(200)
  })
})

describe('400', () => {
  it('names a body that holds no permit', async () => {
    for (const body of [{}, { permit_token: 1 }, { permit_token: null }])
      expect(await server.call('POST', '/v1/permits/redeem', { body })).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', errors: [{ pointer: '/permit_token' }] },
      })
  })

  it('permit_invalid: at the very moment it expires', async () => {
    const { permit_token } = await decide(server, ALLOWED)
    server.clock.advance(300_000)
    expect(await redeem(permit_token)).toMatchObject({ status: 400, body: { code: 'permit_invalid' } })
  })

  it('permit_invalid: whatever is wrong with it', async () => {
    const { permit_token } = await decide(server, ALLOWED)
    const [header, payload, signature] = permit_token.split('.')
    const other = await runServer({ settings: { rateLimitPerSecond: 0 } })
    await createPolicy(other, REFUNDS)
    const foreign = (await decide(other, ALLOWED)).permit_token
    await other.stop()
    const stranger = generateSigningKey()
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = claimsOf(permit_token)
    const faulty = [
      '',
      'x',
      'a.b.c',
      `${permit_token}=`,
      `${permit_token}.`,
      ` ${permit_token}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}.${encode({ ...claims, action: 'payment.*' })}.${signature}`,
      `${encode({ alg: 'none', typ: 'permit+jwt' })}.${payload}.`,
      'x'.repeat(9000),
      foreign,
      mintPermitSync(stranger, claims),
    ]
    const before = await stored(server)
    for (const token of faulty)
      expect(await redeem(token), token).toMatchObject({ status: 400, body: { code: 'permit_invalid' } })
    expect(await stored(server)).toEqual(before)
    expect((await redeem(permit_token)).status).toBe(200)
  })

  it('permit_invalid: a permit for another audience or of another issuer, signed with the same keys', async () => {
    const first = await runServer({ settings: { rateLimitPerSecond: 0, issuer: 'https://one.example' } })
    await createPolicy(first, REFUNDS)
    const { permit_token } = await decide(first, ALLOWED)
    const second = await first.restart({ settings: { rateLimitPerSecond: 0, issuer: 'https://two.example' } })
    expect(await redeem(permit_token, second.key, second)).toMatchObject({
      status: 400,
      body: { code: 'permit_invalid' },
    })
    const third = await second.restart({
      settings: { rateLimitPerSecond: 0, issuer: 'https://one.example', permitAudience: 'https://bank.example' },
    })
    expect(await redeem(permit_token, third.key, third)).toMatchObject({
      status: 400,
      body: { code: 'permit_invalid' },
    })
    const fourth = await third.restart({ settings: { rateLimitPerSecond: 0, issuer: 'https://one.example' } })
    try {
      expect((await redeem(permit_token, fourth.key, fourth)).status).toBe(200)
    } finally {
      await fourth.stop()
    }
  })
})

describe('404', () => {
  it('is told to a key that is bound to other agents', async () => {
    const { permit_token, id } = await decide(server, ALLOWED)
    const bound = await makeKey(server, ['permits:redeem'], { agents: ['agent:finance-*'] })
    expect(await redeem(permit_token, bound.key)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await redeemed(id)).toEqual([])
    const own = await makeKey(server, ['permits:redeem'], { agents: ['agent:support-*'] })
    expect((await redeem(permit_token, own.key)).status).toBe(200)
    expect((await redeem(permit_token, bound.key)).status).toBe(404)
  })
})

describe('409', () => {
  it('agent_suspended: while it is, and not after', async () => {
    const asked = { ...ALLOWED, agent_id: 'agent:support-s' }
    const [first, second] = [await decide(server, asked), await decide(server, asked)]
    await succeed(redeem(first.permit_token))
    await succeed(server.call('POST', '/v1/agents/agent:support-s/suspend'))
    expect(await redeem(second.permit_token)).toMatchObject({ status: 409, body: { code: 'agent_suspended' } })
    expect(await redeem(first.permit_token)).toMatchObject({ status: 409, body: { code: 'permit_already_used' } })
    expect(await redeemed(second.id)).toEqual([])
    await succeed(server.call('POST', '/v1/agents/agent:support-s/resume'))
    expect((await redeem(second.permit_token)).status).toBe(200)
  })

  it('invalid_transition: once the decision is settled, with its present status', async () => {
    const asked = { ...ALLOWED, agent_id: 'agent:support-t' }
    const [confirmed, rejected] = [await decide(server, asked), await decide(server, asked)]
    await succeed(server.call('POST', `/v1/decisions/${confirmed.id}/confirm`))
    await succeed(server.call('POST', `/v1/decisions/${rejected.id}/reject`))
    for (const [{ permit_token }, status] of [
      [confirmed, 'confirmed'],
      [rejected, 'rejected'],
    ])
      expect(await redeem(permit_token)).toMatchObject({
        status: 409,
        body: {
          code: 'invalid_transition',
          current_status: status,
          detail: `The decision is ${status}; it cannot be redeemed.`,
        },
      })
    await succeed(server.call('POST', '/v1/agents/agent:support-t/suspend'))
    expect((await redeem(confirmed.permit_token)).body.code).toBe('agent_suspended')
  })
})

describe('the key set', () => {
  it('is public, may be cached for a minute, and holds nothing private', async () => {
    const answer = await server.call('GET', '/.well-known/jwks.json', { key: null })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=60')
    expect(answer.body.keys).toHaveLength(2)
    for (const jwk of answer.body.keys)
      expect(jwk).toEqual({
        kty: 'OKP',
        crv: 'Ed25519',
        alg: 'EdDSA',
        use: 'sig',
        kid: expect.any(String),
        x: expect.any(String),
      })
    const { permit_token } = await decide(server, ALLOWED)
    const { kid } = JSON.parse(Buffer.from(permit_token.split('.')[0], 'base64url').toString())
    expect(answer.body.keys.map((jwk: { kid: string }) => jwk.kid)).toContain(kid)
  })
})

describe('a permit', () => {
  it('is the same at each reading, and rounds its end down to seconds', async () => {
    server.clock.advance(120)
    await createPolicy(server, allowing('round.down'))
    const decision = await decide(server, { agent_id: 'agent:a', action: 'round.down' })
    expect(Date.parse(decision.expires_at) % 1000).not.toBe(0)
    const { exp, iat } = claimsOf(decision.permit_token)
    expect(exp).toBe(Math.floor(Date.parse(decision.expires_at) / 1000))
    expect(iat).toBe(Math.floor(Date.parse(decision.evaluated_at) / 1000))
    expect((await succeed(server.call('GET', `/v1/decisions/${decision.id}`))).permit_token).toBe(decision.permit_token)
  })
})
