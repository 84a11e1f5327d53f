/** A permit runs one action, however many callers show it, and where it cannot be told nothing runs. */
import { requirePermit } from '@countersign/express'
import { createSeenPermits } from '@countersign/permit'
import {
  answerJson,
  answerNever,
  answerProblem,
  answerReset,
  decisionAbout,
  type StubAnswer,
} from '@countersign/testkit'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { AUDIENCE, asked, ISSUER, key, permit, service } from './permits.js'
import { gate, newApp, useRig } from './rig.js'

const rig = useRig()

/** Shows one permit from this many callers at once; the statuses in order. */
async function shownBy(callers: number, url: string, token = permit()): Promise<number[]> {
  const init = { method: 'POST', headers: { authorization: `Bearer ${token}` } }
  const answers = await Promise.all(Array.from({ length: callers }, () => fetch(`${url}/refunds/8812`, init)))
  await Promise.all(answers.map((answer) => answer.arrayBuffer()))
  return answers.map(({ status }) => status).sort()
}

const onePasses = (callers: number) => [200, ...Array(callers - 1).fill(401)]

/** Redeems as the decision point does: the first time only. */
function redeeming(): StubAnswer {
  const used = new Set<string>()
  return (sent, response) => {
    const { permit_token } = JSON.parse(sent.body)
    const { jti, sub, action, resource } = JSON.parse(Buffer.from(permit_token.split('.')[1], 'base64url').toString())
    if (used.has(jti)) return answerProblem(409, 'permit_already_used')(sent, response)
    used.add(jti)
    return answerJson(200, { ...decisionAbout({ agent_id: sub, action, resource }), id: jti })(sent, response)
  }
}

describe('in memory', () => {
  it('a permit shown by 100 callers at once lets one of them pass, in each of 5 rounds', async () => {
    const { app, runs } = service()
    const { url } = await rig().listen(app)
    for (let round = 1; round <= 5; round += 1) {
      expect(await shownBy(100, url)).toEqual(onePasses(100))
      expect(runs()).toBe(round)
    }
  }, 60_000)

  it('a permit that one route has taken is taken by no other route of the process', async () => {
    const token = permit()
    await service().send(token).expect(200)
    const { body } = await service().send(token).expect(401)
    expect(body.code).toBe('already_seen')
  })

  it('a memory that never says whether it has seen a permit lets nothing pass, and the caller has its answer', async () => {
    const { send, runs } = service({ singleUse: { add: () => new Promise<never>(() => undefined) } })
    const { body } = await send(permit()).expect(503)
    expect(body.code).toBe('replay_check_failed')
    expect(runs()).toBe(0)
  }, 20_000)

  it('a full memory lets nothing more pass, and forgets nothing to make room: 503', async () => {
    const { send, runs } = service({ maxSeen: 2 })
    const [first, second] = [permit(), permit()]
    await send(first).expect(200)
    await send(second).expect(200)
    for (let count = 0; count < 5; count += 1) {
      const { status, body, headers } = await send(permit())
      expect([status, body.code, headers['retry-after']]).toEqual([503, 'replay_check_failed', '1'])
    }
    await send(first).expect(401)
    await send(second).expect(401)
    expect(runs()).toBe(2)
  })

  it('a memory of one’s own can be shared, and one that fails lets nothing pass: 503', async () => {
    const seen = createSeenPermits()
    const token = permit()
    await service({ singleUse: seen }).send(token).expect(200)
    await service({ singleUse: seen }).send(token).expect(401)
    const broken = { add: () => Promise.reject(new Error('the store is away')) }
    await service({ singleUse: broken }).send(permit()).expect(503)
    const unclear = { add: () => 'yes' as never }
    await service({ singleUse: unclear }).send(permit()).expect(401)
  })

  it('can be switched off', async () => {
    const { send, runs } = service({ singleUse: false })
    const token = permit()
    await send(token).expect(200)
    await send(token).expect(200)
    expect(runs()).toBe(2)
  })
})

