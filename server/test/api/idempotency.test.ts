import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { type Answer, type RunningServer, runServer } from '../running-server.js'
import { openStoreWith } from '../store-with.js'
import { ALLOWED, allowing, createPolicy, DENIED, decide, makeKey, REFUNDS, REVIEWED, succeed } from './refunds.js'
import { routeCases } from './route-cases.js'
import { stored } from './stored.js'

const HOUR_MS = 3_600_000

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, REFUNDS)
})
afterAll(() => server.stop())

let used = 0
const freshKey = () => `run-${used++}`

function post(path: string, idempotencyKey: string, body: unknown, key = server.key): Promise<Answer> {
  return server.call('POST', path, { key, body, headers: { 'Idempotency-Key': idempotencyKey } })
}

const ask = (idempotencyKey: string, body: unknown, key?: string) => post('/v1/decisions', idempotencyKey, body, key)
const isReplayed = (answer: Answer) => answer.headers.get('idempotent-replayed') === 'true'
const counts = async () => (await stored(server)) as Record<string, number>

describe('the same call again', () => {
  it('gives the same decision with its permit, and happens once', async () => {
    const name = freshKey()
    const first = await ask(name, ALLOWED)
    expect(isReplayed(first)).toBe(false)
    const before = await stored(server)
    const again = await ask(name, ALLOWED)
    expect(again).toMatchObject({ status: 200, body: first.body })
    expect(isReplayed(again)).toBe(true)
    expect(again.headers.has('server-timing')).toBe(false)
    expect(await stored(server)).toEqual(before)
  })

  it('gives the object of every route that makes or changes one, once, with its status', async () => {
    const cases = routeCases(server)
    const routes = server.started.composed.routes.filter(({ replay }) => replay !== undefined)
    await createPolicy(server, allowing('mail.*'))
    expect(routes.length).toBeGreaterThanOrEqual(7)
    for (const route of routes) {
      const { path, body } = await (cases[route.name] as (typeof cases)[string]).request()
      const name = freshKey()
      const first = await post(path, name, body)
      const before = await stored(server)
      const again = await post(path, name, body)
      expect(again.status, route.name).toBe(route.answer.status)
      expect(isReplayed(first), route.name).toBe(false)
      expect(isReplayed(again), route.name).toBe(true)
      expect(await stored(server), route.name).toEqual(before)
      const { key, secret, ...shown } = first.body
      // The caller's own last use moves with each call, and not with the clock of this suite.
      expect(again.body, route.name).toEqual(shown)
      expect(again.headers.get('etag'), route.name).toBe(first.headers.get('etag'))
    }
  })

  it('is the same whether an optional member is null or absent, and another with another value', async () => {
    const { id } = await decide(server, REVIEWED)
    const name = freshKey()
    const approve = (body: unknown) => post(`/v1/decisions/${id}/approve`, name, body)
    const first = await approve({})
    expect(first.status).toBe(200)
    const again = await approve({ comment: null })
    expect({ status: again.status, isReplayed: isReplayed(again) }).toEqual({ status: 200, isReplayed: true })
    expect((await approve({ comment: 'fine' })).body.code).toBe('idempotency_key_reused')
  })

  it('is the same also for who did not see the first one, and meets what that did', async () => {
    let isBlind = false
    const openStore = (dataDir: string) =>
      openStoreWith(dataDir, (store) => ({
        idempotency: {
          get: async (...asked) => {
            const found = isBlind ? null : await store.idempotency.get(...asked)
            isBlind = false
            return found
          },
        },
      }))
    const other = await runServer({ settings: { rateLimitPerSecond: 0 }, parts: { openStore } })
    await createPolicy(other, REFUNDS)
    await createPolicy(other, allowing('mail.*'))
    const cases = routeCases(other)
    for (const route of other.started.composed.routes.filter(({ replay }) => replay !== undefined)) {
      const { path, body } = await (cases[route.name] as (typeof cases)[string]).request()
      const call = { body, headers: { 'Idempotency-Key': freshKey() } }
      const { status, body: first } = await other.call('POST', path, call)
      isBlind = true
      const again = await other.call('POST', path, call)
      expect([again.status, again.body.id, isReplayed(again)], route.name).toEqual([status, first.id, true])
    }
    await other.stop()
  })

  it('covers every POST but those that change nothing', () => {
    const posts = server.started.composed.routes.filter(({ method }) => method === 'POST')
    const without = posts.filter(({ replay }) => replay === undefined).map(({ name }) => name)
    expect(without.sort()).toEqual(['decisions.capabilities', 'policies.simulate', 'policies.validate'])
  })

  it('happens once when a hundred come at once', async () => {
    const before = await counts()
    const name = freshKey()
    const answers = await Promise.all(Array.from({ length: 100 }, () => ask(name, ALLOWED)))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(answers.filter((answer) => !isReplayed(answer))).toHaveLength(1)
    const after = await counts()
    expect(after.decisions).toBe((before.decisions as number) + 1)
    expect(after.audit_entries).toBe((before.audit_entries as number) + 1)
  })

  it('makes one policy, one agent and one key when twenty of each come at once', async () => {
    const before = await counts()
    const [policy, agent, key] = [freshKey(), freshKey(), freshKey()]
    const document = allowing('one.only')
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => [
        post('/v1/policies', policy, document),
        post('/v1/agents', agent, { id: 'agent:one-only' }),
        post('/v1/keys', key, { name: 'one', scopes: ['keys:read'] }),
      ]).flat(),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(60).fill(201))
    expect(answers.filter(({ body }) => 'key' in body)).toHaveLength(1)
    const after = await counts()
    for (const table of ['policies', 'agents', 'keys']) expect(after[table]).toBe((before[table] as number) + 1)
    expect(after.audit_entries).toBe((before.audit_entries as number) + 3)
  })

  it('shows the present state of the object', async () => {
    const [create, suspend] = [freshKey(), freshKey()]
    const document = allowing('state.now')
    const policy = (await post('/v1/policies', create, document)).body
    await succeed(server.call('PUT', `/v1/policies/${policy.id}`, { body: { ...document, priority: 3 } }))
    const replayed = await post('/v1/policies', create, document)
    expect(replayed).toMatchObject({ status: 201, body: { id: policy.id, revision: 2, priority: 3 } })
    expect(replayed.headers.get('etag')).toBe('"2"')
    await succeed(server.call('DELETE', `/v1/policies/${policy.id}`))
    expect(await post('/v1/policies', create, document)).toMatchObject({
      status: 201,
      body: { id: policy.id, revision: 2 },
    })

    await succeed(post('/v1/agents/agent:now/suspend', suspend, { reason: 'odd' }))
    await succeed(server.call('POST', '/v1/agents/agent:now/resume'))
    expect(await post('/v1/agents/agent:now/suspend', suspend, { reason: 'odd' })).toMatchObject({
      status: 200,
      body: { suspended: null },
    })
  })

  it('does nothing late, when the first call found nothing to do', async () => {
    const [resume, suspend] = [freshKey(), freshKey()]
    await succeed(post('/v1/agents/agent:late/resume', resume, {}))
    await succeed(server.call('POST', '/v1/agents/agent:late/suspend'))
    expect(await post('/v1/agents/agent:late/resume', resume, {})).toMatchObject({
      status: 200,
      body: { suspended: { reason: null } },
    })
    await succeed(post('/v1/agents/agent:late/suspend', suspend, {}))
    await succeed(server.call('POST', '/v1/agents/agent:late/resume'))
    expect(await post('/v1/agents/agent:late/suspend', suspend, {})).toMatchObject({
      status: 200,
      body: { suspended: null },
    })
  })

  it('shows an agent that is gone since as one that is not registered', async () => {
    const name = freshKey()
    const body = { id: 'agent:gone', name: 'Gone', metadata: { team: 'a' } }
    await succeed(post('/v1/agents', name, body))
    await succeed(server.call('DELETE', '/v1/agents/agent:gone'))
    expect(await post('/v1/agents', name, body)).toMatchObject({
      status: 201,
      body: { id: 'agent:gone', name: null, metadata: {}, registered: false },
    })
  })

  it('holds over a restart', async () => {
    const first = await runServer()
    const send = (to: RunningServer) =>
      to.call('POST', '/v1/decisions', {
        body: DENIED,
        headers: { 'Idempotency-Key': 'over a restart'.replaceAll(' ', '-') },
      })
    const asked = await send(first)
    const second = await first.restart()
    try {
      const again = await send(second)
      expect(again.body).toEqual(asked.body)
      expect(isReplayed(again)).toBe(true)
    } finally {
      await second.stop()
    }
  })
})

