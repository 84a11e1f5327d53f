/** Which decision lets a route run, and what the caller is told when none does. */
import { permitErrors } from '@countersign/express'
import { answerDecision, answerProblem, answerReset, answerText } from '@countersign/testkit'
import express from 'express'
import request from 'supertest'
import { describe, expect, it, vi } from 'vitest'
import { AGENT, newApp, useRig } from './rig.js'

const rig = useRig()

/** An app with one guarded route, and how often its handler ran. */
function guarded(options: Parameters<ReturnType<typeof rig>['guard']>[0] = {}) {
  let runs = 0
  const app = newApp()
    .post('/refunds/:id', rig().guard(options), (req, res) => {
      runs += 1
      res.json({ decision: req.permit?.decision?.id, same: req.permit === res.locals.permit })
    })
    .use(permitErrors())
  return { app, runs: () => runs }
}

describe('a guarded route', () => {
  it('runs once on an allow, and is confirmed once', async () => {
    const { app, runs } = guarded()
    const { status, body } = await request(app).post('/refunds/8812')
    expect([status, runs()]).toEqual([200, 1])
    expect(body).toEqual({ decision: expect.stringMatching(/^dec_/), same: true })
    expect(await rig().settled()).toEqual(['confirm'])
    expect(rig().transitions()).toEqual([['confirm', {}]])
  })

  it('does not run on a deny: 403, with the decision and nothing to settle', async () => {
    rig().decide('deny')
    const { app, runs } = guarded()
    const { status, body, type } = await request(app).post('/refunds/8812')
    expect([status, type, runs()]).toEqual([403, 'application/problem+json', 0])
    expect(body).toMatchObject({
      type: 'about:blank',
      title: 'Forbidden',
      status: 403,
      code: 'denied',
      decision_id: expect.stringMatching(/^dec_/),
    })
    expect(rig().transitions()).toEqual([])
  })

  it('does not run when no policy matches', async () => {
    const advice = { retry: 'never', message: 'No policy allows payment.refund for this agent.' }
    rig().answer(
      '/decisions',
      answerDecision({
        effect: 'deny',
        status: 'denied',
        reason_code: 'no_matching_policy',
        policy_id: 'pol_default',
        permit_token: undefined,
        advice,
      }),
    )
    const { app, runs } = guarded()
    const { status, body } = await request(app).post('/refunds/8812')
    expect([status, runs()]).toEqual([403, 0])
    expect(body).toMatchObject({ code: 'denied', detail: advice.message, advice })
  })

  it('runs on a log, and is confirmed', async () => {
    rig().decide('log')
    const { app, runs } = guarded()
    await request(app).post('/refunds/8812').expect(200)
    expect(runs()).toBe(1)
    expect(await rig().settled()).toEqual(['confirm'])
  })

  it('does not run on a review: 403 review_required, with the decision to be approved', async () => {
    rig().decide('review')
    const { app, runs } = guarded()
    const { status, body } = await request(app).post('/refunds/8812')
    expect([status, runs()]).toEqual([403, 0])
    expect(body).toMatchObject({ code: 'review_required', decision_id: expect.stringMatching(/^dec_/) })
    expect(rig().transitions()).toEqual([])
  })

  it('with review: wait runs once a person has approved', async () => {
    rig().decide('review')
    const { app, runs } = guarded({ review: 'wait' })
    const answer = request(app)
      .post('/refunds/8812')
      .then((res) => res)
    await vi.waitFor(() => expect(rig().lifecycle.waitingCount()).toBe(1))
    const [id = ''] = rig().lifecycle.ids()
    await rig().client.decisions.approve(id)
    expect((await answer).status).toBe(200)
    expect(runs()).toBe(1)
    expect(await rig().settled()).toEqual(['confirm'])
    expect(
      rig()
        .transitions()
        .map(([transition]) => transition),
    ).toEqual(['approve', 'claim', 'confirm'])
  })

  it('with review: wait does not run when a person has declined', async () => {
    rig().decide('review')
    const { app, runs } = guarded({ review: 'wait' })
    const answer = request(app)
      .post('/refunds/8812')
      .then((res) => res)
    await vi.waitFor(() => expect(rig().lifecycle.waitingCount()).toBe(1))
    const [id = ''] = rig().lifecycle.ids()
    await rig().client.decisions.decline(id)
    const { status, body } = await answer
    expect([status, body.code, runs()]).toEqual([403, 'declined', 0])
  })

  it.each([
    ['another agent', answerDecision({ agent_id: 'agent:root' })],
    ['another action', answerDecision({ action: 'payment.read' })],
    ['another resource', answerDecision({ resource: 'order:1' })],
    ['an unknown effect', answerDecision({ effect: 'permit' })],
    ['an unknown status', answerDecision({ status: 'running' })],
    ['no text that is JSON', answerText(200, 'allow')],
    ['a status of 500', answerProblem(500, 'internal_error')],
    ['a reset connection', answerReset],
  ])('does not run on an answer with %s: 503, to be tried again', async (_what, answer) => {
    rig().answer('/decisions', answer)
    const { app, runs } = guarded()
    const { status, body, headers } = await request(app).post('/refunds/8812')
    expect([status, body.code, headers['retry-after'], runs()]).toEqual([503, 'unavailable', '1', 0])
  })

  it('does not run on a decision that is over', async () => {
    rig().answer('/decisions', answerDecision({ expires_at: new Date(Date.now() - 1).toISOString() }))
    const { app, runs } = guarded()
    const { status, body } = await request(app).post('/refunds/8812')
    expect([status, body.code, runs()]).toEqual([403, 'expired', 0])
  })

  it('does not run on a decision whose permit is withheld', async () => {
    rig().answer('/decisions', answerDecision({ permit_token: undefined }))
    const { app, runs } = guarded()
    const { status, body } = await request(app).post('/refunds/8812')
    expect([status, body.code, runs()]).toEqual([403, 'agent_suspended', 0])
  })
})

