/** A name that the request does not have opens nothing: functions that map it fail, and templates are refused. */
import { inspect } from 'node:util'
import { checkRoutes, guard, permitErrors, requirePermit } from '@countersign/express'
import express, { type Request, type RequestHandler } from 'express'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { AUDIENCE, asked, ISSUER, key, permit } from './permits.js'
import { newApp, useRig } from './rig.js'

const rig = useRig()

type Options = Parameters<ReturnType<typeof rig>['guard']>[0]

const done: RequestHandler = (req, res) =>
  void res.json({ params: { ...req.params }, absent: req.params.orderId ?? null })

function appOf(options: Options, path = '/orders/:id{/:part}', mount = '/') {
  return newApp()
    .use(mount, express.Router({ mergeParams: true }).post(path, rig().guard(options), done))
    .use(permitErrors())
}

describe('a function that maps the request', () => {
  const typo = (req: Request) => `order:${req.params.orderId}`

  it.each<[string, Options]>([
    ['resource', { resource: typo }],
    ['resource, unfrozen', { resource: typo, freeze: false }],
    ['agent_id', { agent_id: typo }],
    ['action', { action: typo }],
    ['context', { context: (req) => ({ order: req.params.orderId ?? null }) }],
    ['idempotencyKey', { idempotencyKey: (req) => req.params.orderId as string }],
  ])('fails by a misspelt name of req.params: %s', async (_what, options) => {
    const { body } = await request(appOf(options)).post('/orders/8812').send({}).expect(403)
    expect(body).toMatchObject({ code: 'mapping_failed' })
    expect(rig().questions()).toEqual([])
    expect(rig().events).toMatchObject([
      { error: { cause: { message: 'req.params has no orderId: the route /orders/:id{/:part}, with id, part' } } },
    ])
  })

  it('of requirePermit fails by one, too, whatever the permit is for', async () => {
    const needs = { issuer: ISSUER, audience: AUDIENCE, jwks: { keys: [key.publicJwk] }, action: asked.action }
    const app = newApp()
      .post('/orders/:id', requirePermit({ ...needs, resource: typo }, done))
      .post('/hashes/:id', requirePermit({ ...needs, resource: asked.resource, requestHash: typo }, done))
      .use(permitErrors())
    for (const path of ['/orders/8812', '/hashes/8812']) {
      const show = permit({ resource: path === '/orders/8812' ? 'order:undefined' : asked.resource })
      const { body } = await request(app).post(path).set('authorization', `Bearer ${show}`).expect(403)
      expect(body).toMatchObject({ code: 'mapping_failed' })
    }
  })

  it('sees no parameters before a route, and says so', async () => {
    const app = newApp()
      .use(rig().guard({ resource: typo }), done)
      .use(permitErrors())
    await request(app).post('/orders/8812').expect(403)
    expect(rig().events).toMatchObject([
      { error: { cause: { message: expect.stringContaining('there is no route here') } } },
    ])
  })

  it('that gives no resource for want of one asks nothing: for none it gives null', async () => {
    const { body } = await request(appOf({ resource: (req) => req.body.order }))
      .post('/orders/8812')
      .send({})
      .expect(403)
    expect(body).toMatchObject({ code: 'question_refused' })
    await request(appOf({ resource: () => null }))
      .post('/orders/8812')
      .send({})
      .expect(200)
  })

  it.each([true, false])(
    'otherwise reads req.params as ever, and the handler has it as ever (freeze: %s)',
    async (freeze) => {
      const seen: unknown[] = []
      const resource = (req: Request): string => {
        const { params } = req
        seen.push(params.id, params.part, 'orderId' in params, Object.hasOwn(params, 'id'), Object.keys(params))
        seen.push(JSON.stringify(params), inspect(params), { ...params }, Promise.resolve(params) instanceof Promise)
        return `order:${params.id}`
      }
      const { body } = await request(appOf({ resource, freeze })).post('/orders/8812').send({}).expect(200)
      expect(seen).toEqual([
        '8812',
        undefined,
        false,
        true,
        ['id'],
        '{"id":"8812"}',
        expect.stringContaining("id: '8812'"),
        { id: '8812' },
        true,
      ])
      expect(body).toEqual({ params: { id: '8812' }, absent: null })
    },
  )

  it('reads the groups of a regular expression, and the parameters of where a router is mounted', async () => {
    const groups = newApp()
      .post(
        /^\/orders\/(?<id>\d+)(?:-(\d+))?$/,
        rig().guard({ resource: (req) => `order:${req.params.id}${req.params[0] ?? ''}` }),
        done,
      )
      .use(permitErrors())
    await request(groups).post('/orders/8812').expect(200)
    const mounted = appOf(
      { resource: (req: Request) => `order:${req.params.shop}-${req.params.id}` },
      '/:id',
      '/shops/:shop',
    )
    await request(mounted).post('/shops/7/8812').expect(200)
    expect(rig().questions()).toMatchObject([{ resource: 'order:8812' }, { resource: 'order:7-8812' }])
  })
})