describe('a secret', () => {
  it('is in the first answer only', async () => {
    const [make, rotate] = [freshKey(), freshKey()]
    const body = { name: 'secret', scopes: ['keys:read'] }
    const made = await post('/v1/keys', make, body)
    expect(made.body.key).toMatch(/^cs_sk_/)
    const again = await post('/v1/keys', make, body)
    expect(again).toMatchObject({ status: 201, body: { id: made.body.id } })
    expect(again.body).not.toHaveProperty('key')
    const rotated = await post(`/v1/keys/${made.body.id}/rotate`, rotate, { grace_seconds: 60 })
    expect(rotated.body.key).toMatch(/^cs_sk_/)
    const rotatedAgain = await post(`/v1/keys/${made.body.id}/rotate`, rotate, { grace_seconds: 60 })
    expect(rotatedAgain.body).not.toHaveProperty('key')
    expect((await server.call('GET', '/v1/keys/self', { key: rotated.body.key })).status).toBe(200)
  })

  it('of a webhook is in the first answer only', async () => {
    const [make, rotate] = [freshKey(), freshKey()]
    const body = { url: 'https://receiver.invalid/hook', events: ['webhook.disabled'] }
    const made = await post('/v1/webhooks', make, body)
    expect(made.body.secret).toMatch(/^whsec_/)
    const again = await post('/v1/webhooks', make, body)
    expect(again).toMatchObject({ status: 201, body: { id: made.body.id } })
    expect(again.body).not.toHaveProperty('secret')
    const path = `/v1/webhooks/${made.body.id}/rotate-secret`
    const rotated = await post(path, rotate, {})
    expect(rotated.body.secret).toMatch(/^whsec_/)
    expect(rotated.body.secret).not.toBe(made.body.secret)
    const rotatedAgain = await post(path, rotate, {})
    expect(rotatedAgain).toMatchObject({ status: 200, body: { id: made.body.id } })
    expect(rotatedAgain.body).not.toHaveProperty('secret')
  })
})

