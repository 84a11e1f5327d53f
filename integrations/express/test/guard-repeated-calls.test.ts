/** A call that is made again with the caller's Idempotency-Key runs once; another caller's key is another one. */
import { permitErrors } from '@countersign/express'
import type { StubAnswer } from '@countersign/testkit'
import type { RequestHandler } from 'express'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { newApp, useRig } from './rig.js'

const rig = useRig()

const byHeader = { agent_id: (req: { headers: NodeJS.Dict<string | string[]> }) => req.headers['x-verified'] as string }
const end: RequestHandler = (_req, res) => void res.end()

/** The keys that the decision point was asked with. */
const keys = () =>
  rig()
    .stub.requests.filter(({ url }) => url === '/v1/decisions')
    .map(({ headers }) => headers['idempotency-key'])

/** One question to this route by this agent with this key; the key that the decision point is asked with. */
async function keyOf(
  app: ReturnType<typeof newApp>,
  path: string,
  { agent = 'agent:a', key = 'k1', method = 'post' as 'post' | 'put' } = {},
) {
  await request(app)[method](path).set('x-verified', agent).set('idempotency-key', key)
  return keys().at(-1)
}

describe('the key of a call', () => {
  it('is the same for the same agent, route and key, whatever else the request says', async () => {
    const app = newApp().post('/refunds/:id', rig().guard(byHeader), end)
    const first = await keyOf(app, '/refunds/1')
    expect(first).toMatch(/^express-[A-Za-z0-9_-]{43}$/)
    expect(await keyOf(app, '/refunds/1?again=1')).toBe(first)
  })

  it('is another one for another agent, key, route, method and router, and for the second guard of a route', async () => {
    const guarded = rig().guard(byHeader)
    const app = newApp()
      .post('/a', guarded, end)
      .put('/a', guarded, end)
      .post('/b', guarded, end)
      .use('/c', newApp().post('/a', guarded, end))
      .post('/two', guarded, rig().guard({ ...byHeader, action: 'mail.send' }), end)
    await keyOf(app, '/a')
    await keyOf(app, '/a', { agent: 'agent:b' })
    await keyOf(app, '/a', { key: 'k2' })
    await keyOf(app, '/a', { method: 'put' })
    await keyOf(app, '/b')
    await keyOf(app, '/c/a')
    await keyOf(app, '/two')
    expect(keys()).toHaveLength(8)
    expect(new Set(keys()).size).toBe(8)
  })

  it('cannot be made to look like that of another agent', async () => {
    const app = newApp().post('/a', rig().guard(byHeader), end)
    await keyOf(app, '/a', { agent: 'agent:a', key: 'x,POST,,/a,0,y' })
    await keyOf(app, '/a', { agent: 'agent:a,POST,,/a,0,x', key: 'y' })
    await keyOf(app, '/a', { agent: 'agent:a', key: 'x","POST","","/a",0,"y' })
    await keyOf(app, '/a', { agent: 'agent:a","POST","","/a",0,"x', key: 'y' })
    expect(new Set(keys()).size).toBe(4)
  })

  it('takes whatever a header can hold, and a header that is empty is none', async () => {
    const app = newApp().post('/a', rig().guard(byHeader), end)
    await keyOf(app, '/a', { key: 'x'.repeat(4_000) })
    await keyOf(app, '/a', { key: 'ä b, c' })
    await keyOf(app, '/a', { key: '' })
    await keyOf(app, '/a', { key: '' })
    expect(new Set(keys()).size).toBe(4)
    expect(keys().map((key) => String(key).startsWith('express-'))).toEqual([true, true, false, false])
  })

  it('can come from elsewhere, or from nowhere', async () => {
    const app = newApp()
      .post('/body', rig().guard({ ...byHeader, idempotencyKey: (req) => req.body?.request_id }), end)
      .post('/never', rig().guard({ ...byHeader, idempotencyKey: false }), end)
      .post('/faulty', rig().guard({ ...byHeader, idempotencyKey: () => 7 as never }), end)
      .use(permitErrors())
    const send = (path: string) =>
      request(app).post(path).set('x-verified', 'agent:a').set('idempotency-key', 'k1').send({ request_id: 'r1' })
    await send('/body').expect(200)
    await send('/body')
    await send('/never').expect(200)
    await send('/never').expect(200)
    await send('/faulty').expect(403)
    const [first, second, third, fourth] = keys()
    expect(first).toBe(second)
    expect(third).not.toBe(fourth)
    expect(keys()).toHaveLength(4)
  })
})

describe('a call that is made again', () => {
  /** As the decision point does it: one decision for each key, which only its first holder may run. */
  const oneForEachKey = (): StubAnswer => {
    const answered = new Map<unknown, { holder: string; text: string }>()
    return (asked, response) => {
      const key = asked.headers['idempotency-key']
      const { holder } = JSON.parse(asked.body)
      const known = answered.get(key)
      if (known === undefined) {
        const { end: send } = response
        response.end = ((text: string) => {
          answered.set(key, { holder, text })
          return send.call(response, text, 'utf8')
        }) as typeof response.end
        return rig().lifecycle.answer(asked, response)
      }
      const isOther = known.holder !== holder
      response.writeHead(isOther ? 409 : 200, { 'content-type': 'application/json' })
      response.end(
        isOther
          ? JSON.stringify({ type: 'about:blank', title: 'x', status: 409, detail: '', code: 'already_claimed' })
          : known.text,
      )
    }
  }

  it('does not run the route again: 403, with one decision for both', async () => {
    const answer = oneForEachKey()
    rig().answer('/decisions', answer, answer)
    let runs = 0
    const app = newApp()
      .post('/', rig().guard(), (_req, res) => {
        runs += 1
        res.end()
      })
      .use(permitErrors())
    const send = () => request(app).post('/').set('idempotency-key', 'k1')
    const answers = await Promise.all([send(), send()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403])
    expect(answers.find(({ status }) => status === 403)?.body.code).toBe('already_claimed')
    expect(runs).toBe(1)
    expect(await rig().settled()).toEqual(['confirm'])
  })

  it('with another body is refused as what it is: 422', async () => {
    const answer: StubAnswer = (_asked, response) => {
      response.writeHead(422, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ type: 'x', title: 'x', status: 422, detail: 'x', code: 'idempotency_key_reused' }))
    }
    rig().answer('/decisions', answer)
    const app = newApp().post('/', rig().guard(), end).use(permitErrors())
    const { status, body } = await request(app).post('/').set('idempotency-key', 'k1')
    expect([status, body.code, body.title]).toEqual([422, 'idempotency_key_reused', 'Unprocessable Content'])
  })
})
