/** What is told about an action, by how its response ended while its caller was there. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { permitErrors } from '@countersign/express'
import { answerProblem, answerReset, startStubDecisionPoint } from '@countersign/testkit'
import express, { type ErrorRequestHandler, type Express, type RequestHandler, Router } from 'express'
import request from 'supertest'
import { describe, expect, it, vi } from 'vitest'
import { newApp, useRig } from './rig.js'

const rig = useRig()

type Options = Parameters<ReturnType<typeof rig>['guard']>[0]

function appOf(handler: RequestHandler, options: Options = {}) {
  return newApp().all('/', rig().guard(options), handler).use(permitErrors())
}

describe('what a handler answers', () => {
  it.each<[string, RequestHandler, number, string]>([
    ['200', (_req, res) => void res.json({}), 200, 'confirm'],
    ['201', (_req, res) => void res.status(201).end(), 201, 'confirm'],
    ['204', (_req, res) => void res.sendStatus(204), 204, 'confirm'],
    ['302', (_req, res) => res.redirect('/elsewhere'), 302, 'confirm'],
    ['400', (_req, res) => void res.status(400).json({}), 400, 'reject'],
    ['404', (_req, res) => void res.sendStatus(404), 404, 'reject'],
    ['409', (_req, res) => void res.status(409).json({}), 409, 'reject'],
    ['500', (_req, res) => void res.sendStatus(500), 500, 'reject'],
    ['402', (_req, res) => void res.sendStatus(402), 402, 'leave'],
    ['408', (_req, res) => void res.sendStatus(408), 408, 'leave'],
    ['502', (_req, res) => void res.sendStatus(502), 502, 'leave'],
    ['503', (_req, res) => void res.sendStatus(503), 503, 'reject'],
    ['504', (_req, res) => void res.sendStatus(504), 504, 'leave'],
  ])('%s', async (_what, handler, status, told) => {
    await request(appOf(handler)).post('/').redirects(0).expect(status)
    expect(await rig().settled()).toEqual([told])
    expect(rig().transitions()).toHaveLength(told === 'leave' ? 0 : 1)
  })

  it.each<[string, RequestHandler]>([
    [
      'throws',
      (_req, res) => {
        res.json({ paid: 10 })
        throw new Error('the audit log failed')
      },
    ],
    [
      'gives an error to next',
      (_req, res, next) => {
        res.json({ paid: 10 })
        next(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
      },
    ],
    [
      'changes the status',
      (_req, res) => {
        res.json({ paid: 10 })
        res.statusCode = 500
      },
    ],
  ])('200, after which it %s: what was sent counts', async (_how, handler) => {
    const ownErrors: ErrorRequestHandler = (_error, _req, res, _next) => {
      if (!res.headersSent) res.json({})
      res.statusCode = 500
      res.end()
    }
    for (const app of [appOf(handler), newApp().all('/', rig().guard(), handler)])
      await request(app.use(ownErrors)).post('/').expect(200, { paid: 10 })
    expect(await rig().settled(2)).toEqual(['confirm', 'confirm'])
  })

  it('500, after which the status is changed: what was sent counts', async () => {
    const app = appOf((_req, res) => {
      res.status(500).json({})
      res.statusCode = 200
    })
    await request(app).post('/').expect(500)
    expect(await rig().settled()).toEqual(['reject'])
  })

  it('304 by its ETag is a success', async () => {
    const app = appOf((_req, res) => void res.json({ a: 1 }))
    const { headers } = await request(app).get('/').expect(200)
    await request(app)
      .get('/')
      .set('if-none-match', headers.etag ?? '')
      .expect(304)
    expect(await rig().settled(2)).toEqual(['confirm', 'confirm'])
  })

  it('HEAD is asked about like GET, and settled', async () => {
    await request(appOf((_req, res) => void res.json({ a: 1 })))
      .head('/')
      .expect(200)
    expect(await rig().settled()).toEqual(['confirm'])
    expect(rig().questions()).toHaveLength(1)
  })

  it('a stream that came to its end is a success', async () => {
    const app = appOf(async (_req, res) => pipeline(Readable.from(['a', 'b', 'c']), res))
    expect((await request(app).get('/')).text).toBe('abc')
    expect(await rig().settled()).toEqual(['confirm'])
  })

  it('twice, by res.end, is settled once', async () => {
    const app = appOf((_req, res) => {
      res.end('first')
      res.end()
    })
    await request(app).get('/').expect(200, 'first')
    expect(await rig().settled()).toEqual(['confirm'])
    expect(rig().transitions()).toHaveLength(1)
  })
})

describe('a handler that throws', () => {
  it.each<[string, RequestHandler]>([
    [
      'at once',
      () => {
        throw new Error('broken')
      },
    ],
    [
      'later',
      async () => {
        throw new Error('broken')
      },
    ],
    ['by next', (_req, _res, next) => next(new Error('broken'))],
  ])('%s is answered 500 and rejected', async (_how, handler) => {
    await request(appOf(handler)).post('/').expect(500)
    expect(await rig().settled()).toEqual(['reject'])
  })

  it.each([
    [418, 'reject'],
    [202, 'confirm'],
  ])('and whose error handler answers %d is settled by that', async (status, told) => {
    const answer: ErrorRequestHandler = (_error, _req, res, _next) => void res.status(status).end()
    const app = newApp()
      .post('/', rig().guard(), () => {
        throw new Error('broken')
      })
      .use(permitErrors(), answer)
    await request(app).post('/').expect(status)
    expect(await rig().settled()).toEqual([told])
  })

  it('in the middle of its response is rejected, and the connection ends', async () => {
    const app = appOf(async (_req, res) => {
      res.write('half')
      throw new Error('broken')
    })
    await expect(request(app).get('/')).rejects.toThrow()
    expect(await rig().settled()).toEqual(['reject'])
  })

  it('in the middle of its response is never confirmed, and left where nobody tells of the error', async () => {
    const handler: RequestHandler = async (_req, res) => {
      res.write('half')
      throw new Error('broken')
    }
    const app = newApp().get('/', (req, res, next) => rig().guard({ graceMs: 1 })(req, res, next), handler)
    await expect(request(app).get('/')).rejects.toThrow()
    expect(await rig().settled()).toEqual(['reject'])
    const mounted = newApp().use(rig().guard({ graceMs: 1 }), handler)
    await expect(request(mounted).get('/')).rejects.toThrow()
    expect(await rig().settled(2)).toEqual(['reject', 'leave'])
  })

  it('in the middle of a stream, by its source, is rejected', async () => {
    async function* source() {
      yield 'half'
      throw new Error('broken')
    }
    const app = appOf(async (_req, res) => pipeline(Readable.from(source()), res))
    await expect(request(app).get('/')).rejects.toThrow()
    expect(await rig().settled()).toEqual(['reject'])
  })

  it('after it has broken its response off itself is rejected', async () => {
    const app = appOf(async (_req, res) => {
      res.write('half')
      res.destroy(new Error('broken'))
      await once(res, 'close')
      throw new Error('broken')
    })
    await expect(request(app).get('/')).rejects.toThrow()
    expect(await rig().settled()).toEqual(['reject'])
  })

  it('after it has answered is settled by the answer', async () => {
    const app = appOf(async (_req, res) => {
      res.json({})
      throw new Error('an afterthought')
    })
    await request(app).post('/').expect(200)
    expect(await rig().settled()).toEqual(['confirm'])
  })

  it('that destroys its response says nothing about the action: left', async () => {
    const app = appOf((_req, res) => void res.destroy(new Error('broken')), { graceMs: 1 })
    await expect(request(app).get('/')).rejects.toThrow()
    expect(await rig().settled()).toEqual(['leave'])
    expect(rig().transitions()).toEqual([])
  })
})

describe('an error after which nobody knows', () => {
  const lost: [string, () => unknown][] = [
    ['TimeoutError', () => AbortSignal.timeout(0).reason ?? new DOMException('too late', 'TimeoutError')],
    ['AbortError', () => new DOMException('aborted', 'AbortError')],
    ['ECONNRESET', () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
    ['fetch whose connection broke', () => new TypeError('fetch failed', { cause: { code: 'UND_ERR_SOCKET' } })],
    ['a time limit of the app', () => Object.assign(new Error('too late'), { status: 503, code: 'ETIMEDOUT' })],
  ]

  it.each(lost)('is left to expire, whatever status says it: %s', async (_what, error) => {
    const app = appOf(async () => {
      throw error()
    })
    const { status } = await request(app).post('/')
    expect(status).toBeGreaterThanOrEqual(500)
    expect(await rig().settled()).toEqual(['leave'])
    expect(rig().transitions()).toEqual([])
  })

  it('of a call that was really cut off is left', async () => {
    const elsewhere = await startStubDecisionPoint(answerReset)
    const app = appOf(async (_req, res) => void res.json(await (await fetch(elsewhere.url)).json()))
    await request(app).post('/').expect(500)
    expect(await rig().settled()).toEqual(['leave'])
    await elsewhere.close()
  })

  it('of a call that nobody took is rejected', async () => {
    const elsewhere = await startStubDecisionPoint(answerReset)
    await elsewhere.close()
    const app = appOf(async (_req, res) => void res.json(await (await fetch(elsewhere.url)).json()))
    await request(app).post('/').expect(500)
    expect(await rig().settled()).toEqual(['reject'])
  })

  it('is left in the middle of a response too', async () => {
    const app = appOf(async (_req, res) => {
      res.write('half')
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    })
    await expect(request(app).get('/')).rejects.toThrow()
    expect(await rig().settled()).toEqual(['leave'])
  })

  it('is not taken back by an error that came after it', async () => {
    const worse: ErrorRequestHandler = () => {
      throw new Error('the log is full')
    }
    const app = appOf(async () => {
      throw new DOMException('too late', 'TimeoutError')
    }).use(worse, permitErrors())
    await request(app).post('/').expect(500)
    expect(await rig().settled()).toEqual(['leave'])
  })

  it('gives way to the handler’s own word, to outcome and to settleOn, which is told the error', async () => {
    const fails: RequestHandler = () => {
      throw Object.assign(new Error('too late'), { code: 'ETIMEDOUT', fee: 0.5 })
    }
    const word = appOf(async (req, res, next) => {
      await req.permit?.reject('it never left')
      return fails(req, res, next)
    })
    await request(word).post('/').expect(500)
    await request(appOf(fails, { outcome: () => ({ kind: 'failed' }) }))
      .post('/')
      .expect(500)
    const settleOn: NonNullable<Options>['settleOn'] = (outcome) =>
      outcome.kind === 'unknown' ? { settle: 'confirm', amount: (outcome.error as { fee: number }).fee } : undefined
    await request(appOf(fails, { settleOn })).post('/').expect(500)
    await rig().settled(3)
    expect(rig().transitions()).toEqual([
      ['reject', { reason: 'it never left' }],
      ['reject', { reason: 'the action failed' }],
      ['confirm', { amount: 0.5 }],
    ])
  })
})

describe('a fault of the program behind the guard', () => {
  const fault: RequestHandler = () => {
    throw new TypeError("Cannot read properties of undefined (reading 'id')")
  }
  const answers: RequestHandler = (_req, res) => void res.json({})
  const answer500: ErrorRequestHandler = (_error, _req, res, _next) => void res.status(500).json({})

  it.each<[string, RequestHandler[]]>([
    ['the handler', [fault]],
    ['a middleware between guard and handler, which may have acted', [fault, answers]],
  ])('leaves the decision open, with and without permitErrors: of %s', async (_whose, handlers) => {
    const apps = [newApp, newApp, newApp].map((open) => open().post('/', rig().guard(), ...handlers))
    const [plain, own, told] = apps as [Express, Express, Express]
    for (const app of [plain, own.use(answer500), told.use(permitErrors())]) await request(app).post('/').expect(500)
    const routed = newApp().use(Router().all('/', rig().guard(), ...handlers))
    await request(routed).post('/').expect(500)
    expect(await rig().settled(4)).toEqual(Array(4).fill('leave'))
    expect(rig().transitions()).toEqual([])
  })

  it('is heard without a change of what the route answers', async () => {
    const app = newApp().get('/', rig().guard(), answers)
    for (const _ of [1, 2]) {
      await request(app).head('/').expect(200)
      await request(app).get('/').expect(200)
      await request(app).post('/').expect(404)
    }
    await request(
      newApp()
        .get('/', rig().guard(), (_req, _res, next) => next())
        .get('/', answers),
    )
      .get('/')
      .expect(200)
  })

  it('before the guard asks nothing, nor does one before a wrapped handler', async () => {
    await request(newApp().post('/', fault, rig().guard(), answers))
      .post('/')
      .expect(500)
    await request(newApp().post('/', fault, rig().guard({}, answers as never)))
      .post('/')
      .expect(500)
    expect(rig().questions()).toEqual([])
  })
})

describe('the handler’s own word', () => {
  it('confirms with the real amount, whatever is answered afterwards', async () => {
    const app = appOf(async (req, res) => {
      await req.permit?.confirm({ amount: 40, note: 'shipping kept' })
      res.sendStatus(500)
    })
    await request(app).post('/').expect(500)
    expect(rig().transitions()).toEqual([['confirm', { amount: 40, note: 'shipping kept' }]])
  })

  it('rejects although the answer is 200', async () => {
    const app = appOf(async (req, res) => {
      await req.permit?.reject('out of stock')
      res.json({ sold: false })
    })
    await request(app).post('/').expect(200)
    expect(rig().transitions()).toEqual([['reject', { reason: 'out of stock' }]])
  })

  it('counts once: the first call, whose result the others get', async () => {
    const app = appOf(async (req, res) => {
      const permit = req.permit
      const results = await Promise.all([
        permit?.confirm({ amount: 1 }),
        permit?.confirm({ amount: 2 }),
        permit?.reject(),
      ])
      res.json(results)
    })
    const { body } = await request(app).post('/').expect(200)
    expect(body).toEqual(Array(3).fill({ settle: 'confirm', state: 'settled' }))
    expect(rig().transitions()).toEqual([['confirm', { amount: 1 }]])
  })

  it('works without its object', async () => {
    const app = appOf(async (_req, res) => {
      const { confirm } = res.locals.permit ?? {}
      await confirm?.({ amount: 3 })
      res.end()
    })
    await request(app).post('/').expect(200)
    expect(rig().transitions()).toEqual([['confirm', { amount: 3 }]])
  })

  it('is the only one with settle: manual, also after the response', async () => {
    let later: (() => Promise<unknown>) | undefined
    const app = appOf(
      (req, res) => {
        later = () => Promise.resolve(req.permit?.confirm({ amount: 12 }))
        res.status(202).json({ job: 1 })
      },
      { settle: 'manual' },
    )
    await request(app).post('/').expect(202)
    await rig().client.flush()
    expect(rig().transitions()).toEqual([])
    await later?.()
    expect(rig().transitions()).toEqual([['confirm', { amount: 12 }]])
  })
})

describe('the option outcome', () => {
  it('says what a status means, and the amount', async () => {
    const app = appOf((_req, res) => void res.status(502).json({ charged: 7 }), {
      outcome: (_req, res) => (res.statusCode === 502 ? { kind: 'succeeded', amount: 7 } : undefined),
    })
    await request(app).post('/').expect(502)
    await rig().settled()
    expect(rig().transitions()).toEqual([['confirm', { amount: 7 }]])
  })

  it('leaves the rest to the status', async () => {
    const app = appOf((_req, res) => void res.sendStatus(404), { outcome: () => undefined })
    await request(app).post('/').expect(404)
    expect(await rig().settled()).toEqual(['reject'])
  })

  it('leaves the decision alone when it says unknown', async () => {
    await request(appOf((_req, res) => void res.json({}), { outcome: () => ({ kind: 'unknown' }) }))
      .post('/')
      .expect(200)
    expect(await rig().settled()).toEqual(['leave'])
    expect(rig().transitions()).toEqual([])
  })

  it.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
      'broken',
    ],
    [
      'says something that nobody knows',
      () => ({ kind: 'fine' }),
      "an outcome must be of the kind 'succeeded', 'failed' or 'unknown'",
    ],
    ['says nothing that is one', () => 'failed', "an outcome must be of the kind 'succeeded', 'failed' or 'unknown'"],
    ['gives a promise', async () => ({ kind: 'failed' }), 'outcome must not return a promise'],
    [
      'gives a promise that rejects',
      async () => {
        throw new Error('late')
      },
      'outcome must not return a promise',
    ],
  ])('leaves the decision alone when it %s, and tells of the fault', async (_what, outcome, message) => {
    await request(appOf((_req, res) => void res.json({}), { outcome: outcome as never }))
      .post('/')
      .expect(200)
    await vi.waitFor(() => expect(rig().events.at(-1)?.type).toBe('settlement_failed'))
    const fault = { settlement: { settle: 'leave' }, willRetry: false, error: { message } }
    expect(rig().events.at(-1)).toMatchObject(fault)
    expect(rig().transitions()).toEqual([])
  })

  it('gives way to settleOn, which is told the outcome', async () => {
    const app = appOf((_req, res) => void res.sendStatus(500), {
      settleOn: ({ kind }) =>
        kind === 'failed' ? { settle: 'confirm', note: 'it may have cost something' } : undefined,
    })
    await request(app).post('/').expect(500)
    await rig().settled()
    expect(rig().transitions()).toEqual([['confirm', { note: 'it may have cost something' }]])
  })
})

describe('a settlement that fails', () => {
  it.each([
    ['a status of 500', answerProblem(500, 'internal_error')],
    ['a reset', answerReset],
  ])('by %s changes nothing about the response, and is made up for', async (_what, answer) => {
    rig().answer('/confirm', answer)
    await request(appOf((_req, res) => void res.json({ done: true })))
      .post('/')
      .expect(200, { done: true })
    expect(await rig().client.flush()).toBe(0)
    expect(await rig().settled()).toEqual(['confirm'])
    expect(
      rig()
        .transitions()
        .map(([transition]) => transition),
    ).toEqual(['confirm', 'confirm'])
  })

  it('for good changes nothing about the response either', async () => {
    rig().answer('/confirm', answerProblem(403, 'permit_redeemed'))
    await request(appOf((_req, res) => void res.json({ done: true })))
      .post('/')
      .expect(200, { done: true })
    expect(await rig().client.flush()).toBe(0)
    expect(rig().events).toContainEqual(expect.objectContaining({ type: 'settlement_failed', willRetry: false }))
  })

  it('is not waited for: the caller has its answer while the decision point hangs', async () => {
    rig().answer('/confirm', () => undefined)
    await request(appOf((_req, res) => void res.json({ done: true })))
      .post('/')
      .expect(200)
    expect(rig().events.filter(({ type }) => type === 'settled')).toEqual([])
  })
})

describe('an app that mounts express.Router', () => {
  it('is settled by what its next routes answer after next("route"), and 404 is a reject', async () => {
    const handled = appOf((_req, _res, next) => next('route')).post('/', (_req, res) => void res.sendStatus(200))
    await request(handled).post('/').expect(200)
    const unhandled = appOf((_req, _res, next) => next('route'))
    await request(unhandled).post('/').expect(404)
    expect(await rig().settled(2)).toEqual(['confirm', 'reject'])
  })

  it('is settled by what comes after next("router")', async () => {
    const router = express.Router().post('/', rig().guard(), (_req, _res, next) => next('router'))
    const app = newApp()
      .use(router)
      .use((_req, res) => void res.sendStatus(409))
    await request(app).post('/').expect(409)
    expect(await rig().settled()).toEqual(['reject'])
  })
})