describe('422', () => {
  it('is told of another body, and nothing changes', async () => {
    const name = freshKey()
    const first = await ask(name, ALLOWED)
    const before = await stored(server)
    for (const other of [DENIED, { ...ALLOWED, resource: 'order:1' }, { ...ALLOWED, context: { amount: 42.5 } }])
      expect(await ask(name, other)).toMatchObject({
        status: 422,
        body: { code: 'idempotency_key_reused', title: 'The idempotency key was used with a different body.' },
      })
    expect(await stored(server)).toEqual(before)
    expect((await ask(name, ALLOWED)).body).toEqual(first.body)
  })

  it('compares bodies as the JSON that they are', async () => {
    const name = freshKey()
    const first = await ask(
      name,
      '{"agent_id":"agent:support-7","action":"payment.refund","context":{"amount":1,"a":"é","z":0}}',
    )
    const same = [
      '{"context":{"z":0,"a":"\\u00e9","amount":1.0},"action":"payment.refund","agent_id":"agent:support-7"}',
      ' { "agent_id" : "agent:support-7" , "action" : "payment.refund" , "context" : {"amount":1e0,"z":-0,"a":"é"} } ',
      '{"agent_id":"agent:support-7","action":"payment.refund","resource":null,"context":{"amount":10e-1,"a":"é","z":0.0}}',
    ]
    for (const body of same)
      expect(await ask(name, body), body).toMatchObject({ status: 200, body: { id: first.body.id } })
    const other = [
      '{"agent_id":"agent:support-7","action":"payment.refund","context":{"amount":"1","a":"é","z":0}}',
      '{"agent_id":"agent:support-7","action":"payment.refund","context":{"amount":1,"a":"e\\u0301","z":0}}',
      '{"agent_id":"agent:support-7","action":"payment.refund","context":{"amount":1,"a":"é","z":null}}',
      '{"agent_id":"agent:support-7","action":"payment.refund","context":{"amount":1,"a":"é"}}',
    ]
    for (const body of other) expect((await ask(name, body)).status, body).toBe(422)
  })

  it('compares the bodies of other routes in the same way', async () => {
    const name = freshKey()
    const rule = '{"action":"mail.send","effect":"allow"}'
    const first = await post('/v1/policies', name, `{"name":"as json","priority":1,"rules":[${rule}]}`)
    const same = `{"rules":[{"effect":"allow","action":"mail.send"}],"priority":1.0,"name":"as json"}`
    expect(await post('/v1/policies', name, same)).toMatchObject({ status: 201, body: { id: first.body.id } })
    expect((await post('/v1/policies', name, `{"name":"as json","rules":[${rule}]}`)).status).toBe(422)
    const empty = freshKey()
    await succeed(post('/v1/agents/agent:empty/suspend', empty, undefined))
    expect(isReplayed(await post('/v1/agents/agent:empty/suspend', empty, {}))).toBe(true)
    expect((await post('/v1/agents/agent:empty/suspend', empty, { reason: 'x' })).status).toBe(422)
  })
})

