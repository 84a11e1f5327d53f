/** Which permit lets a route run, and how a caller without one is turned away. */
import { sign } from 'node:crypto'
import { requirePermit } from '@countersign/express'
import { any, generateSigningKey, mintPermitSync, requestHash } from '@countersign/permit'
import type { Request, RequestHandler } from 'express'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { AUDIENCE, asked, ISSUER, key, permit, service } from './permits.js'
import { newApp } from './rig.js'

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

const HEADER = { alg: 'EdDSA', typ: 'permit+jwt', kid: key.kid }

/** A permit whose claims were changed, so that its signature is wrong. */
function permitClaimsWith(changes: object): string {
  const [header, payload = '', signature] = permit().split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  return [header, encode({ ...claims, ...changes }), signature].join('.')
}

/** Signed with the right key, whatever its header says. */
function signedWith(header: object, token = permit()): string {
  const [, payload] = token.split('.')
  const input = `${encode(header)}.${payload}`
  return `${input}.${sign(null, Buffer.from(input), key.privateKey).toString('base64url')}`
}

describe('a permit', () => {
  it('lets the route run for what it says', async () => {
    const { send, runs } = service()
    const { body } = await send(permit()).expect(200)
    expect(body).toMatchObject({
      claims: { sub: asked.agent_id, action: asked.action, resource: asked.resource },
      same: true,
    })
    expect(runs()).toBe(1)
  })

  it.each<[string, () => string, string]>([
    ['is over', () => permit({ iat: 1_700_000_000, exp: 1_700_000_300 }), 'expired'],
    ['is from the future', () => permit({ iat: 3_000_000_000, exp: 3_000_000_300 }), 'issued_in_future'],
    ['is of another issuer', () => permit({ iss: 'https://other.example' }), 'issuer_mismatch'],
    ['is for another audience', () => permit({ aud: 'https://other.example' }), 'audience_mismatch'],
    ['is signed by another key', () => permit({}, generateSigningKey()), 'key_unknown'],
    ['is signed by another key of the same name', () => mintWithOtherKey(), 'signature_invalid'],
    [
      'is not signed',
      () => `${encode({ alg: 'none', typ: 'permit+jwt', kid: key.kid })}.${permit().split('.')[1]}.`,
      'token_malformed',
    ],
    ['says that it is not signed', () => signedWith({ ...HEADER, alg: 'none' }), 'algorithm_not_allowed'],
    ['brings its key along', () => signedWith({ ...HEADER, jwk: key.publicJwk }), 'header_member_not_allowed'],
    ['names no key', () => signedWith({ alg: 'EdDSA', typ: 'permit+jwt' }), 'header_invalid'],
    ['is another kind of token', () => signedWith({ ...HEADER, typ: 'JWT' }), 'type_not_allowed'],
    ['was changed', () => permit().replace(/\.[^.]+\./, `.${encode({ sub: 'agent:root' })}.`), 'signature_invalid'],
    ['is no token', () => 'cs_sk_abc', 'token_malformed'],
    ['is two tokens', () => `${permit()} ${permit()}`, 'token_malformed'],
    ['has a list of tokens', () => `${permit()},${permit()}`, 'token_malformed'],
    ['is larger than any permit', () => permit({ policy_id: 'x'.repeat(9_000) }), 'token_too_large'],
  ])('that %s is none: 401, with a challenge', async (_what, token, code) => {
    const { send, runs } = service()
    const { status, body, headers, type } = await send(token())
    expect([status, body.code, type, runs()]).toEqual([401, code, 'application/problem+json', 0])
    expect(headers['www-authenticate']).toBe(`Bearer error="invalid_token", error_description="${code}"`)
  })

  it.each<[string, () => string, string, object?]>([
    ['another action', () => permit({ action: 'payment.read' }), 'action_mismatch'],
    ['another resource', () => permit({ resource: 'order:1' }), 'resource_mismatch'],
    ['no resource', () => permit({ resource: null }), 'resource_mismatch'],
    ['another agent', () => permit(), 'agent_mismatch', { agent_id: 'agent:billing-1' }],
    [
      'other facts',
      () => permit({ request_hash: requestHash({ ...asked, context: { amount: 1 } }) }),
      'request_hash_mismatch',
      { context: ({ body }: { body: object }) => body },
    ],
    ['recording alone', () => permit({ effect: 'log' }), 'effect_not_allowed'],
    ['a denied action', () => signedWith(HEADER, permitClaimsWith({ effect: 'deny' })), 'effect_not_allowed'],
    [
      'an action that a person approved, where none such is taken',
      () => permit({ effect: 'review' }),
      'effect_not_allowed',
      { effects: ['allow'] },
    ],
  ])('for %s lets nothing run: 403', async (_what, token, code, options = {}) => {
    const { send, runs } = service(options)
    const { status, body, headers } = await send(token())
    expect([status, body.code, runs()]).toEqual([403, code, 0])
    expect(headers['www-authenticate']).toBe(`Bearer error="insufficient_scope", error_description="${code}"`)
  })

  it('of effect log is taken where that is asked for, and one of a review always', async () => {
    await service({ effects: ['allow', 'review', 'log'] })
      .send(permit({ effect: 'log' }))
      .expect(200)
    await service()
      .send(permit({ effect: 'review' }))
      .expect(200)
  })

  it('is bound to the very request by its facts, or by a hash of one’s own', async () => {
    const byContext = service({ agent_id: () => asked.agent_id, context: (req) => ({ amount: req.body.amount }) })
    await byContext.send(permit()).expect(200)
    const byHash = service({ requestHash: (_req, { sub }) => requestHash({ ...asked, agent_id: sub }) })
    await byHash.send(permit()).expect(200)
  })

  it('for whatever it says is taken where the code says any', async () => {
    const { send } = service({ action: any, resource: any })
    await send(permit({ action: 'mail.send', resource: null })).expect(200)
  })

  it('for nothing in particular is taken where the resource is null', async () => {
    await service({ resource: null })
      .send(permit({ resource: null }))
      .expect(200)
    await service({ resource: null }).send(permit()).expect(403)
  })

  it.each<[object, object, string]>([
    [{ resource: (req: Request) => `order:${req.body.orderId}` }, { resource: 'order:undefined' }, 'resource'],
    [{ resource: 'order:' }, { resource: 'order:' }, 'resource'],
    [{ action: (req: Request) => `payment.${req.body.verb}` }, { action: 'payment.undefined' }, 'action'],
    [{ agent_id: (req: Request) => `user:${req.body.sub ?? null}` }, { sub: 'user:null' }, 'agent_id'],
  ])('is taken by no route that misspells what it is for: %o', async (options, claims, field) => {
    const { send, runs } = service(options)
    const { body } = await send(permit(claims)).expect(403)
    expect(body).toMatchObject({
      code: 'question_refused',
      detail: expect.stringContaining(`The ${field} of this call has`),
    })
    expect(runs()).toBe(0)
  })

  it.each<[string, object, string]>([
    [
      'throws',
      {
        resource: () => {
          throw new Error('no such order')
        },
      },
      'mapping_failed',
    ],
    [
      'throws while it hashes',
      {
        requestHash: () => {
          throw new Error('no hash')
        },
      },
      'mapping_failed',
    ],
    ['gives facts that are no JSON', { context: () => ({ amount: Number.NaN }) }, 'mapping_failed'],
    ['gives no resource', { resource: () => undefined }, 'expectation_missing'],
    ['gives no action', { action: () => undefined }, 'expectation_missing'],
    ['gives no agent', { agent_id: () => undefined }, 'expectation_missing'],
    ['gives no facts', { context: () => undefined }, 'expectation_missing'],
  ])('lets nothing run where a function of the service %s: 403', async (_what, options, code) => {
    const { send, runs } = service(options)
    const { status, body } = await send(permit())
    expect([status, body.code, runs()]).toEqual([403, code, 0])
  })

  it('is not used up by a request that it is not for', async () => {
    const { send } = service({ context: (req) => ({ amount: req.body.amount }) })
    const token = permit()
    await send(token, '/refunds/1').expect(403)
    await send(token).send({ amount: 1 }).expect(403)
    await send(token).expect(200)
    await send(token).expect(401)
  })
})

