/** What `requirePermit` tells anyone who listens. */
import type { Countersign } from '@countersign/client'
import { type PermitEvent, permitErrors, requirePermit } from '@countersign/express'
import type { Request } from 'express'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { AUDIENCE, asked, ISSUER, key, permit, service } from './permits.js'
import { newApp } from './rig.js'

describe('requirePermit tells onEvent', () => {
  const listening = (options: Parameters<typeof service>[0] = {}) => {
    const events: PermitEvent[] = []
    return { events, ...service({ onEvent: (event) => void events.push(event), ...options }) }
  }

  it('that a permit was accepted, for what and with which claims', async () => {
    const { send, events } = listening({ context: (req) => ({ amount: req.body.amount }) })
    await send(permit()).expect(200)
    expect(events).toEqual([
      { type: 'accepted', asked, claims: expect.objectContaining({ sub: asked.agent_id }), decision: null },
    ])
    expect(Object.isFrozen(events[0])).toBe(true)
  })

  it.each<[string, () => string | undefined, string, unknown]>([
    ['that there was none', () => undefined, 'permit_missing', undefined],
    [
      'why one does not hold',
      () => permit({ iss: 'https://other.example' }),
      'issuer_mismatch',
      'https://other.example',
    ],
    ['why one is for something else', () => permit({ resource: 'order:1' }), 'resource_mismatch', 'another resource'],
  ])('%s, with the code and the cause', async (_what, token, reason, cause) => {
    const { send, events, runs } = listening()
    const { body } = await send(token())
    expect(events).toMatchObject([{ type: 'denied', asked: null, reason, decision: null, error: { code: reason } }])
    const [event] = events
    const told = event?.type === 'denied' ? event.error.cause : undefined
    if (cause === undefined) expect(told).toBeUndefined()
    else expect(told).toMatchObject({ message: expect.stringContaining(String(cause)) })
    // The caller is told no more than the sentence.
    expect(body.detail).not.toContain('other.example')
    expect(runs()).toBe(0)
  })

  it('what a mapping threw', async () => {
    const fault = new Error('no such order')
    const resource = () => {
      throw fault
    }
    const { send, events } = listening({ resource })
    await send(permit()).expect(403)
    expect(events).toMatchObject([{ type: 'denied', reason: 'mapping_failed', error: { cause: { cause: fault } } }])
  })

  it('what is no refusal, too', async () => {
    const redeem = { permits: { redeem: () => Promise.reject(new TypeError('the client is closed')) } }
    const { send, events } = listening({ singleUse: { redeem: redeem as unknown as Countersign } })
    await send(permit()).expect(500)
    expect(events).toMatchObject([{ type: 'denied', reason: 'unavailable', error: { name: 'TypeError' } }])
  })

  it('and no permit', async () => {
    const { send, events } = listening()
    const token = permit()
    await send(token)
    await send(token)
    await send(`${token}x`)
    expect(events.map(({ type }) => type)).toEqual(['accepted', 'denied', 'denied'])
    const [, , signature = ''] = token.split('.')
    expect(
      JSON.stringify(events) + String(events.map((event) => event.type === 'denied' && event.error.stack)),
    ).not.toContain(signature)
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
  ])('and nothing changes when that %s', async (_how, onEvent) => {
    const { send, runs } = service({ onEvent })
    await send(permit()).expect(200)
    await send('garbage').expect(401)
    expect(runs()).toBe(1)
  })

  it('and takes no listener that is none', () => {
    expect(() => service({ onEvent: 'log' as never })).toThrow('onEvent must be a function')
  })
})

describe('a JSON body that nobody has parsed', () => {
  const route = (freeze: boolean, read: (req: Request) => unknown) => {
    const events: PermitEvent[] = []
    const app = newApp()
    // As without express.json().
    app.router.stack.splice(0)
    app.post(
      '/refunds/:id',
      requirePermit({
        issuer: ISSUER,
        audience: AUDIENCE,
        jwks: { keys: [key.publicJwk] },
        action: asked.action,
        resource: asked.resource,
        context: (req) => ({ amount: read(req) as number }),
        onEvent: (event) => void events.push(event),
        freeze,
      }),
      (req, res) => void res.json({ body: req.body === undefined }),
    )
    app.use(permitErrors())
    const send = () => request(app).post('/refunds/1').set('authorization', `Bearer ${permit()}`)
    return { events, send }
  }

  it.each([
    ['', true, (req: Request) => req.body?.amount],
    [' that is not held', false, (req: Request) => req.body.amount],
  ])('and that is read by a mapping%s is no absent one', async (_how, freeze, read) => {
    const { events, send } = route(freeze, read)
    await send().send({ amount: 42.5 }).expect(403)
    expect(events).toMatchObject([
      {
        reason: 'mapping_failed',
        error: {
          cause: { cause: { code: 'COUNTERSIGN_NO_BODY_PARSER', message: expect.stringContaining('express.json()') } },
        },
      },
    ])
  })

  it('says nothing where there is none, or where no mapping reads it', async () => {
    const { events, send } = route(true, (req) => req.body?.amount ?? 42.5)
    await send().expect(200, { body: true })
    const other = route(true, () => 42.5)
    await other.send().send({ amount: 42.5 }).expect(200, { body: true })
    expect([...events, ...other.events].map(({ type }) => type)).toEqual(['accepted', 'accepted'])
  })
})