describe('a name', () => {
  it('belongs to one API key, one method and one path', async () => {
    const name = freshKey()
    const { key } = await makeKey(server, ['decisions:write'])
    const mine = await ask(name, ALLOWED)
    const theirs = await ask(name, ALLOWED, key)
    expect(isReplayed(theirs)).toBe(false)
    expect(theirs.body.id).not.toBe(mine.body.id)
    expect((await ask(name, DENIED, key)).status).toBe(422)
    expect(isReplayed(await post('/v1/agents/agent:p1/suspend', name, {}))).toBe(false)
    expect(isReplayed(await post('/v1/agents/agent:p2/suspend', name, {}))).toBe(false)
    expect(isReplayed(await post('/v1/agents/agent:p1/resume', name, {}))).toBe(false)
    expect(isReplayed(await post('/v1/agents/agent:p1/suspend', name, {}))).toBe(true)
  })

  it('stays with a key that is rotated', async () => {
    const name = freshKey()
    const { id, key } = await makeKey(server, ['decisions:write'])
    const first = await ask(name, ALLOWED, key)
    const rotated = await succeed(server.call('POST', `/v1/keys/${id}/rotate`))
    expect(await ask(name, ALLOWED, rotated.key)).toMatchObject({ status: 200, body: { id: first.body.id } })
  })

  it('has 1 to 255 visible characters', async () => {
    for (const name of ['!', '~'.repeat(255), '"quoted"', 'a/b?c=d&e']) {
      const first = await ask(name, ALLOWED)
      expect(await ask(name, ALLOWED)).toMatchObject({ status: 200, body: { id: first.body.id } })
    }
  })

  it('counts nothing on the routes that change nothing', async () => {
    const name = freshKey()
    const before = await stored(server)
    const simulate = (request: object) => post('/v1/simulate', name, { request })
    expect(isReplayed(await simulate(ALLOWED))).toBe(false)
    expect(await simulate(DENIED)).toMatchObject({ status: 200, body: { effect: 'deny' } })
    expect(await stored(server)).toEqual(before)
  })
})

