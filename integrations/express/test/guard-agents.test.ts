/** Who is asked for: the agent that a verified access token names, and nobody else. */
import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import { guard, permitErrors } from '@countersign/express'
import type { RequestHandler } from 'express'
import { expressjwt } from 'express-jwt'
import { auth } from 'express-oauth2-jwt-bearer'
import { exportJWK, SignJWT } from 'jose'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { newApp, useRig } from './rig.js'

const rig = useRig()

const secret = 'a-secret-of-a-test-that-is-long-enough'

/** A guarded route whose agent is the one that `req.auth` names. */
function appBehind(...middlewares: RequestHandler[]) {
  return newApp()
    .post('/', ...middlewares, guard({ client: rig().client, action: 'payment.refund' }), (_req, res) => void res.end())
    .use(permitErrors())
}

const withAuth =
  (value: unknown): RequestHandler =>
  (req, _res, next) => {
    Object.assign(req, { auth: value })
    next()
  }

const askedAgents = () =>
  rig()
    .questions()
    .map(({ agent_id }) => agent_id)

describe('the agent', () => {
  it('is the subject of a token that express-jwt has verified', async () => {
    const token = await new SignJWT({ sub: 'agent:jwt-1' })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(createSecretKey(Buffer.from(secret)))
    const app = appBehind(expressjwt({ secret, algorithms: ['HS256'] }))
    await request(app).post('/').set('authorization', `Bearer ${token}`).expect(200)
    expect(askedAgents()).toEqual(['agent:jwt-1'])
    await request(app).post('/').set('authorization', `Bearer ${token}x`).expect(401)
    await request(app).post('/').expect(401)
    expect(askedAgents()).toHaveLength(1)
  })

  it('is the subject of the payload that express-oauth2-jwt-bearer has verified', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }]
    const { url } = await rig().listen(newApp().get('/jwks', (_req, res) => void res.json({ keys })))
    const token = await new SignJWT({ sub: 'agent:oauth-1' })
      .setProtectedHeader({ alg: 'RS256', kid: 'one', typ: 'JWT' })
      .setIssuer('https://id.example/')
      .setAudience('https://pay.example')
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(privateKey)
    const app = appBehind(
      auth({
        issuer: 'https://id.example/',
        audience: 'https://pay.example',
        jwksUri: `${url}/jwks`,
        tokenSigningAlg: 'RS256',
      }),
    )
    await request(app).post('/').set('authorization', `Bearer ${token}`).expect(200)
    expect(askedAgents()).toEqual(['agent:oauth-1'])
    const { headers } = await request(app).post('/').expect(401)
    expect(headers['www-authenticate']).toContain('Bearer')
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'agent:root'],
    ['claims without a subject', { iss: 'https://id.example/' }],
    ['an empty subject', { sub: '' }],
    ['a subject that is a list', { sub: ['agent:root'] }],
    ['a subject that is an object', { sub: { toString: () => 'agent:root' } }],
    ['a claim that is called payload', { payload: { sub: 'agent:root' } }],
    ['claims that are called payload and token', { payload: { sub: 'agent:root' }, token: 'a.b.c' }],
    ['claims that are called payload and header', { payload: { sub: 'agent:root' }, header: {} }],
    [
      'an empty subject beside what looks like a payload',
      { sub: '', payload: { sub: 'agent:root' }, header: {}, token: '' },
    ],
  ])('is missing when req.auth is %s: 401, and nobody is asked', async (_what, value) => {
    const { status, body, headers } = await request(appBehind(withAuth(value))).post('/')
    expect([status, body.code, headers['www-authenticate']]).toEqual([401, 'agent_missing', 'Bearer'])
    expect(rig().stub.requests).toEqual([])
  })

  it('is not one that something else has put on Object.prototype', async () => {
    const servers = [await rig().listen(appBehind()), await rig().listen(appBehind(withAuth({})))]
    const pollution = { auth: { sub: 'agent:root' }, sub: 'agent:root' }
    Object.assign(Object.prototype, pollution)
    try {
      for (const { url } of servers) expect((await fetch(url, { method: 'POST' })).status).toBe(401)
    } finally {
      for (const name of Object.keys(pollution)) Reflect.deleteProperty(Object.prototype, name)
    }
    expect(rig().stub.requests).toEqual([])
  })

  it('is never one that the caller merely says', async () => {
    const app = appBehind()
    await request(app)
      .post('/?agent_id=agent:root&agentId=agent:root')
      .set('x-agent-id', 'agent:root')
      .send({ agent_id: 'agent:root', auth: { sub: 'agent:root' } })
      .expect(401)
    expect(rig().stub.requests).toEqual([])
  })

  it('is not the one of the client, unless the guard says so', async () => {
    const client = rig().open({ agentId: 'agent:gateway' })
    const options = { client, action: 'payment.refund' } as const
    const app = newApp()
      .post('/nobody', guard(options), (_req, res) => void res.end())
      .post('/gateway', guard({ ...options, agent_id: 'agent:gateway' }), (_req, res) => void res.end())
      .post('/other', guard({ ...options, agent_id: 'agent:root' }), (_req, res) => void res.end())
      .use(permitErrors())
    await request(app).post('/nobody').expect(401)
    await request(app).post('/gateway').expect(200)
    expect((await request(app).post('/other').expect(403)).body.code).toBe('mapping_failed')
    expect(askedAgents()).toEqual(['agent:gateway'])
  })

  it.each<[string, unknown, number, string]>([
    ['undefined', undefined, 401, 'agent_missing'],
    ['null', null, 401, 'agent_missing'],
    ['an empty text', '', 401, 'agent_missing'],
    ['a number', 7, 403, 'mapping_failed'],
    ['a list', ['agent:root'], 403, 'mapping_failed'],
  ])('that a function gives as %s lets nothing run', async (_what, value, status, code) => {
    const app = newApp()
      .post('/', rig().guard({ agent_id: () => value as never }), (_req, res) => void res.end())
      .use(permitErrors())
    const answer = await request(app).post('/')
    expect([answer.status, answer.body.code]).toEqual([status, code])
    expect(rig().stub.requests).toEqual([])
  })

  it('is each caller’s own when two call at once', async () => {
    const app = newApp().post(
      '/',
      (req, _res, next) => {
        Object.assign(req, { auth: { sub: req.headers['x-verified'] } })
        next()
      },
      guard({ client: rig().client, action: 'payment.refund' }),
      (req, res) => void res.json(req.permit?.asked?.agent_id),
    )
    const agents = Array.from({ length: 20 }, (_, at) => `agent:${at}`)
    const answers = await Promise.all(agents.map((agent) => request(app).post('/').set('x-verified', agent)))
    expect(answers.map(({ body }) => body)).toEqual(agents)
  })
})
