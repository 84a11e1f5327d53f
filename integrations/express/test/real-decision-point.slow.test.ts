/** Guarded routes and services with permits against the server as it is shipped. */
import { once } from 'node:events'
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Countersign, type CountersignClient } from '@countersign/client'
import { verifyGuard } from '@countersign/client/verify'
import { guard, permitErrors, requirePermit } from '@countersign/express'
import type { Request, RequestHandler } from 'express'
import request from 'supertest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type DecisionPoint, startDecisionPoint } from './decision-point.js'
import { gate, newApp, PATIENT_MS } from './rig.js'

const AGENT = 'agent:support-7'

let point: DecisionPoint
let bot: Countersign
let policyId: string

beforeAll(async () => {
  point = await startDecisionPoint()
  const policy = await point.admin.policies.create({
    name: 'refunds',
    rules: [
      { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
      { action: 'payment.refund', effect: 'review', conditions: { 'context.amount': { $lte: 1000 } } },
      { action: 'page.read', effect: 'log' },
    ],
    budget: { limit: 1000, unit: 'EUR', period: 'total' },
  })
  policyId = policy.id
  const { key } = await point.admin.keys.create({ name: 'api', scopes: ['decisions:write'], agents: ['agent:*'] })
  bot = new Countersign({ baseUrl: point.url, apiKey: key })
}, 60_000)
afterAll(async () => {
  bot.close()
  point.admin.close()
  await point.stop()
})

const account = async () => {
  const { data } = await point.admin.policies.budget(policyId).page()
  return data.map(({ spent, reserved }) => ({ spent, reserved }))[0]
}

/** Refunds what the body says; 409 for what is sold out. */
function refunds(client: Countersign = bot) {
  let runs = 0
  const asks = guard({
    client,
    agent_id: AGENT,
    action: 'payment.refund',
    resource: (req) => `order:${req.params.id}`,
    context: (req) => ({ amount: req.body.amount }),
  })
  const app = newApp()
    .post('/refunds/:id', asks, (req, res) => {
      runs += 1
      res.status(req.params.id === 'sold-out' ? 409 : 200).json({ permit: req.permit?.permit_token })
    })
    .use(permitErrors())
  const send = (amount: unknown, id = '8812') => request(app).post(`/refunds/${id}`).send({ amount })
  return { app, send, runs: () => runs }
}

async function listening(server: Server): Promise<{ url: string }> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe('a guarded route', () => {
  it('of which forty are called at once runs as often as the budget pays for, to the cent', async () => {
    const { app, runs } = refunds()
    const server = createServer(app).listen(0, '127.0.0.1')
    const send = () => request(server).post('/refunds/8812').send({ amount: 33.33 })
    const answers = await Promise.all(Array.from({ length: 40 }, send))
    server.close()
    await bot.flush()
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(30)
    expect(runs()).toBe(30)
    for (const { body } of answers.filter(({ status }) => status === 403)) {
      expect(body).toMatchObject({ code: 'denied', advice: { max_amount: 0.1 } })
    }
    expect(await account()).toEqual({ spent: 999.9, reserved: 0 })
    await point.admin.policies.update(policyId, {
      ...(await point.admin.policies.get(policyId)),
      budget: { limit: 100_000, unit: 'EUR', period: 'total' },
    })
  })

  it('that awaits a review runs once when the same call comes again after the approval, and the call after that asks', async () => {
    const { send, runs } = refunds()
    const { body: first } = await send(700, '9001').expect(403)
    expect(first).toMatchObject({ code: 'review_required' })
    expect((await send(700, '9001').expect(403)).body.decision_id).toBe(first.decision_id)
    await point.admin.decisions.approve(first.decision_id)
    expect((await send(701, '9001').expect(403)).body.decision_id).not.toBe(first.decision_id)
    const both = await Promise.all([send(700, '9001'), send(700, '9001')])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 403])
    expect((await send(700, '9001').expect(403)).body).toMatchObject({ code: 'review_required' })
    expect(runs()).toBe(1)
  })

  it('whose callers leave at any moment spends what it did, to the cent', async () => {
    const before = await account()
    let done = 0
    const asks = guard({
      client: bot,
      agent_id: AGENT,
      action: 'payment.refund',
      context: (req) => ({ amount: req.body.amount }),
    })
    const app = newApp().post('/', asks, async (_req, res) => {
      await account()
      done += 1
      res.json({ done })
    })
    const server = createServer(app).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const ends = new Set<Promise<unknown>>()
    server.on('request', (_req, res) => ends.add(once(res, 'close')))
    const leaveAfter = async (ms: number): Promise<void> => {
      const signal = AbortSignal.timeout(ms)
      const send = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"amount":10}', signal }
      await fetch(`http://127.0.0.1:${port}/`, send).then(
        (answer) => answer.text(),
        () => undefined,
      )
    }
    await Promise.all(Array.from({ length: 60 }, (_, at) => leaveAfter(at < 58 ? 1 + at * 12 : 15_000)))
    await Promise.all(ends)
    server.close()
    await vi.waitFor(async () => {
      await bot.flush()
      expect(await account()).toEqual({ spent: (before?.spent ?? 0) + done * 10, reserved: 0 })
    }, 10_000)
    expect(done).toBeGreaterThan(0)
  })

  it('gives back what it did not spend', async () => {
    const before = await account()
    await refunds().send(50, 'sold-out').expect(409)
    await bot.flush()
    expect(await account()).toEqual(before)
  })

  it.each([
    ['1000.01', 1000.01],
    ['no amount', undefined],
    ['a text', '1'],
    ['a list', [1]],
    ['null', null],
  ])('does not run for %s', async (_what, amount) => {
    const { send, runs } = refunds()
    const { status, body, text } = await send(amount)
    expect([status, body.code, runs()]).toEqual([403, 'denied', 0])
    for (const hidden of [policyId, 'refunds"', 'rule_matched']) expect(text).not.toContain(hidden)
  })

  it.each([
    ['a%0D%0Ab', 'a control character'],
    ['%E2%80%8Ba', 'a character that nobody sees'],
    ['x'.repeat(600), 'too long a name'],
  ])('does not run for a resource that the decision point does not take: %s', async (id) => {
    const { send, runs } = refunds()
    const { status, body } = await send(1, id)
    expect([status, body.code, runs()]).toEqual([403, 'refused', 0])
  })

  it('runs after a person has approved, for the same call, once', async () => {
    const { app, runs } = refunds()
    const send = () => request(app).post('/refunds/8813').set('idempotency-key', 'refund-8813').send({ amount: 400 })
    const { body } = await send().expect(403)
    expect(body.code).toBe('review_required')
    await point.admin.decisions.approve(body.decision_id)
    const answers = await Promise.all([send(), send(), send()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403])
    expect(runs()).toBe(1)
    await bot.flush()
    expect(await point.admin.decisions.get(body.decision_id)).toMatchObject({ status: 'confirmed' })
    await request(app).post('/refunds/8813').set('idempotency-key', 'refund-8813').send({ amount: 1 }).expect(422)
  })

  it('runs at most once for one key, and does not take it for another question', async () => {
    const { app, runs } = refunds()
    const send = async (key: string, sent: object, id = '8814') => {
      const { status, body } = await request(app).post(`/refunds/${id}`).set('idempotency-key', key).send(sent)
      return [status, body.code]
    }
    expect(await send('ran', { amount: 1 })).toEqual([200, undefined])
    expect(await send('ran', { amount: 1, note: 'what is in no question' })).toEqual([403, 'already_claimed'])
    expect(await send('ran', { amount: 2 })).toEqual([422, 'idempotency_key_reused'])
    expect(await send('failed', { amount: 1 }, 'sold-out')).toEqual([409, undefined])
    await bot.flush()
    expect(await send('failed', { amount: 1 }, 'sold-out')).toEqual([403, 'already_claimed'])
    expect(await send('denied', { amount: 5000 })).toEqual([403, 'denied'])
    expect(await send('denied', { amount: 5000 })).toEqual([403, 'denied'])
    expect(runs()).toBe(2)
  })

  it('whose first call was rejected before it began runs with a new key alone', async () => {
    let decided = gate()
    let passing = gate()
    const relay = createServer((req, res) => {
      const way = httpRequest(new URL(req.url ?? '', point.url), { method: req.method, headers: req.headers })
      way.on('response', async (answer) => {
        if (req.url === '/v1/decisions') {
          decided.open()
          await passing.opened
        }
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      })
      way.on('error', () => res.destroy())
      req.pipe(way)
    })
    const { url } = await listening(relay)
    const { key: apiKey } = await point.admin.keys.create({ name: 'relay', scopes: ['decisions:write'], agents: ['*'] })
    const clients = [PATIENT_MS, 1_000].map(
      (timeoutMs) => new Countersign({ baseUrl: url, apiKey, maxRetries: 0, timeoutMs }),
    )
    const [patient, hasty] = clients.map((client) => refunds(client))
    const server = createServer((req, res) => (req.headers['x-hasty'] ? hasty : patient)?.app(req, res))
    const { url: base } = await listening(server)
    const gone = gate()
    server.once('request', (_req, res) => res.once('close', () => gone.open()))
    const send = async (key: string, signal: AbortSignal | null = null, more: Record<string, string> = {}) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': key, ...more }
      const sent = { method: 'POST', headers, body: '{"amount":1}', signal }
      const answer = await fetch(`${base}/refunds/8815`, sent)
      const { code } = (await answer.json()) as { code?: string }
      return [answer.status, code]
    }
    const before = await account()

    const leaving = new AbortController()
    const left = send('left', leaving.signal).catch((error: unknown) => error)
    await decided.opened
    leaving.abort()
    expect(await left).toMatchObject({ name: 'AbortError' })
    await gone.opened
    passing.open()
    decided = gate()
    passing = gate()
    expect(await send('late', null, { 'x-hasty': '1' })).toEqual([503, 'unavailable'])
    await decided.opened
    passing.open()
    await vi.waitFor(async () => {
      for (const client of clients) await client.flush()
      expect(await account()).toEqual(before)
    }, 10_000)
    expect(await send('left')).toEqual([403, 'already_claimed'])
    expect(await send('late')).toEqual([403, 'already_claimed'])
    expect([patient?.runs(), hasty?.runs()]).toEqual([0, 0])
    expect(await send('new')).toEqual([200, undefined])
    expect(patient?.runs()).toBe(1)
    for (const client of clients) await client.flush()
    for (const open of [server, relay]) {
      open.close()
      open.closeAllConnections()
    }
    for (const client of clients) client.close()
  }, 60_000)

  it('asks for users of Auth0 by the function of the guide; their own names are those of no agent', async () => {
    const { key } = await point.admin.keys.create({ name: 'users', scopes: ['decisions:write'], agents: ['*'] })
    const client = new Countersign({ baseUrl: point.url, apiKey: key })
    const auth: RequestHandler = (req, _res, next) => {
      const payload = { sub: req.get('x-sub') }
      Object.assign(req, { auth: { header: {}, payload, token: 't' } })
      next()
    }
    const asks = { client, action: 'payment.refund', context: { amount: 1 } }
    const mapped = (req: Request & { auth: { payload: { sub: string } } }) =>
      `user:${req.auth.payload.sub.replaceAll('|', ':')}`
    const end: RequestHandler = (req, res) => void res.json(req.permit?.asked?.agent_id)
    const app = newApp()
      .post('/mapped', auth, guard({ ...asks, agent_id: mapped }), end)
      .post('/unmapped', auth, guard(asks), end)
      .use(permitErrors())
    const send = (path: string, sub: string) => request(app).post(path).set('x-sub', sub)
    expect((await send('/mapped', 'auth0|5f7c').expect(200)).body).toBe('user:auth0:5f7c')
    expect((await send('/mapped', 'samlp|acme|a@b.example').expect(200)).body).toBe('user:samlp:acme:a@b.example')
    expect((await send('/mapped', 'a b').expect(403)).body.code).toBe('refused')
    expect((await request(app).post('/mapped').expect(403)).body.code).toBe('mapping_failed')
    expect((await send('/unmapped', 'auth0|5f7c').expect(403)).body.code).toBe('refused')
    await client.flush()
    client.close()
  })

  it('does not run for an agent that was suspended', async () => {
    await point.admin.agents.suspend(AGENT, { reason: 'odd refunds' })
    const { send, runs } = refunds()
    await send(1).expect(403)
    await point.admin.agents.resume(AGENT)
    expect(runs()).toBe(0)
  })

  it('does not run with a key that may not ask: 503, which is not the caller’s fault', async () => {
    const { key } = await point.admin.keys.create({ name: 'reader', scopes: ['decisions:read'] })
    const client = new Countersign({ baseUrl: point.url, apiKey: key })
    const { send, runs } = refunds(client)
    const { status, body } = await send(1)
    expect([status, body.code, runs()]).toEqual([503, 'refused', 0])
    client.close()
  })

  it('holds in a trial on one’s own set-up', async () => {
    const canary = (action: string) => {
      let runs = 0
      const attempt = async (client: CountersignClient) => {
        const asks = guard({ client, agent_id: 'agent:canary', action })
        const app = newApp().post('/', asks, (_req, res) => {
          runs += 1
          res.end()
        })
        await request(app).post('/')
      }
      return { attempt, runs: () => runs, asked: { agent_id: 'agent:canary', action } }
    }
    const { ok, checks } = await verifyGuard({
      client: bot,
      admin: point.admin,
      allowed: canary('canary.allow'),
      denied: canary('canary.deny'),
      review: canary('canary.review'),
      timeoutMs: 3_000,
    })
    expect(checks.filter(({ outcome }) => outcome !== 'pass')).toEqual([])
    expect(ok).toBe(true)
  }, 60_000)
})