describe('only an answer of 2xx is kept', () => {
  it('after 400, 403, 409 and 404 the call is made again', async () => {
    const name = freshKey()
    expect((await ask(name, { agent_id: 'agent:x' })).status).toBe(400)
    const { key } = await makeKey(server, ['decisions:write'], { agents: ['agent:support-7'] })
    expect((await ask(name, { agent_id: 'agent:x', action: 'a.b' }, key)).status).toBe(403)
    expect(isReplayed(await ask(name, ALLOWED))).toBe(false)
    expect(isReplayed(await ask(name, ALLOWED, key))).toBe(false)

    const document = allowing('kept.not')
    const taken = await createPolicy(server, document)
    expect((await post('/v1/policies', name, document)).status).toBe(409)
    await succeed(server.call('DELETE', `/v1/policies/${taken.id}`))
    const made = await post('/v1/policies', name, document)
    expect(made.status).toBe(201)
    expect(isReplayed(made)).toBe(false)

    expect((await post('/v1/keys/key_01kagx3v5ne8sr6w1y6gqk4t2h/rotate', name, {})).status).toBe(404)
    expect((await counts()).idempotency).toBeGreaterThan(0)
  })

  it('a deny is one', async () => {
    const name = freshKey()
    const first = await ask(name, DENIED)
    const again = await ask(name, DENIED)
    expect(isReplayed(again)).toBe(true)
    expect(again.body).toEqual(first.body)
  })
})

describe('after 24 hours', () => {
  it('a name is new, at the very moment', async () => {
    const old = await runServer()
    try {
      await createPolicy(old, REFUNDS)
      const send = (path: string, body: object) =>
        old.call('POST', path, { body, headers: { 'Idempotency-Key': 'day' } })
      const [first, policy] = [await send('/v1/decisions', ALLOWED), await send('/v1/policies', allowing('a.b'))]
      old.clock.advance(24 * HOUR_MS - 1)
      expect(await send('/v1/decisions', ALLOWED)).toMatchObject({
        status: 200,
        body: { id: first.body.id, status: 'expired' },
      })
      expect((await send('/v1/policies', allowing('a.c'))).status).toBe(422)
      old.clock.advance(1)
      const again = await send('/v1/decisions', ALLOWED)
      expect(isReplayed(again)).toBe(false)
      expect(again.body.id).not.toBe(first.body.id)
      const other = await send('/v1/policies', allowing('a.c'))
      expect(other.status).toBe(201)
      expect(other.body.id).not.toBe(policy.body.id)
      expect(isReplayed(await send('/v1/decisions', ALLOWED))).toBe(true)
    } finally {
      await old.stop()
    }
  })

  it('a name is kept for a review that is still open', async () => {
    const slow = await runServer({ settings: { reviewTtlSeconds: 3 * 86_400 } })
    try {
      await createPolicy(slow, REFUNDS)
      const send = (body: object) =>
        slow.call('POST', '/v1/decisions', { body, headers: { 'Idempotency-Key': 'open' } })
      const first = await send(REVIEWED)
      slow.clock.advance(72 * HOUR_MS - 1)
      expect(await send(REVIEWED)).toMatchObject({
        status: 200,
        body: { id: first.body.id, status: 'awaiting_review' },
      })
      expect((await send(ALLOWED)).status).toBe(422)
      slow.clock.advance(1)
      expect((await send(REVIEWED)).body.id).not.toBe(first.body.id)
    } finally {
      await slow.stop()
    }
  })
})