describe('what a refused caller is told', () => {
  it('holds no policy, no reason of one, no permit, no stack and nothing of the question', async () => {
    rig().answer(
      '/decisions',
      answerDecision({
        effect: 'deny',
        status: 'denied',
        reason: 'the limit for interns is 10',
        permit_token: undefined,
        rule: 3,
      }),
    )
    const { app } = guarded({ context: { secret: 'hunter2' } })
    const { body, text } = await request(app).post('/refunds/8812')
    expect(Object.keys(body).sort()).toEqual(['code', 'decision_id', 'detail', 'status', 'title', 'type'])
    for (const hidden of ['pol_', 'interns', 'rule', 'hunter2', 'eyJ', 'node_modules'])
      expect(text).not.toContain(hidden)
  })

  it('has the right status without permitErrors too, and no policy in the text of Express', async () => {
    rig().decide('deny')
    const app = newApp().post('/', rig().guard(), (_req, res) => res.end())
    const { status, text } = await request(app).post('/')
    expect(status).toBe(403)
    expect(text).not.toContain('pol_')
    await rig().stub.close()
    const away = await request(app).post('/')
    expect([away.status, away.headers['retry-after']]).toEqual([503, '1'])
  })

  it('is left to the error handlers of the app where they come first', async () => {
    rig().decide('deny')
    const app = newApp()
      .post('/', rig().guard(), (_req, res) => res.end())
      .use(
        ((error, _req, res, _next) =>
          void res.status(error.status).json({ mine: error.code })) as express.ErrorRequestHandler,
      )
      .use(permitErrors())
    const { status, body } = await request(app).post('/')
    expect([status, body]).toEqual([403, { mine: 'denied' }])
  })

  it('is 403 where the question could not be asked as the caller put it, and 503 where this service cannot ask', async () => {
    const { app } = guarded()
    rig().answer('/decisions', answerProblem(400, 'validation_failed'))
    expect((await request(app).post('/refunds/1')).status).toBe(403)
    rig().answer('/decisions', answerProblem(403, 'agent_not_allowed'))
    expect((await request(app).post('/refunds/1')).status).toBe(403)
    rig().answer('/decisions', answerProblem(401, 'unauthorized'))
    expect((await request(app).post('/refunds/1')).status).toBe(503)
    rig().answer('/decisions', answerProblem(403, 'insufficient_scope'))
    expect((await request(app).post('/refunds/1')).status).toBe(503)
  })

  it('is 503 for a rate limit of the decision point, which is not the caller’s', async () => {
    rig().answer('/decisions', answerProblem(429, 'rate_limited', { 'retry-after': '7' }))
    const { app, runs } = guarded()
    const { status, headers, body } = await request(app).post('/refunds/1')
    expect([status, headers['retry-after'], body.code, runs()]).toEqual([503, '7', 'unavailable', 0])
  })
})