describe('a stream that goes on for longer than its decision', () => {
  it('is confirmed late when it ends, and the budget has what it really cost', async () => {
    const brief = await startDecisionPoint({ DECISION_TTL_SECONDS: '2' })
    const { id } = await brief.admin.policies.create({
      name: 'streams',
      rules: [{ action: 'feed.follow', effect: 'allow' }],
      budget: { limit: 100, unit: 'EUR', period: 'total' },
    })
    const app = newApp().get(
      '/',
      guard({ client: brief.admin, agent_id: AGENT, action: 'feed.follow', context: { amount: 5 } }),
      async (req, res) => {
        const decision = req.permit?.decision?.id ?? ''
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        while ((await brief.admin.decisions.get(decision)).status !== 'expired') res.write('data: next\n\n')
        res.end(decision)
      },
    )
    const { text } = await request(app).get('/').expect(200)
    await brief.admin.flush()
    const settled = await brief.admin.decisions.get(text.slice(text.lastIndexOf('\n') + 1))
    expect(settled).toMatchObject({ status: 'confirmed', outcome: { late: true } })
    expect((await brief.admin.policies.budget(id).page()).data).toMatchObject([{ spent: 5, reserved: 0 }])
    brief.admin.close()
    await brief.stop()
  }, 60_000)
})