describe('the permit of a request', () => {
  it('is missing: 401 with a plain challenge', async () => {
    const { send, runs } = service()
    const { status, body, headers } = await send()
    expect([status, body.code, headers['www-authenticate'], runs()]).toEqual([401, 'permit_missing', 'Bearer', 0])
  })

  it.each<[string, (app: Parameters<typeof request>[0], token: string) => request.Test]>([
    [
      'in the query',
      (app, token) => request(app).post(`/refunds/8812?access_token=${token}&permit=${token}&token=${token}`),
    ],
    [
      'in the body',
      (app, token) => request(app).post('/refunds/8812').send({ access_token: token, permit_token: token }),
    ],
    ['in a cookie', (app, token) => request(app).post('/refunds/8812').set('cookie', `permit=${token}`)],
    ['in another header', (app, token) => request(app).post('/refunds/8812').set('x-permit', token)],
    ['by another scheme', (app, token) => request(app).post('/refunds/8812').set('authorization', `Basic ${token}`)],
    ['without a scheme', (app, token) => request(app).post('/refunds/8812').set('authorization', token)],
  ])('is not looked for %s', async (_where, send) => {
    const { app, runs } = service()
    const { status, body } = await send(app, permit())
    expect([status, body.code, runs()]).toEqual([401, 'permit_missing', 0])
  })

  it('is one: a second header is none the less refused when the first one holds', async () => {
    const { app, runs } = service()
    const sent = { authorization: [`Bearer ${permit()}`, `Bearer ${permit()}`] }
    const { status, body } = await request(app)
      .post('/refunds/8812')
      .set(sent as never)
    expect([status, body.code, runs()]).toEqual([401, 'permit_ambiguous', 0])
  })

  it('can stand in a header of its own, beside the service’s own authorization', async () => {
    const { app, runs } = service({ header: 'Permit-Token' })
    const send = () => request(app).post('/refunds/8812').set('authorization', 'Bearer something-else')
    await send().set('permit-token', permit()).expect(200)
    const { headers, body } = await send().expect(401)
    expect([headers['www-authenticate'], body.code]).toEqual(['Permit', 'permit_missing'])
    const both = await send().set({ 'permit-token': [permit(), permit()] } as never)
    expect([both.status, both.body.code, runs()]).toEqual([401, 'permit_ambiguous', 1])
  })

  it('is in no answer and no error', async () => {
    const token = permit({ action: 'payment.read' })
    const seen: unknown[] = []
    const app = newApp()
      .post(
        '/',
        requirePermit({
          issuer: ISSUER,
          audience: AUDIENCE,
          jwks: { keys: [key.publicJwk] },
          action: 'a.b',
          resource: any,
        }),
        (_req, res) => void res.end(),
      )
      .use(((error, _req, res, _next) => {
        seen.push(error.stack, JSON.stringify(error), JSON.stringify(error.toProblem()))
        res.status(error.status).end()
      }) as import('express').ErrorRequestHandler)
    await request(app).post('/').set('authorization', `Bearer ${token}`).expect(403)
    expect(seen).toHaveLength(3)
    for (const text of seen) expect(text).not.toContain(token.split('.')[2])
  })
})