describe('a template', () => {
  const login: RequestHandler = (req, _res, next) => {
    Object.assign(req, { auth: { sub: 'alice', org: { id: 'acme' }, n: 7 } })
    next()
  }
  const appWith = (options: Options, path = '/orders/:id{/:part}') =>
    newApp().use(login).post(path, rig().guard(options), done).use(permitErrors())

  it.each<[Options, object]>([
    [{ resource: 'order:{params.id}' }, { resource: 'order:8812' }],
    [{ resource: 'order:{body.order.id}/{query.line}' }, { resource: 'order:17/a b' }],
    [{ resource: 'order:{params.id}', agent_id: 'user:{auth.sub}' }, { agent_id: 'user:alice' }],
    [{ agent_id: 'org:{auth.org.id}:user:{auth.sub}' }, { agent_id: 'org:acme:user:alice' }],
    [{ action: 'payment.{body.verb}' }, { action: 'payment.send' }],
    [{ resource: 'order:{body.urn}' }, { resource: 'order:a:b/c' }],
  ])('asks about what the request holds: %o', async (options, question) => {
    const body = { order: { id: 17 }, verb: 'send', urn: 'a:b/c' }
    await request(appWith(options)).post('/orders/8812?line=a%20b').send(body).expect(200)
    expect(rig().questions()).toMatchObject([question])
  })

  it.each<[string, Options, string, object]>([
    ['is missing', { resource: 'order:{params.part}' }, '/orders/8812', {}],
    ['is missing', { resource: 'order:{body.id}' }, '/orders/8812', {}],
    ['is missing', { resource: 'order:{body.id}' }, '/orders/8812', { id: null }],
    ['is missing', { resource: 'order:{body.toString}' }, '/orders/8812', {}],
    ['is missing', { resource: 'order:{body.ids.length}' }, '/orders/8812', { ids: [1] }],
    ['is missing', { agent_id: 'user:{body.sub}' }, '/orders/8812', {}],
    ['is empty', { resource: 'order:{body.id}' }, '/orders/8812', { id: ' ' }],
    ['is not a string, number or boolean', { resource: 'order:{body.id}' }, '/orders/8812', { id: ['8812'] }],
    ['is not a string, number or boolean', { resource: 'order:{body.id}' }, '/orders/8812', { id: { a: 1 } }],
    ['is not a string, number or boolean', { resource: 'order:{query.id}' }, '/orders/8812?id=1&id=2', {}],
    [
      'contains characters that are not allowed in the action',
      { action: 'payment.{body.verb}' },
      '/orders/8812',
      { verb: 'send.all' },
    ],
    [
      'contains characters that are not allowed in the action',
      { action: 'payment.{body.verb}' },
      '/orders/8812',
      { verb: '*' },
    ],
    [
      'contains characters that are not allowed in the agent_id',
      { agent_id: 'user:{body.sub}' },
      '/orders/8812',
      { sub: 'auth0|5' },
    ],
    [
      'contains characters that are not allowed in the resource',
      { resource: 'order:{body.id}' },
      '/orders/8812',
      { id: 'a\u202eb' },
    ],
    ['contains `/`', { resource: 'file:public/{params.id}' }, '/orders/..%2Fsecret', {}],
    ['contains `:`', { resource: 'shop:{params.id}:order:{body.id}' }, '/orders/7', { id: '1:order:2' }],
    ['contains `:`', { resource: 'shop:{params.id}:order:{body.id}' }, '/orders/7:order:1', { id: '2' }],
    ['contains `-`', { resource: 'order:{params.id}-{body.id}' }, '/orders/7-1', { id: '2' }],
    ['begins or ends with a space or a quote', { resource: 'order:{body.id}' }, '/orders/8812', { id: ' admin' }],
    ['begins or ends with a space or a quote', { resource: 'order:{body.id}' }, '/orders/8812', { id: '"admin"' }],
    [
      'has a path segment that consists only of dots',
      { resource: 'file:/public/{body.id}' },
      '/orders/1',
      { id: '..' },
    ],
    [
      'has a path segment that consists only of dots',
      { resource: 'file:{body.id}' },
      '/orders/1',
      { id: 'a%2f..%2fb' },
    ],
    ['has an encoded slash', { resource: 'file:/public/{body.id}' }, '/orders/8812', { id: 'a%2fb' }],
    ['has an encoded slash', { resource: 'order:{params.id}' }, '/orders/a%252Fb', {}],
    ['has the part `undefined`', { resource: 'order:{params.id}' }, '/orders/undefined', {}],
  ])('whose value %s asks nothing: %o', async (fault, options, path, sent) => {
    const { body } = await request(appWith(options)).post(path).send(sent).expect(403)
    expect(body).toMatchObject({ code: 'question_refused', detail: expect.stringContaining(fault) })
    expect(rig().questions()).toEqual([])
  })

  it('of an agent that nobody has logged in as is 401', async () => {
    const app = newApp()
      .post('/orders/:id', rig().guard({ agent_id: 'user:{auth.sub}' }), done)
      .use(permitErrors())
    const { body } = await request(app).post('/orders/8812').expect(401)
    expect(body).toMatchObject({ code: 'agent_missing' })
  })

  it('compares a permit', async () => {
    const pass = requirePermit(
      {
        issuer: ISSUER,
        audience: AUDIENCE,
        jwks: { keys: [key.publicJwk] },
        action: asked.action,
        resource: 'order:{params.id}',
      },
      done,
    )
    const app = newApp().post('/orders/:id', pass).use(permitErrors())
    await request(app).post('/orders/8812').set('authorization', `Bearer ${permit()}`).expect(200)
    await request(app).post('/orders/8813').set('authorization', `Bearer ${permit()}`).expect(403)
  })

  it.each([
    'order:{id}',
    'order:{params}',
    'order:{params.}',
    'order:{headers.id}',
    'order:{params.id',
    'a}',
    '{{x}}',
    '{}',
    'a:{params.a}{params.b}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the mistake.
    'order:${params.id}',
  ])('with braces that name no value is refused when the guard is made: %s', (resource) => {
    expect(() => rig().guard({ resource })).toThrow(TypeError)
  })
})