describe('holders', () => {
  it('has one for a decision that was authorized at once: the holder of the first call', async () => {
    const name = freshKey()
    const first = await ask(name, { ...ALLOWED, holder: 'run-77' })
    expect(await ask(name, { ...ALLOWED, holder: 'run-77' })).toMatchObject({ status: 200, body: first.body })
    const before = await stored(server)
    for (const holder of [{ holder: 'run-78' }, { holder: null }, {}]) {
      const refused = await ask(name, { ...ALLOWED, ...holder })
      expect(refused).toMatchObject({ status: 409, body: { code: 'already_claimed' } })
      expect(JSON.stringify(refused.body)).not.toContain(first.body.permit_token)
    }
    expect(await stored(server)).toEqual(before)
  })

  it('has an absent holder as one of its own', async () => {
    const name = freshKey()
    const first = await ask(name, ALLOWED)
    expect(await ask(name, { ...ALLOWED, holder: null })).toMatchObject({ status: 200, body: { id: first.body.id } })
    expect(await ask(name, { ...ALLOWED, holder: 'run-77' })).toMatchObject({
      status: 409,
      body: { code: 'already_claimed' },
    })
  })

  it('tells other holders so also when the decision is over', async () => {
    const name = freshKey()
    await ask(name, { ...ALLOWED, holder: 'one' })
    server.clock.advance(300_000)
    expect(await ask(name, { ...ALLOWED, holder: 'one' })).toMatchObject({ status: 200, body: { status: 'expired' } })
    expect((await ask(name, { ...ALLOWED, holder: 'two' })).body.code).toBe('already_claimed')
  })

  it('has none for a deny or a review, which anyone may ask for again', async () => {
    for (const request of [DENIED, REVIEWED]) {
      const name = freshKey()
      const first = await ask(name, { ...request, holder: 'one' })
      for (const holder of ['one', 'two', null])
        expect(await ask(name, { ...request, holder })).toMatchObject({ status: 200, body: { id: first.body.id } })
    }
  })

  it('lets one of fifty holders that ask at once have it', async () => {
    const name = freshKey()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => ask(name, { ...ALLOWED, holder: `run-${i}` })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.code === 'already_claimed')).toHaveLength(49)
  })
})

describe('the permit of a replay', () => {
  it('is there while the decision is authorized, and the same', async () => {
    const name = freshKey()
    const first = await ask(name, ALLOWED)
    server.clock.advance(299_999)
    expect((await ask(name, ALLOWED)).body.permit_token).toBe(first.body.permit_token)
    server.clock.advance(1)
    const over = await ask(name, ALLOWED)
    expect(over.body).toMatchObject({ status: 'expired', effect: 'allow' })
    expect(over.body).not.toHaveProperty('permit_token')
  })

  it('is gone while the agent is suspended', async () => {
    const name = freshKey()
    const first = await ask(name, { ...ALLOWED, agent_id: 'agent:support-9' })
    await succeed(server.call('POST', '/v1/agents/agent:support-9/suspend'))
    const suspended = await ask(name, { ...ALLOWED, agent_id: 'agent:support-9' })
    expect(suspended.body).toMatchObject({ id: first.body.id, status: 'authorized' })
    expect(suspended.body).not.toHaveProperty('permit_token')
    expect((await server.call('GET', `/v1/decisions/${first.body.id}`)).body).not.toHaveProperty('permit_token')
    await succeed(server.call('POST', '/v1/agents/agent:support-9/resume'))
    expect((await ask(name, { ...ALLOWED, agent_id: 'agent:support-9' })).body).toEqual(first.body)
  })

  it('is not in the replay of a redemption', async () => {
    const name = freshKey()
    const { permit_token } = await decide(server, ALLOWED)
    const first = await post('/v1/permits/redeem', name, { permit_token })
    expect(first.body).not.toHaveProperty('permit_token')
    const again = await post('/v1/permits/redeem', name, { permit_token })
    expect(isReplayed(again)).toBe(true)
    expect(again.body).toEqual(first.body)
    server.clock.advance(300_000)
    expect(await post('/v1/permits/redeem', name, { permit_token })).toMatchObject({
      status: 200,
      body: { id: first.body.id, status: 'expired' },
    })
  })
})