describe('a route that requires a permit', () => {
  it('holds the request as it was compared', async () => {
    const change: RequestHandler = (req, _res, next) => {
      req.body.amount = 4250
      next()
    }
    let runs = 0
    const app = newApp().post(
      '/',
      requirePermit({
        issuer: ISSUER,
        audience: AUDIENCE,
        jwks: { keys: [key.publicJwk] },
        action: 'payment.refund',
        resource: any,
      }),
      change,
      (_req, res) => {
        runs += 1
        res.end()
      },
    )
    await request(app).post('/').set('authorization', `Bearer ${permit()}`).send({ amount: 1 }).expect(500)
    expect(runs).toBe(0)
  })

  it('goes on with a response whose headers were sent ahead, and with none that was ended', async () => {
    let runs = 0
    const showsPermit = requirePermit({
      issuer: ISSUER,
      audience: AUDIENCE,
      jwks: { keys: [key.publicJwk] },
      action: any,
      resource: any,
    })
    const run: RequestHandler = (_req, res) => {
      runs += 1
      res.end('done')
    }
    const app = newApp()
      .post('/begun', (_req, res, next) => void res.write('well, ', () => next()), showsPermit, run)
      .post('/ended', (_req, res, next) => void res.end('over', () => next()), showsPermit, run)
    const send = (path: string) => request(app).post(path).set('authorization', `Bearer ${permit()}`)
    expect((await send('/begun')).text).toBe('well, done')
    expect((await send('/ended')).text).toBe('over')
    expect(runs).toBe(1)
  })

  it.each<[string, object]>([
    ['the action', { action: async () => 'payment.refund' }],
    ['the resource', { resource: async () => 'order:8812' }],
    ['the agent', { agent_id: async () => asked.agent_id }],
    ['the context', { context: async () => asked.context }],
    ['the request hash', { requestHash: async () => requestHash(asked) }],
    ['the resource, which rejects', { resource: () => Promise.reject(new Error('no such order')) }],
    ['the context, which rejects', { context: () => Promise.reject(new Error('no such order')) }],
    ['the request hash, which rejects', { requestHash: () => Promise.reject(new Error('no such order')) }],
  ])('does not run with a promise in the place of %s', async (_what, options) => {
    const { send, runs } = service(options)
    const { status, body } = await send(permit())
    // A rejection that nobody waits for would end the process; here it fails the run of the tests.
    await new Promise(setImmediate)
    expect([status, body.code, runs()]).toEqual([403, 'mapping_failed', 0])
  })

  it('does not run for a preflight of CORS, and asks anything else for a permit', async () => {
    const { app, runs } = service()
    const preflight = request(app)
      .options('/refunds/8812')
      .set('origin', 'https://shop.example')
      .set('access-control-request-method', 'POST')
    await preflight.expect(204)
    await request(app).options('/refunds/8812').expect(401)
    await request(app).head('/refunds/8812').expect(401)
    expect(runs()).toBe(0)
  })

  it('is made with faulty options by nobody', () => {
    const right = {
      issuer: ISSUER,
      audience: AUDIENCE,
      jwks: { keys: [key.publicJwk] },
      action: 'a.b',
      resource: null,
    } as const
    const faulty: [object, RegExp][] = [
      [{ ...right, issuer: '' }, /issuer/],
      [{ ...right, audience: undefined }, /audience/],
      [{ ...right, jwks: undefined }, /^jwks /],
      [{ ...right, keys: [key.publicJwk] }, /^keys /],
      [{ ...right, jwks: 'file:///keys' }, /http/],
      [{ ...right, action: undefined }, /^action /],
      [{ ...right, resource: undefined }, /^resource /],
      [{ ...right, resource: 7 }, /^resource /],
      [{ ...right, agent_id: 7 }, /^agent_id /],
      [{ ...right, context: {}, requestHash: () => '' }, /^context /],
      [{ ...right, effects: ['permit'] }, /^effects /],
      [{ ...right, effects: 'log' }, /^effects /],
      [{ ...right, singleUse: true }, /^singleUse /],
      [{ ...right, singleUse: { redeem: {} } }, /^singleUse.redeem /],
      [{ ...right, singleUse: false, maxSeen: 5 }, /^maxSeen /],
      [{ ...right, maxSeen: 0 }, /^maxSeen /],
      [{ ...right, header: 'a b' }, /^header /],
      [{ ...right, freeze: 1 }, /^freeze /],
      [{ ...right, audiance: 'x' }, /^audiance /],
    ]
    for (const [options, said] of faulty) expect(() => requirePermit(options as never), String(said)).toThrow(said)
  })

  it.each(['agent_id', 'context', 'requestHash'])(
    'takes any %s where it is left out, not where it is undefined',
    (name) => {
      const right = {
        issuer: ISSUER,
        audience: AUDIENCE,
        jwks: { keys: [key.publicJwk] },
        action: 'a.b',
        resource: null,
      } as const
      expect(requirePermit(right)).toBeTypeOf('function')
      const making = () => requirePermit({ ...right, [name]: process.env.COUNTERSIGN_NOT_SET } as never)
      expect(making).toThrow(new TypeError(`${name} is undefined: leave it out to take any`))
    },
  )
})

function mintWithOtherKey(): string {
  const other = { ...generateSigningKey(), kid: key.kid }
  const [, payload = ''] = permit().split('.')
  return mintPermitSync(other, JSON.parse(Buffer.from(payload, 'base64url').toString()))
}