describe('a template that its route has no parameter for', () => {
  const make = () => rig().guard({ resource: 'order:{params.orderId}' })
  const says = /no parameter orderId, .* resource: 'order:\{params\.orderId\}'/

  it('is refused at the start, where the app is given permitErrors', () => {
    expect(() => newApp().post('/orders/:id', make(), done).use(permitErrors())).toThrow(says)
    expect(() => newApp().post('/orders/:orderId', make(), done).use(permitErrors())).not.toThrow()
  })

  it.each<[string, () => express.Express | express.Router]>([
    ['of an app', () => newApp().get('/sound', done).post('/orders/:id', make(), done)],
    ['of a router', () => express.Router().post('/orders/:id', make(), done)],
    ['of a router in an app', () => newApp().use('/shops/:orderId', express.Router().all('/:id', make()))],
    ['of several paths', () => newApp().post(['/orders/:orderId', '/old/:id'], make(), done)],
    ['before many routes', () => newApp().use('/orders/:id', make(), done)],
    ['of a regular expression', () => newApp().post(/^\/orders\/(?<id>\d+)$/, make(), done)],
    ['beside one in braces', () => newApp().post('/orders/\\:orderId/*id', make(), done)],
  ])('is refused by checkRoutes: %s', (_what, app) => {
    expect(() => checkRoutes(app())).toThrow(says)
  })

  it.each<[string, () => express.Express | express.Router]>([
    ['of its path', () => newApp().post('/orders{/:orderId}', make(), done)],
    ['of a name in quotes', () => newApp().post('/orders/:"orderId"', make(), done)],
    [
      'of where its router is mounted',
      () => newApp().use('/:orderId', express.Router({ mergeParams: true }).all('/', make())),
    ],
    ['of where it stands before many routes', () => newApp().use('/orders/:orderId', make(), done)],
    ['of a regular expression', () => newApp().post(/^\/orders\/(?<orderId>\d+)$/, make(), done)],
  ])('is none to checkRoutes when there is one: %s', (_what, app) => {
    expect(() => checkRoutes(app())).not.toThrow()
  })

  it('is looked for in a router that is mounted in itself, too, once', () => {
    const router = express.Router()
    router.use('/again', router)
    const app = newApp().use(router)
    expect(() => checkRoutes(app)).not.toThrow()
    router.post('/orders/:id', make())
    expect(() => checkRoutes(app)).toThrow('the route /orders/:id has no parameter orderId')
  })

  it('is refused when it is asked, where nothing has checked it', async () => {
    await request(newApp().post('/orders/:id', make(), done))
      .post('/orders/8812')
      .expect(403)
    expect(rig().events).toMatchObject([
      { error: { cause: { message: expect.stringContaining('the route /orders/:id has id') } } },
    ])
  })
})

it('permitErrors answers where an app, a path of it, a list or a router is given it', async () => {
  const refused = () => guard({ client: rig().client, action: 'order.read' })
  const apps = [
    newApp().post('/', refused(), done).use(permitErrors()),
    newApp().post('/', refused(), done).use('/', [permitErrors()]),
    newApp().use(express.Router().post('/', refused(), done).use(permitErrors())),
  ]
  for (const app of apps) {
    const { body } = await request(app).post('/').expect(401)
    expect(body).toMatchObject({ code: 'agent_missing' })
    await request(app).get('/nothing').expect(404)
  }
})

it('an app of Express 4 is refused in words', () => {
  const app = Object.assign(() => undefined, { lazyrouter: () => undefined })
  expect(() => checkRoutes(app as never)).toThrow('@countersign/express needs Express 5')
})