describe('a service that requires permits', () => {
  const bookings = (options: object = {}) => {
    let runs = 0
    const app = newApp()
      .post(
        '/bookings/:id',
        requirePermit({
          issuer: point.url,
          audience: point.url,
          jwks: `${point.url}/.well-known/jwks.json`,
          action: 'payment.refund',
          resource: (req) => `order:${req.params.id}`,
          agent_id: AGENT,
          context: (req) => ({ amount: req.body.amount }),
          ...options,
        }),
        (_req, res) => {
          runs += 1
          res.end()
        },
      )
      .use(permitErrors())
    return { app, runs: () => runs }
  }
  const permitFor = async (amount: number, id: string) => {
    const asked = { agent_id: AGENT, action: 'payment.refund', resource: `order:${id}`, context: { amount } }
    return (await bot.authorize(asked)).permit_token ?? ''
  }
  const book = (app: Parameters<typeof request>[0], id: string, amount: number, permit: string) =>
    request(app).post(`/bookings/${id}`).set('authorization', `Bearer ${permit}`).send({ amount })

  it('takes a permit for the very order and amount, from the guarded route that got it', async () => {
    const { body } = await refunds().send(12, '77').expect(200)
    const { app, runs } = bookings()
    await book(app, '78', 12, body.permit).expect(403)
    await book(app, '77', 12.01, body.permit).expect(403)
    await book(app, '77', 12, body.permit).expect(200)
    await book(app, '77', 12, body.permit).expect(401)
    expect(runs()).toBe(1)
  })

  it('refuses a permit of a policy that only records, unless it asks for such', async () => {
    const { permit_token = '' } = await bot.authorize({ agent_id: AGENT, action: 'page.read', context: { amount: 1 } })
    const reads = { action: 'page.read', resource: null }
    expect((await book(bookings(reads).app, '1', 1, permit_token).expect(403)).body.code).toBe('effect_not_allowed')
    await book(bookings({ ...reads, effects: ['log'] }).app, '1', 1, permit_token).expect(200)
  })

  it('redeemed: shown by 100 callers of two services at once, one passes, in each of 3 rounds', async () => {
    const { key } = await point.admin.keys.create({ name: 'ledger', scopes: ['permits:redeem'] })
    const client = new Countersign({ baseUrl: point.url, apiKey: key, timeoutMs: 15_000 })
    const both = [bookings({ singleUse: { redeem: client } }), bookings({ singleUse: { redeem: client } })]
    const servers = both.map(({ app }) => createServer(app).listen(0, '127.0.0.1'))
    for (let round = 1; round <= 3; round += 1) {
      const permit = await permitFor(5, `round-${round}`)
      const send = (_: unknown, at: number) => book(servers[at % 2] as never, `round-${round}`, 5, permit)
      const answers = await Promise.all(Array.from({ length: 100 }, send))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(99).fill(401)])
      expect(both.reduce((sum, { runs }) => sum + runs(), 0)).toBe(round)
    }
    for (const server of servers) server.close()
    client.close()
  })

  it('redeemed: sees that an agent was suspended since, and what was settled since', async () => {
    const { app, runs } = bookings({ singleUse: { redeem: point.admin } })
    const [first, second] = [await permitFor(1, 'a'), await permitFor(1, 'b')]
    await point.admin.agents.suspend(AGENT)
    expect((await book(app, 'a', 1, first).expect(403)).body.code).toBe('agent_suspended')
    await point.admin.agents.resume(AGENT)
    const claims = JSON.parse(Buffer.from(second.split('.')[1] ?? '', 'base64url').toString())
    await bot.decisions.reject(claims.jti)
    expect((await book(app, 'b', 1, second).expect(401)).body.code).toBe('settled')
    expect(runs()).toBe(0)
  })
})
