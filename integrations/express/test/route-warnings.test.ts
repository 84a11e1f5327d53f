/** A caller who sends nonsense to a sound route keeps the operator from hearing of no other route's mistake. */
import { guard, permitErrors } from '@countersign/express'
import express, { type Request } from 'express'
import request from 'supertest'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { newApp, useRig } from './rig.js'

const rig = useRig()
let warnings: string[] = []
const hear = (warning: Error & { code?: string }): void => {
  warnings.push(`${warning.code}: ${warning.message}`)
}
beforeEach(() => {
  warnings = []
  process.on('warning', hear)
})
afterEach(() => void process.off('warning', hear))

/** A route that nobody listens to. */
function route(path: string, resource: string | ((req: Request) => string), more: object = {}) {
  const { client } = rig()
  const mayAct = guard({ client, agent_id: 'agent:a', action: 'order.refund', resource, ...more })
  return express.Router().post(path, mayAct, (_req, res) => void res.json({ done: true }))
}

it('says nothing of a template that is sound, whatever is sent', async () => {
  const app = newApp().use(route('/sound/:id', 'order:{params.id}/{body.part}')).use(permitErrors())
  for (const [id, part] of [
    ['undefined', '1'],
    ['NaN', '1'],
    ['%20', '1'],
    ['7', {}],
    ['7', 'a/b'],
  ] as const) {
    await request(app)
      .post(`/sound/${id}`)
      .send({ part })
      .expect(403, /question_refused/)
  }
  expect(warnings).toEqual([])
})

it('says each option of each route by itself, and once', async () => {
  const misspelt = (req: Request) => `order:${req.params.orderId}`
  const app = newApp()
    .use(route('/twice/:id', () => 'order:1'))
    .use('/mount', route('/twice/:id', misspelt))
    .use(route('/given/:id', (req) => `order:${req.params.id}`))
    .use(route('/first/:id', misspelt))
    .use(
      route('/second/:id', (req) => `order:${req.params.id}`, {
        context: (req: Request) => ({ a: req.body.a.b, at: new Date() }),
      }),
    )
    .use(route('/third/:id', () => 'order:1', { context: () => ({ at: new Date() }) }))
    .use(permitErrors())
  await request(app).post('/twice/1').send({}).expect(200)
  for (const path of [
    '/given/undefined',
    '/given/NaN',
    '/first/1',
    '/first/2',
    '/second/undefined',
    '/third/1',
    '/mount/twice/1',
  ]) {
    await request(app).post(path).send({ a: {} }).expect(403)
  }
  await request(app).post('/second/1').send({}).expect(403)
  expect(warnings).toEqual([
    expect.stringContaining(
      'COUNTERSIGN_MAPPING_FAILED: A call could not be mapped to a request (the route /given/:id: TypeError: resource `order:undefined`',
    ),
    expect.stringContaining('(the route /first/:id resource: TypeError: req.params has no orderId'),
    expect.stringContaining('(the route /second/:id: TypeError: resource `order:undefined`'),
    expect.stringContaining('(the route /third/:id: TypeError: context.at is an instance of Date'),
    expect.stringContaining(
      '(the route /twice/:id (number 2 of this path) resource: TypeError: req.params has no orderId',
    ),
    expect.stringContaining('(the route /second/:id context: TypeError: Cannot read properties of undefined'),
  ])
})

it('tells of no parser that is missing where the caller chose a type of its own', async () => {
  const byBody = (req: Request) => `order:${req.body.id}`
  const parsed = newApp().use(route('/parsed', byBody)).use(permitErrors())
  await request(parsed)
    .post('/parsed')
    .type('application/vnd.x+json')
    .send('{"id":1}')
    .expect(403, /mapping_failed/)
  expect(warnings).toEqual([])
  const unparsed = express().use(route('/unparsed', byBody)).use(permitErrors())
  await request(unparsed)
    .post('/unparsed')
    .send({ id: 1 })
    .expect(403, /mapping_failed/)
  expect(warnings).toEqual([expect.stringMatching(/^COUNTERSIGN_NO_BODY_PARSER: .*\(the route \/unparsed resource: /)])
})

it.each([true, false])('an unparsed body hides no other fault of a mapping (freeze: %s)', async (freeze) => {
  const twice = { nothing: undefined as unknown as { of: string } }
  const app = express()
    .use('/', express.Router().post('/other', rig().guard({ freeze, resource: () => twice.nothing.of })))
    .use(permitErrors())
  await request(app).post('/other').send({ id: 1 }).expect(403)
  expect(rig().events).toMatchObject([{ error: { cause: { message: expect.stringContaining("reading 'of'") } } }])
})
