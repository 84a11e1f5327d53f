/** What a caller sees of /v1/agents, by status, and what suspending an agent does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { ALLOWED, allowing, createPolicy, decide, everyItem, makeKey, REFUNDS, succeed } from './refunds.js'
import { stored } from './stored.js'

let server: RunningServer
let self: string
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  self = (await succeed(server.call('GET', '/v1/keys/self'))).id
  await createPolicy(server, REFUNDS)
})
afterAll(() => server.stop())

const now = () => server.clock.now().toISOString()
const pathOf = (id: string) => `/v1/agents/${encodeURIComponent(id)}`
const get = (id: string) => succeed(server.call('GET', pathOf(id)))
const register = (body: object) => server.call('POST', '/v1/agents', { body })
const suspend = (id: string, body?: object) => server.call('POST', `${pathOf(id)}/suspend`, { body })
const resume = (id: string) => server.call('POST', `${pathOf(id)}/resume`)
const auditOf = async (id: string) =>
  (await everyItem(server, `/v1/audit?agent_id=${encodeURIComponent(id)}`)).filter(({ type }) =>
    type.startsWith('agent.'),
  )

const UNKNOWN = {
  name: null,
  description: null,
  metadata: {},
  registered: false,
  suspended: null,
  first_seen: null,
  last_seen: null,
  created_at: null,
}

describe('POST /v1/agents 201', () => {
  it('registers an agent', async () => {
    const body = {
      id: 'agent:new',
      name: 'New',
      description: 'A new one.',
      metadata: { team: 'a', limits: { day: 3 }, tags: ['x', null] },
    }
    const answer = await register(body)
    expect(answer).toMatchObject({ status: 201 })
    expect(answer.body).toEqual({ ...UNKNOWN, ...body, registered: true, created_at: now() })
    expect(await get('agent:new')).toEqual(answer.body)
    expect(await auditOf('agent:new')).toMatchObject([
      { type: 'agent.created', actor: self, subject: 'agent:new', agent_id: 'agent:new' },
    ])
    expect(JSON.stringify(await auditOf('agent:new'))).not.toContain('team')
  })

  it('registers one that was seen or suspended before, and keeps that', async () => {
    await decide(server, { agent_id: 'agent:met', action: 'a.b' })
    await succeed(suspend('agent:met', { reason: 'odd' }))
    expect((await register({ id: 'agent:met' })).body).toMatchObject({
      registered: true,
      first_seen: now(),
      suspended: { by: self, reason: 'odd' },
    })
  })
})

describe('POST /v1/agents 400', () => {
  it.each<[what: string, change: object, pointers: string[]]>([
    ['an id that can be none', { id: 'a b' }, ['/id']],
    ['an id that is too long', { id: 'a'.repeat(257) }, ['/id']],
    ['no id', { id: undefined }, ['/id']],
    [
      'metadata with keys that no path can name',
      { metadata: { 'a.b': 1, $x: 1, ok: { '': 1 } } },
      ['/metadata/$x', '/metadata/a.b', '/metadata/ok/'],
    ],
    ['metadata that is no object', { metadata: [] }, ['/metadata']],
    ['what only the server says', { registered: true, suspended: null }, ['/registered', '/suspended']],
  ])('refuses %s', async (_, change, pointers) => {
    const before = await stored(server)
    const answer = await register({ id: 'agent:faulty', ...change })
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers)
    expect(await stored(server)).toEqual(before)
  })

  it('takes an id of 256 characters', async () => {
    const id = `a${'/+.:@_-'.repeat(36)}bcd`.slice(0, 256)
    expect(id).toHaveLength(256)
    expect((await register({ id })).status).toBe(201)
    expect((await get(id)).id).toBe(id)
  })
})

describe('POST /v1/agents 409 agent_exists', () => {
  it('is told of a registered agent', async () => {
    await succeed(register({ id: 'agent:twice' }))
    const before = await stored(server)
    expect(await register({ id: 'agent:twice', name: 'again' })).toMatchObject({
      status: 409,
      body: { code: 'agent_exists' },
    })
    expect(await stored(server)).toEqual(before)
    const answers = await Promise.all(Array.from({ length: 10 }, () => register({ id: 'agent:race' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)])
  })
})

describe('GET /v1/agents 200', () => {
  it('shows an agent that was only seen, and when', async () => {
    const asked = { agent_id: 'agent:once', action: 'a.b' }
    const first = now()
    await decide(server, asked)
    expect(await get('agent:once')).toEqual({ ...UNKNOWN, id: 'agent:once', first_seen: first, last_seen: first })
    server.clock.advance(5000)
    await decide(server, asked)
    expect(await get('agent:once')).toEqual({ ...UNKNOWN, id: 'agent:once', first_seen: first, last_seen: now() })
    expect((await everyItem(server, '/v1/agents')).filter(({ id }) => id === 'agent:once')).toEqual([
      await get('agent:once'),
    ])
    expect(await auditOf('agent:once')).toEqual([])
  })

  it('finds ids with every character that an id may have', async () => {
    for (const id of ['team/support+7@eu', 'a/b/c', 'a+b', 'A.b_c:d@e/f+g-h', 'a//b', 'x/suspend', 'a.', 'a/..']) {
      await succeed(register({ id }))
      expect((await get(id)).id).toBe(id)
      await succeed(server.call('PUT', pathOf(id), { body: { name: 'named' } }))
      await succeed(suspend(id))
      expect(await decide(server, { agent_id: id, action: 'a.b' })).toMatchObject({ reason_code: 'agent_suspended' })
      await succeed(resume(id))
      expect(await get(id)).toMatchObject({ id, name: 'named', suspended: null })
      expect((await server.call('DELETE', pathOf(id))).status, id).toBe(204)
    }
  })

  it('takes a plus in a path as a plus', async () => {
    await succeed(register({ id: 'plus+one' }))
    expect((await server.call('GET', '/v1/agents/plus+one')).body).toMatchObject({ id: 'plus+one' })
    expect((await server.call('GET', '/v1/agents/plus%20one')).status).toBe(404)
  })

  it('does not show one that was registered and deleted before it ever asked', async () => {
    await succeed(register({ id: 'agent:brief' }))
    await succeed(server.call('DELETE', '/v1/agents/agent:brief'))
    expect((await server.call('GET', '/v1/agents/agent:brief')).status).toBe(404)
    expect((await everyItem(server, '/v1/agents')).filter(({ id }) => id === 'agent:brief')).toEqual([])
  })
})

describe('PUT /v1/agents/{id} 200', () => {
  it('replaces the whole registration, for the very next request', async () => {
    await createPolicy(server, {
      name: 'levels',
      rules: [
        {
          action: 'level.up',
          effect: 'allow',
          conditions: { 'agent.level': { $gte: 3 }, 'agent.team.name': { $in: ['a', 'b'] } },
        },
      ],
    })
    const asked = { agent_id: 'agent:level', action: 'level.up' }
    const put = (body: object) => succeed(server.call('PUT', '/v1/agents/agent:level', { body }))
    await succeed(register({ id: 'agent:level', name: 'Level', metadata: { level: 3, team: { name: 'b' } } }))
    const created = now()
    expect((await decide(server, asked)).effect).toBe('allow')
    server.clock.advance(1000)
    expect(await put({ metadata: { level: 2, team: { name: 'b' } } })).toMatchObject({
      name: null,
      metadata: { level: 2, team: { name: 'b' } },
      created_at: created,
      registered: true,
    })
    expect((await decide(server, asked)).effect).toBe('deny')
    await put({ metadata: { level: 4, team: { name: 'c' } } })
    expect((await decide(server, asked)).effect).toBe('deny')
    await put({ metadata: { level: '4', team: { name: 'a' } } })
    expect((await decide(server, asked)).effect).toBe('deny')
    await put({ metadata: { level: 4, team: { name: 'a' } } })
    expect((await decide(server, asked)).effect).toBe('allow')
    expect((await auditOf('agent:level')).map(({ type }) => type)).toEqual([
      ...Array(4).fill('agent.updated'),
      'agent.created',
    ])
  })

  it('cannot lift or set a suspension', async () => {
    await succeed(register({ id: 'agent:kept' }))
    await succeed(suspend('agent:kept'))
    expect(await succeed(server.call('PUT', '/v1/agents/agent:kept', { body: {} }))).toMatchObject({
      suspended: { by: self },
    })
    const refused = await server.call('PUT', '/v1/agents/agent:kept', { body: { suspended: null } })
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ pointer: '/suspended' }] } })
  })
})

describe('404', () => {
  it('is told of agents that are not registered, by PUT and DELETE', async () => {
    await decide(server, { agent_id: 'agent:only-seen', action: 'a.b' })
    const before = await stored(server)
    for (const id of ['agent:only-seen', 'agent:never'])
      for (const [method, body] of [['PUT', {}], ['DELETE']] as const)
        expect(await server.call(method, `/v1/agents/${id}`, { body })).toMatchObject({
          status: 404,
          body: { code: 'not_found' },
        })
    expect(await stored(server)).toEqual(before)
    expect((await server.call('GET', '/v1/agents/agent:never')).status).toBe(404)
  })
})

describe('DELETE /v1/agents/{id}', () => {
  it('204: ends the registration and its metadata; the agent stays seen', async () => {
    await createPolicy(server, {
      name: 'registered only',
      rules: [{ action: 'registered.only', effect: 'allow', conditions: { 'agent.ok': { $eq: true } } }],
    })
    const asked = { agent_id: 'agent:left', action: 'registered.only' }
    await succeed(register({ id: 'agent:left', metadata: { ok: true } }))
    expect((await decide(server, asked)).effect).toBe('allow')
    expect(await server.call('DELETE', '/v1/agents/agent:left')).toMatchObject({ status: 204, body: undefined })
    expect(await get('agent:left')).toEqual({ ...UNKNOWN, id: 'agent:left', first_seen: now(), last_seen: now() })
    expect((await decide(server, asked)).effect).toBe('deny')
    expect((await register({ id: 'agent:left' })).status).toBe(201)
    expect((await decide(server, asked)).effect).toBe('deny')
    expect((await auditOf('agent:left')).map(({ type }) => type)).toEqual([
      'agent.created',
      'agent.deleted',
      'agent.created',
    ])
  })

  it('409 agent_suspended: a suspended one keeps its registration', async () => {
    await succeed(register({ id: 'agent:held', metadata: { ok: true } }))
    await succeed(suspend('agent:held'))
    const before = await stored(server)
    expect(await server.call('DELETE', '/v1/agents/agent:held')).toMatchObject({
      status: 409,
      body: { code: 'agent_suspended' },
    })
    expect(await stored(server)).toEqual(before)
    await succeed(resume('agent:held'))
    expect((await server.call('DELETE', '/v1/agents/agent:held')).status).toBe(204)
  })
})

describe('suspending', () => {
  it.each(['registered', 'seen', 'unseen'])('stops an agent that is %s, from the answer on', async (kind) => {
    const id = `agent:support-stop-${kind}`
    if (kind === 'registered') await succeed(register({ id }))
    if (kind === 'seen') await decide(server, { ...ALLOWED, agent_id: id })
    await createPolicy(server, { ...allowing('payment.refund'), priority: 100 })
    const answer = await suspend(id, { reason: 'odd refunds' })
    expect(answer).toMatchObject({
      status: 200,
      body: { id, registered: kind === 'registered', suspended: { at: now(), by: self, reason: 'odd refunds' } },
    })
    expect(await decide(server, { ...ALLOWED, agent_id: id })).toMatchObject({
      effect: 'deny',
      status: 'denied',
      reason: 'The agent is suspended.',
      reason_code: 'agent_suspended',
      policy_id: 'pol_default',
      policy_revision: null,
      rule: null,
      shadow: [],
      advice: { retry: 'never' },
    })
    expect(await auditOf(id)).toMatchObject(
      [{ type: 'agent.suspended', actor: self, data: { reason: 'odd refunds' } }].concat(
        kind === 'registered' ? ([{}] as never) : [],
      ),
    )
    expect((await resume(id)).body).toMatchObject({ id, suspended: null })
    expect((await decide(server, { ...ALLOWED, agent_id: id })).effect).toBe('allow')
  })

  it('asks no shadow policy', async () => {
    await createPolicy(server, { name: 'shadow of all', mode: 'shadow', rules: [{ action: '*', effect: 'allow' }] })
    await succeed(suspend('agent:shadowed'))
    expect(await decide(server, { agent_id: 'agent:shadowed', action: 'a.b' })).toMatchObject({
      shadow: [],
      reason_code: 'agent_suspended',
    })
  })

  it('keeps who suspended it first, and why', async () => {
    await succeed(suspend('agent:first', { reason: 'the first' }))
    const first = await get('agent:first')
    server.clock.advance(1000)
    const { key } = await makeKey(server, ['agents:write'])
    await succeed(server.call('POST', '/v1/agents/agent:first/suspend', { key, body: { reason: 'the second' } }))
    expect(await get('agent:first')).toEqual(first)
  })

  it('takes a permit away and gives it back', async () => {
    const decision = await decide(server, { ...ALLOWED, agent_id: 'agent:support-back' })
    const read = async () => (await succeed(server.call('GET', `/v1/decisions/${decision.id}`))).permit_token
    expect(await read()).toBe(decision.permit_token)
    await succeed(suspend('agent:support-back'))
    expect(await read()).toBeUndefined()
    await succeed(resume('agent:support-back'))
    expect(await read()).toBe(decision.permit_token)
  })

  it('holds over a restart', async () => {
    const first = await runServer()
    await createPolicy(first, allowing('*'))
    await succeed(first.call('POST', '/v1/agents/agent:x/suspend'))
    const second = await first.restart()
    try {
      expect(await decide(second, { agent_id: 'agent:x', action: 'a.b' })).toMatchObject({
        reason_code: 'agent_suspended',
      })
    } finally {
      await second.stop()
    }
  })

  it('lets no decision through beside it: of 50 asked while it is suspended, those after the answer are denied', async () => {
    const asked = { ...ALLOWED, agent_id: 'agent:support-beside' }
    const beside = Array.from({ length: 25 }, () => decide(server, asked))
    await succeed(suspend('agent:support-beside'))
    const after = await Promise.all(Array.from({ length: 25 }, () => decide(server, asked)))
    expect(new Set(after.map(({ effect }) => effect))).toEqual(new Set(['deny']))
    for (const decision of await Promise.all(beside)) expect(['allow', 'deny']).toContain(decision.effect)
  })
})