describe('the question of a route', () => {
  it('is made of parameters, body and query', async () => {
    const { app } = guarded({
      resource: (req) => `order:${req.params.id}`,
      context: (req) => ({ amount: req.body.amount, note: String(req.query.note) }),
    })
    await request(app).post('/refunds/77?note=late').send({ amount: 42.5 }).expect(200)
    expect(rig().questions()).toMatchObject([
      { agent_id: AGENT, action: 'payment.refund', resource: 'order:77', context: { amount: 42.5, note: 'late' } },
    ])
  })

  it('has no fact that the body lacks, and a body that was not read is none', async () => {
    const asks = rig().guard({ context: (req) => ({ amount: req.body?.amount }) })
    const app = express().post('/', asks, (_req, res) => res.end())
    await request(app).post('/').type('text').send('amount=1').expect(200)
    expect(rig().questions()[0]).toMatchObject({ context: {} })
    // One that says that it is JSON was meant to be read.
    await request(app).post('/').send({ amount: 1 }).expect(403)
    expect(rig().questions()).toHaveLength(1)
  })

  it.each([
    [
      'throws',
      (): string => {
        throw new Error('no such order')
      },
    ],
    ['gives a number', () => 8812 as never],
    ['gives a list', () => ['order:1'] as never],
  ])('is not asked when its function %s: 403, and the operator is told why', async (_what, resource) => {
    const { app, runs } = guarded({ resource })
    const { status, body } = await request(app).post('/refunds/8812')
    expect([status, body.code, body.decision_id, runs()]).toEqual([403, 'mapping_failed', undefined, 0])
    expect(rig().stub.requests).toEqual([])
    expect(rig().events).toMatchObject([
      { type: 'denied', reason: 'mapping_failed', error: { cause: expect.any(Error) } },
    ])
  })

  it.each([undefined, null, '', 0, 'route', 'router'])('is not asked when its function throws %j', async (thrown) => {
    let runs = 0
    const run: express.RequestHandler = (_req, res) => {
      runs += 1
      res.end()
    }
    const fails = () => {
      throw thrown
    }
    const router = express
      .Router()
      .post('/', rig().guard({ context: fails }), run)
      .post('/', run)
    const { status, body } = await request(newApp().use(router, permitErrors())).post('/')
    expect([status, body.code, runs]).toEqual([403, 'mapping_failed', 0])
  })

  const late = async (): Promise<never> => {
    throw new Error('no such order')
  }

  it.each<[string, object]>([
    ['the agent', { agent_id: async () => AGENT }],
    ['the agent, which rejects', { agent_id: late }],
    ['the action', { action: async () => 'payment.refund' }],
    ['the action, which rejects', { action: late }],
    ['the resource', { resource: async () => 'order:8812' }],
    ['the resource, which rejects', { resource: late }],
    ['the context', { context: async () => ({ amount: 1 }) }],
    ['the context, which rejects', { context: late }],
    [
      'the context, by something that is like a promise',
      { context: () => Object.fromEntries([['then', () => undefined]]) },
    ],
    ['the key', { idempotencyKey: async () => 'k1' }],
    ['the key, which rejects', { idempotencyKey: late }],
  ])('is not asked with a promise in the place of %s, and its caller is told so', async (_what, options) => {
    let runs = 0
    const app = newApp()
      .post('/', rig().guard(options), (_req, res) => {
        runs += 1
        res.end()
      })
      .use(permitErrors())
    const { body } = await request(app).post('/').expect(403)
    // A rejection that nobody waits for would end the process; here it fails the run of the tests.
    await new Promise(setImmediate)
    expect([body.code, runs]).toEqual(['mapping_failed', 0])
    expect(rig().stub.requests).toEqual([])
    const [option = ''] = Object.keys(options)
    const told = { cause: { message: `${option} must not return a promise` } }
    expect(rig().events).toMatchObject([{ type: 'denied', reason: 'mapping_failed', error: told }])
  })

  it('is not asked without an action', async () => {
    const { app, runs } = guarded({ action: () => undefined as never })
    const { status, body } = await request(app).post('/refunds/8812')
    expect([status, body.code, runs()]).toEqual([403, 'unmapped', 0])
    expect(rig().stub.requests).toEqual([])
  })
})

describe('the mode observe', () => {
  it.each([
    ['a deny', answerDecision({ effect: 'deny', status: 'denied', permit_token: undefined }), 'deny'],
    ['a review', answerDecision({ effect: 'review', status: 'awaiting_review', permit_token: undefined }), 'review'],
    ['a decision point that is away', answerReset, 'unavailable'],
    ['garbage', answerText(200, 'deny'), 'unavailable'],
    ['a rate limit', answerProblem(429, 'rate_limited'), 'unavailable'],
  ])('runs the route on %s, and tells what would have been', async (_what, answer, would) => {
    rig().answer('/decisions', answer)
    const { app, runs } = guarded({ mode: 'observe' })
    await request(app).post('/refunds/8812').expect(200)
    expect(runs()).toBe(1)
    expect(rig().events).toContainEqual(expect.objectContaining({ type: 'observed', would }))
    expect(
      rig()
        .transitions()
        .filter(([transition]) => transition === 'confirm'),
    ).toEqual([])
  })

  it('runs the route without an agent, with a mapper that throws and with a body that cannot be frozen', async () => {
    const app = express()
      .use(express.raw())
      .post('/', rig().guard({ mode: 'observe', agent_id: () => undefined }), (_req, res) => res.end())
      .put(
        '/',
        rig().guard({
          mode: 'observe',
          action: () => {
            throw new Error('no')
          },
        }),
        (_req, res) => res.end(),
      )
    await request(app).post('/').type('application/octet-stream').send(Buffer.from('bytes')).expect(200)
    await request(app).put('/').expect(200)
    expect(rig().events).toMatchObject([
      { type: 'observed', would: 'deny' },
      { type: 'observed', would: 'deny' },
    ])
  })

  it('lets the handler change the body, as without a guard', async () => {
    const app = newApp().post('/', rig().guard({ mode: 'observe' }), (req, res) => {
      req.body.amount = 2
      req.body = { ...req.body, note: 'mine' }
      res.json(req.body)
    })
    expect((await request(app).post('/').send({ amount: 1 })).body).toEqual({ amount: 2, note: 'mine' })
  })
})