describe('redeemed at the decision point', () => {
  it('a permit shown by 100 callers at once lets one of them pass, in each of 3 rounds', async () => {
    rig().answer('/redeem', ...Array(300).fill(redeeming()))
    const { app, runs } = service({ singleUse: { redeem: rig().client } })
    const { url } = await rig().listen(app)
    for (let round = 1; round <= 3; round += 1) {
      expect(await shownBy(100, url)).toEqual(onePasses(100))
      expect(runs()).toBe(round)
    }
  }, 60_000)

  it('a permit is not sent before everything else was checked', async () => {
    const { send } = service({ singleUse: { redeem: rig().client } })
    await send(permit({ action: 'payment.read' })).expect(403)
    await send(`${permit()}x`).expect(401)
    expect(rig().stub.requests).toEqual([])
  })

  it.each<[string, StubAnswer, number, string]>([
    ['used before', answerProblem(409, 'permit_already_used'), 401, 'permit_already_used'],
    [
      'settled since',
      answerJson(409, {
        type: 'x',
        title: 'x',
        status: 409,
        detail: 'x',
        code: 'invalid_transition',
        current_status: 'rejected',
      }),
      401,
      'settled',
    ],
    ['none, says the decision point', answerProblem(400, 'permit_invalid'), 401, 'refused'],
    ['of an agent that was suspended', answerProblem(409, 'agent_suspended'), 403, 'agent_suspended'],
    ['not to be redeemed by this key', answerProblem(403, 'insufficient_scope'), 503, 'refused'],
    ['shown by a service with a wrong key', answerProblem(401, 'unauthorized'), 503, 'refused'],
    ['one too many for the rate limit', answerProblem(429, 'rate_limited', { 'retry-after': '4' }), 503, 'unavailable'],
    ['shown while the store is away', answerProblem(503, 'store_unavailable'), 503, 'unavailable'],
    ['shown while the decision point is away', answerReset, 503, 'unavailable'],
    ['shown while the decision point hangs', answerNever, 503, 'unavailable'],
    ['answered with another decision', answerJson(200, decisionAbout(asked)), 503, 'unavailable'],
  ])('a permit that is %s lets nothing run', async (_what, answer, status, code) => {
    rig().answer('/redeem', answer)
    const { send, runs } = service({ singleUse: { redeem: rig().open({ timeoutMs: 500 }) } })
    const refused = await send(permit())
    expect([refused.status, refused.body.code, runs()]).toEqual([status, code, 0])
  })

  it.each([undefined, null, '', 0, 'route', 'router'])('a redeemer that throws %j lets nothing run', async (thrown) => {
    const redeem = { permits: { redeem: () => Promise.reject(thrown) } }
    const { app, send, runs } = service({ singleUse: { redeem } })
    app.use((_req, res) => void res.end())
    await send(permit()).expect(500)
    expect(runs()).toBe(0)
  })

  it('a decision about another agent, action or resource, or that is over, lets nothing run', async () => {
    for (const change of [
      { agent_id: 'agent:root' },
      { action: 'payment.read' },
      { resource: 'order:1' },
      { status: 'confirmed' },
      { expires_at: '2020-01-01T00:00:00.000Z' },
    ]) {
      const whole = redeeming()
      rig().answer('/redeem', (sent, response) => {
        const { end } = response
        response.end = ((text: string) =>
          end.call(response, JSON.stringify({ ...JSON.parse(text), ...change }), 'utf8')) as typeof end
        whole(sent, response)
      })
      const { send, runs } = service({ singleUse: { redeem: rig().client } })
      const { status } = await send(permit())
      expect([status, runs()], JSON.stringify(change)).toEqual([503, 0])
    }
  })

  it('the decision is there for the handler, without its permit', async () => {
    rig().answer('/redeem', redeeming())
    const app = newApp().post(
      '/',
      requirePermit({
        issuer: ISSUER,
        audience: AUDIENCE,
        jwks: { keys: [key.publicJwk] },
        action: asked.action,
        resource: asked.resource,
        singleUse: { redeem: rig().client },
      }),
      (req, res) => void res.json(req.verifiedPermit?.decision),
    )
    const { body } = await request(app).post('/').set('authorization', `Bearer ${permit()}`).expect(200)
    expect(body).toMatchObject({ status: 'authorized', resource: asked.resource })
    expect(body).not.toHaveProperty('permit_token')
  })
})

describe('a caller who leaves', () => {
  it('while the keys are read: the permit is not used up, and nothing runs', async () => {
    const [reading, left] = [gate(), gate()]
    let hasLeft = false
    const jwks = async () => {
      reading.open()
      if (!hasLeft) await left.opened
      return { keys: [key.publicJwk] }
    }
    const { app, send, runs } = service({ jwks })
    const token = permit()
    const { connect, server } = await rig().listen(app)
    const gone = gate()
    server.on('request', (_req, res) => res.once('close', () => gone.open()))
    const socket = await connect()
    socket.write(
      `POST /refunds/8812 HTTP/1.1\r\nHost: app\r\nAuthorization: Bearer ${token}\r\nContent-Length: 0\r\n\r\n`,
    )
    await reading.opened
    socket.destroy()
    await gone.opened
    hasLeft = true
    left.open()
    await send(token).expect(200)
    expect(runs()).toBe(1)
  })
})

describe('keys', () => {
  it('that cannot be had let nothing pass: 503, until they can', async () => {
    let isAway = true
    let now = Date.now()
    const jwks = async () => {
      if (isAway) throw new Error('away')
      return { keys: [key.publicJwk] }
    }
    const { send, runs } = service({ jwks, now: () => now })
    const { status, body, headers } = await send(permit())
    expect([status, body.code, headers['retry-after'], runs()]).toEqual([503, 'key_set_unavailable', '10', 0])
    isAway = false
    now += 6_500
    const { headers: later } = await send(permit()).expect(503)
    now += Number(later['retry-after']) * 1_000
    await send(permit()).expect(200)
    expect(later['retry-after']).toBe('4')
  })

  it('are read once for many permits', async () => {
    let reads = 0
    const jwks = async () => {
      reads += 1
      return { keys: [key.publicJwk] }
    }
    const { send } = service({ jwks })
    for (let count = 0; count < 20; count += 1) await send(permit()).expect(200)
    expect(reads).toBe(1)
  })
})