it('holds no money and no review slot while a repeated call is found to be one', async () => {
  const taken = { reservations: 0 }
  const shown = await runServer({
    settings: { rateLimitPerSecond: 0, maxOpenReviews: 1 },
    parts: {
      openStore: (dataDir) =>
        openStoreWith(dataDir, (store) => ({
          ledger: new Proxy(store.ledger, {
            get(ledger, name) {
              if (name === 'reserve') taken.reservations += 1
              const method: unknown = Reflect.get(ledger, name)
              return typeof method === 'function' ? method.bind(ledger) : method
            },
          }),
        })),
    },
  })
  try {
    await createPolicy(shown, REFUNDS)
    const budgeted = { limit: 1000, unit: 'EUR', period: 'monthly', currency: 'context.currency' }
    await createPolicy(shown, { ...allowing('payment.send'), budget: budgeted })
    const headers = { 'Idempotency-Key': 'once' }
    const money = { ...ALLOWED, action: 'payment.send' }
    const first = await shown.call('POST', '/v1/decisions', { body: money, headers })
    expect(first.body.budgets).toHaveLength(1)
    expect(taken.reservations).toBe(1)
    for (let repeats = 0; repeats < 3; repeats += 1)
      expect((await shown.call('POST', '/v1/decisions', { body: money, headers })).body).toEqual(first.body)
    expect(taken.reservations).toBe(1)

    const slot = { 'Idempotency-Key': 'slot' }
    const waiting = await shown.call('POST', '/v1/decisions', { body: REVIEWED, headers: slot })
    expect(waiting.body.effect).toBe('review')
    expect((await shown.call('POST', '/v1/decisions', { body: REVIEWED, headers: slot })).body).toEqual(waiting.body)
  } finally {
    await shown.stop()
  }
})

it('gives a stored decision again while the store can read and cannot write', async () => {
  let isFull = false
  const full = await runServer({
    settings: { rateLimitPerSecond: 0 },
    parts: {
      openStore: (dataDir) =>
        openStoreWith(dataDir, (store) => ({
          commit: (mutations) =>
            isFull ? Promise.reject(new StoreUnavailableError('The disk is full.')) : store.commit(mutations),
        })),
    },
  })
  try {
    await createPolicy(full, REFUNDS)
    const ask = (key: string) =>
      full.call('POST', '/v1/decisions', { body: ALLOWED, headers: { 'Idempotency-Key': key } })
    const first = await ask('before')
    isFull = true
    const again = await ask('before')
    expect(again).toMatchObject({ status: 200, body: first.body })
    expect(isReplayed(again)).toBe(true)
    expect((await ask('new')).status).toBe(503)
  } finally {
    await full.stop()
  }
})

it('finds a hundred repeated calls in a few writes', async () => {
  let commits = 0
  const counted = await runServer({
    settings: { rateLimitPerSecond: 0 },
    parts: {
      openStore: (dataDir) =>
        openStoreWith(dataDir, (store) => ({
          commit: (mutations) => {
            commits += 1
            return store.commit(mutations)
          },
        })),
    },
  })
  try {
    await createPolicy(counted, REFUNDS)
    const askAll = () =>
      Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          counted.call('POST', '/v1/decisions', { body: ALLOWED, headers: { 'Idempotency-Key': `call-${i}` } }),
        ),
      )
    const before = await askAll()
    const after = commits
    const again = await askAll()
    expect(again.map(({ body }) => body)).toEqual(before.map(({ body }) => body))
    // One at most for each group, as when they were new; each repeated call alone would be 100.
    expect(commits - after).toBeLessThan(90)
  } finally {
    await counted.stop()
  }
})
