/** What a caller sees of /v1/policies and /v1/simulate, by status. */
import { jsonHash } from '@countersign/audit-log'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FROZEN, type RunningServer, runServer } from '../running-server.js'
import {
  ALLOWED,
  allowing,
  createPolicy,
  DENIED,
  decide,
  everyItem,
  makeKey,
  REFUNDS,
  REVIEWED,
  succeed,
} from './refunds.js'
import { stored } from './stored.js'

let server: RunningServer
let self: string
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  self = (await succeed(server.call('GET', '/v1/keys/self'))).id
})
afterAll(() => server.stop())

const T0 = FROZEN.toISOString()
/** What is odd about the refund desk: a refund of -5000 is at most 100, and at most 1000. */
const UNBOUNDED = [0, 1].map((rule) => ({
  code: 'unbounded_below',
  pointer: `/rules/${rule}/conditions/context.amount/$lte`,
  message: 'Nothing keeps context.amount from being negative: a negative amount passes; add "$gt": 0.',
}))
const BUDGET = { limit: 5000, unit: 'EUR', period: 'monthly' }
const auditOf = async (id: string) => (await everyItem(server, '/v1/audit')).filter(({ subject }) => subject === id)
const put = (id: string, body: object, ifMatch?: string) =>
  server.call('PUT', `/v1/policies/${id}`, { body, ...(ifMatch !== undefined && { headers: { 'If-Match': ifMatch } }) })
const remove = (id: string, ifMatch: string) =>
  server.call('DELETE', `/v1/policies/${id}`, { headers: { 'If-Match': ifMatch } })
const effectOf = async (request: object) => (await decide(server, request)).effect

describe('POST /v1/policies 201', () => {
  it('answers the document with its defaults and what the server adds', async () => {
    const answer = await server.call('POST', '/v1/policies', { body: REFUNDS })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('etag')).toBe('"1"')
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^pol_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
      name: 'refunds',
      priority: 0,
      enabled: true,
      mode: 'enforce',
      agents: ['agent:support-*'],
      rules: REFUNDS.rules,
      revision: 1,
      created_at: T0,
      updated_at: T0,
      created_by: self,
      warnings: UNBOUNDED,
    })
    expect(await auditOf(answer.body.id)).toEqual([
      {
        id: expect.any(String),
        log: expect.any(String),
        index: expect.any(Number),
        at: T0,
        type: 'policy.created',
        actor: self,
        subject: answer.body.id,
        agent_id: null,
        data: { name: 'refunds', revision: 1, policy_set: 1, written_at: T0, document_hash: jsonHash(REFUNDS) },
        trace_id: null,
        leaf: expect.any(String),
      },
    ])
    await succeed(server.call('DELETE', `/v1/policies/${answer.body.id}`))
  })

  it('keeps every member as it was sent', async () => {
    const document = {
      name: 'every member',
      description: '',
      priority: -3,
      enabled: false,
      mode: 'shadow',
      agents: ['*', 'a*b'],
      rules: [
        {
          action: '*.read',
          resource: 'file:*',
          effect: 'review',
          reason: '',
          on_unknown: 'skip',
          conditions: {
            $or: [{ 'context.a': { $in: [1, 'x', true] } }, { $not: { 'now.hour': { $lt: 8 } } }],
            resource: { $like: 'file:/etc/*' },
          },
        },
      ],
    }
    const made = await createPolicy(server, document)
    expect(made).toMatchObject(document)
    expect(await succeed(server.call('GET', `/v1/policies/${made.id}`))).toEqual(made)
  })

  it('counts for the very next request, and raises the policy set', async () => {
    const request = { agent_id: 'agent:a', action: 'next.request' }
    const before = await decide(server, request)
    expect(before.effect).toBe('deny')
    await createPolicy(server, allowing('next.request'))
    expect(await decide(server, request)).toMatchObject({ effect: 'allow', policy_set: before.policy_set + 1 })
  })

  it('ignores what the server adds, of any type, so that an answer can be sent again', async () => {
    const { name, ...made } = await createPolicy(server, allowing('sent.again'))
    const again = await createPolicy(server, { ...made, name: `${name} again` })
    expect(again).toMatchObject({ name: `${name} again`, revision: 1, warnings: [] })
    expect(again.id).not.toBe(made.id)
    const odd = { id: 7, revision: 'x', created_at: null, updated_at: [], created_by: {}, warnings: 'none' }
    expect(await createPolicy(server, { ...allowing('sent.odd'), ...odd })).toMatchObject({
      revision: 1,
      created_by: self,
    })
  })

  it('warns of what is valid and likely not meant', async () => {
    const document = {
      name: 'odd',
      rules: [
        { action: 'odd.*', effect: 'allow' },
        { action: 'odd.send', effect: 'deny' },
      ],
    }
    const made = await createPolicy(server, document)
    expect(made.warnings).toEqual([
      { code: expect.stringMatching(/^[a-z_]+$/), pointer: '/rules/1', message: expect.any(String) },
    ])
    expect((await succeed(server.call('POST', '/v1/policies/validate', { body: document }))).warnings).toEqual(
      made.warnings,
    )
  })
})

describe('POST /v1/policies 400', () => {
  it.each<[what: string, change: object, pointers: string[]]>([
    [
      'a faulty budget at its own places',
      { budget: { ...BUDGET, limit: -1, odd: 1 } },
      ['/budget/limit', '/budget/odd'],
    ],
    ['an unknown member', { rule: [] }, ['/rule']],
    [
      'null for an optional member',
      { agents: null, description: null, priority: null },
      ['/agents', '/description', '/priority'],
    ],
    ['no rules', { rules: [] }, ['/rules']],
    ['an empty rule', { rules: [{}] }, ['/rules/0/action', '/rules/0/effect']],
    ['an unknown effect', { rules: [{ action: 'a.b', effect: 'permit' }] }, ['/rules/0/effect']],
    [
      'an unknown operator',
      { rules: [{ action: 'a.b', effect: 'deny', conditions: { 'context.a': { $gte: 1, $regex: '.' } } }] },
      ['/rules/0/conditions/context.a/$regex'],
    ],
    [
      'an unknown root of a path',
      { rules: [{ action: 'a.b', effect: 'deny', conditions: { 'ctx.a': { $eq: 1 } } }] },
      ['/rules/0/conditions/ctx.a'],
    ],
    ['empty conditions', { rules: [{ action: 'a.b', effect: 'deny', conditions: {} }] }, ['/rules/0/conditions']],
    [
      'on_unknown where it has no meaning',
      { rules: [{ action: 'a.b', effect: 'allow', on_unknown: 'skip' }] },
      ['/rules/0/on_unknown'],
    ],
    ['a blank name', { name: ' \t' }, ['/name']],
    ['an empty list of agents', { agents: [] }, ['/agents']],
  ])('refuses %s', async (_, change, pointers) => {
    const before = await stored(server)
    const answer = await server.call('POST', '/v1/policies', { body: { ...allowing('a.b'), ...change } })
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers)
    expect(await stored(server)).toEqual(before)
  })

  it('takes 32 objects and arrays inside one another, and not 33', async () => {
    const nested = (groups: number) => {
      let text = '{"context.a":{"$in":[1]}}'
      for (let i = 0; i < groups; i++) text = `{"$or":[${text}]}`
      return `{"name":"deep ${groups}","rules":[{"action":"a.b","effect":"deny","conditions":${text}}]}`
    }
    expect((await server.call('POST', '/v1/policies', { body: nested(8) })).status).toBe(201)
    expect((await server.call('POST', '/v1/policies', { body: nested(9) })).body.code).toBe('validation_failed')
    const deep = (levels: number) => `{"name":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    expect((await server.call('POST', '/v1/policies', { body: deep(32) })).body.code).toBe('validation_failed')
    expect((await server.call('POST', '/v1/policies', { body: deep(33) })).body.code).toBe('malformed_json')
  })
})

describe('409 policy_name_taken', () => {
  it('is told by POST and by PUT, and changes nothing', async () => {
    const [one, two] = [
      await createPolicy(server, allowing('name.one')),
      await createPolicy(server, allowing('name.two')),
    ]
    const before = await stored(server)
    const expected = { status: 409, body: { code: 'policy_name_taken', detail: expect.stringContaining(one.name) } }
    expect(await server.call('POST', '/v1/policies', { body: one })).toMatchObject(expected)
    expect(await put(two.id, { ...two, name: one.name })).toMatchObject(expected)
    expect(await stored(server)).toEqual(before)
  })

  it('compares names exactly', async () => {
    const made = await createPolicy(server, allowing('exact.name'))
    for (const name of [`${made.name} `, made.name.toUpperCase(), ` ${made.name}`])
      expect((await server.call('POST', '/v1/policies', { body: { ...made, name } })).status, name).toBe(201)
  })

  it('lets one of twenty that come at once have the name', async () => {
    const body = allowing('race.name')
    const answers = await Promise.all(Array.from({ length: 20 }, () => server.call('POST', '/v1/policies', { body })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
  })

  it('is not told of a name that a deleted or renamed policy had', async () => {
    const made = await createPolicy(server, allowing('free.name'))
    await succeed(put(made.id, { ...made, name: `${made.name} later` }))
    const second = await createPolicy(server, made)
    expect(await put(made.id, made)).toMatchObject({ status: 409 })
    await succeed(server.call('DELETE', `/v1/policies/${second.id}`))
    expect((await put(made.id, made)).status).toBe(200)
  })
})

describe('GET /v1/policies/{id} 200', () => {
  it('answers with the revision as ETag', async () => {
    const made = await createPolicy(server, allowing('get.one'))
    const answer = await server.call('GET', `/v1/policies/${made.id}`)
    expect(answer).toMatchObject({ status: 200, body: made })
    expect(answer.headers.get('etag')).toBe('"1"')
  })
})

describe('PUT /v1/policies/{id} 200', () => {
  it('replaces the whole document by the next revision', async () => {
    const made = await createPolicy(server, { ...allowing('put.one'), priority: 7, description: 'first' })
    server.clock.advance(1000)
    const { key, id: keyId } = await makeKey(server, ['policies:write', 'policies:read'])
    const body = { name: made.name, rules: [{ action: 'put.one', effect: 'deny' }] }
    const answer = await server.call('PUT', `/v1/policies/${made.id}`, { body, key })
    expect(answer.headers.get('etag')).toBe('"2"')
    expect(answer.body).toEqual({
      ...made,
      ...body,
      priority: 0,
      description: undefined,
      revision: 2,
      updated_at: server.clock.now().toISOString(),
    })
    expect(answer.body).not.toHaveProperty('description')
    expect(await succeed(server.call('GET', `/v1/policies/${made.id}`))).toEqual(answer.body)
    expect(await effectOf({ agent_id: 'agent:a', action: 'put.one' })).toBe('deny')
    expect((await auditOf(made.id)).map(({ type, actor, data }) => [type, actor, data.revision])).toEqual([
      ['policy.updated', keyId, 2],
      ['policy.created', self, 1],
    ])
  })

  it('takes what GET answered, and an old revision to go back to it', async () => {
    const made = await createPolicy(server, { ...allowing('put.back'), agents: ['agent:a'] })
    await succeed(put(made.id, { ...made, rules: [{ action: 'put.back', effect: 'deny' }] }))
    expect(await effectOf({ agent_id: 'agent:a', action: 'put.back' })).toBe('deny')
    const { data } = await succeed(server.call('GET', `/v1/policies/${made.id}/revisions`))
    expect(data.map(({ revision }: { revision: number }) => revision)).toEqual([2, 1])
    expect(await succeed(put(made.id, data[1]))).toEqual({
      ...made,
      revision: 3,
      updated_at: server.clock.now().toISOString(),
    })
    expect(await effectOf({ agent_id: 'agent:a', action: 'put.back' })).toBe('allow')
  })

  it.each(['"1"', '*', ' * ', '"7", "1"', '"1","2"', ' "1" ', 'W/"1", "1"', '"a", "1"'])(
    'goes on when If-Match is %s',
    async (ifMatch) => {
      const made = await createPolicy(server, allowing('if.match'))
      expect((await put(made.id, made, ifMatch)).status).toBe(200)
    },
  )

  it('switches a policy off and on', async () => {
    const made = await createPolicy(server, allowing('on.off'))
    const asked = { agent_id: 'agent:a', action: 'on.off' }
    await succeed(put(made.id, { ...made, enabled: false }))
    expect(await effectOf(asked)).toBe('deny')
    await succeed(put(made.id, { ...made, enabled: true }))
    expect(await effectOf(asked)).toBe('allow')
    await succeed(put(made.id, { ...made, mode: 'shadow' }))
    expect(await decide(server, asked)).toMatchObject({
      effect: 'deny',
      shadow: [{ policy_id: made.id, effect: 'allow', rule: 0 }],
    })
  })
})

describe('PUT /v1/policies/{id} 400', () => {
  it.each(['1', '""1""', '"1', 'W/1', '"1" "2"', '"1",', ',', '*, "1"', "'1'"])(
    'refuses the If-Match %s',
    async (ifMatch) => {
      const made = await createPolicy(server, allowing('if.match'))
      const before = await stored(server)
      expect(await put(made.id, made, ifMatch)).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', errors: [{ pointer: '/If-Match' }] },
      })
      expect(await stored(server)).toEqual(before)
    },
  )

  it('names the faults of a budget', async () => {
    const made = await createPolicy(server, allowing('put.budget'))
    const before = await stored(server)
    expect(await put(made.id, { ...made, budget: { ...BUDGET, period: 'monthy' } })).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ pointer: '/budget/period' }] },
    })
    expect(await stored(server)).toEqual(before)
  })
})

describe('PUT /v1/policies/{id} 412', () => {
  it.each(['"2"', '"0"', '"7", "8"', 'W/"1"', '"01"', '""', '"1.0"', '"*"'])(
    'is told when If-Match is %s',
    async (ifMatch) => {
      const made = await createPolicy(server, allowing('stale'))
      const before = await stored(server)
      expect(await put(made.id, made, ifMatch)).toMatchObject({
        status: 412,
        body: { code: 'revision_mismatch', detail: 'The policy is at revision 1.' },
      })
      expect(await stored(server)).toEqual(before)
    },
  )

  it('lets one of ten writers of the same revision win', async () => {
    const made = await createPolicy(server, allowing('race.put'))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, priority) => put(made.id, { ...made, priority }, '"1"')),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)])
    expect((await succeed(server.call('GET', `/v1/policies/${made.id}`))).revision).toBe(2)
  })
})

describe('DELETE /v1/policies/{id} 204', () => {
  it('ends the policy; its revisions stay', async () => {
    const made = await createPolicy(server, allowing('delete.me'))
    const changed = await succeed(put(made.id, { ...made, priority: 1 }))
    const decision = await decide(server, { agent_id: 'agent:a', action: 'delete.me' })
    expect(await server.call('DELETE', `/v1/policies/${made.id}`)).toMatchObject({ status: 204, body: undefined })
    const next = await decide(server, { agent_id: 'agent:a', action: 'delete.me' })
    expect(next).toMatchObject({ effect: 'deny', policy_id: 'pol_default', policy_set: decision.policy_set + 1 })
    expect((await everyItem(server, '/v1/policies')).filter(({ id }) => id === made.id)).toEqual([])
    expect((await succeed(server.call('GET', `/v1/policies/${made.id}/revisions`))).data).toEqual([changed, made])
    expect((await auditOf(made.id)).map(({ type }) => type)).toEqual([
      'policy.deleted',
      'policy.updated',
      'policy.created',
    ])
    expect(await succeed(server.call('GET', `/v1/decisions/${decision.id}`))).toMatchObject({
      status: 'authorized',
      policy_id: made.id,
    })
  })
})

describe('DELETE /v1/policies/{id} with If-Match', () => {
  it.each(['"2"', '*', ' * ', '"7", "2"', '"1","2"', 'W/"2", "2"'])('deletes when it is %s', async (ifMatch) => {
    const made = await createPolicy(server, allowing('if.match'))
    await succeed(put(made.id, made))
    expect(await remove(made.id, ifMatch)).toMatchObject({ status: 204, body: undefined })
    expect((await server.call('GET', `/v1/policies/${made.id}`)).status).toBe(404)
  })

  it.each(['"1"', '"3"', '"7", "8"', 'W/"2"', '"02"', '""', '"*"'])('is 412 when it is %s', async (ifMatch) => {
    const made = await createPolicy(server, allowing('stale'))
    await succeed(put(made.id, made))
    const before = await stored(server)
    expect(await remove(made.id, ifMatch)).toMatchObject({
      status: 412,
      body: { code: 'revision_mismatch', detail: 'The policy is at revision 2.' },
    })
    expect(await stored(server)).toEqual(before)
  })

  it.each(['1', '"1', 'W/1', '"1" "2"', ',', '*, "1"'])('is 400 when it is %s', async (ifMatch) => {
    const made = await createPolicy(server, allowing('if.match'))
    const before = await stored(server)
    expect(await remove(made.id, ifMatch)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ pointer: '/If-Match' }] },
    })
    expect(await stored(server)).toEqual(before)
  })

  it('lets either the change or the deletion of a revision win', async () => {
    for (let i = 0; i < 10; i++) {
      const made = await createPolicy(server, allowing('race.delete'))
      const [changed, deleted] = await Promise.all([put(made.id, made, '"1"'), remove(made.id, '"1"')])
      expect([
        [200, 412],
        [404, 204],
      ]).toContainEqual([changed.status, deleted.status])
    }
  })
})

describe('404', () => {
  it('is told of a deleted policy by GET, PUT and DELETE', async () => {
    const made = await createPolicy(server, allowing('gone'))
    await succeed(server.call('DELETE', `/v1/policies/${made.id}`))
    const before = await stored(server)
    for (const [method, body] of [['GET'], ['DELETE'], ['PUT', made]] as const)
      expect(await server.call(method, `/v1/policies/${made.id}`, { body }), method).toMatchObject({
        status: 404,
        body: { code: 'not_found', title: 'Nothing was found here.' },
      })
    expect(await stored(server)).toEqual(before)
  })
})

describe('POST /v1/policies/validate 200', () => {
  const validate = (body: unknown) => succeed(server.call('POST', '/v1/policies/validate', { body }))

  it('says what POST would say, and writes nothing', async () => {
    const before = await stored(server)
    expect(await validate(REFUNDS)).toEqual({ valid: true, errors: [], warnings: UNBOUNDED })
    expect(await validate({ ...REFUNDS, name: '', odd: 1 })).toEqual({
      valid: false,
      errors: [
        { pointer: '/name', detail: 'must have 1 to 128 characters' },
        { pointer: '/odd', detail: expect.any(String) },
      ],
      warnings: [],
    })
    expect(await validate({})).toMatchObject({ valid: false, errors: [{ pointer: '/name' }, { pointer: '/rules' }] })
    expect(await validate({ ...REFUNDS, budget: BUDGET })).toEqual({ valid: true, errors: [], warnings: UNBOUNDED })
    expect(await validate({ ...REFUNDS, budget: {} })).toMatchObject({
      valid: false,
      errors: [{ pointer: '/budget/limit' }, { pointer: '/budget/period' }, { pointer: '/budget/unit' }],
      warnings: [],
    })
    expect(await stored(server)).toEqual(before)
  })

  it('takes a stored policy as it was answered, and says no more of it than its own warnings', async () => {
    const made = await createPolicy(server, allowing('validate.stored'))
    expect(await validate(made)).toEqual({ valid: true, errors: [], warnings: made.warnings })
  })
})

describe('POST /v1/simulate 200', () => {
  const simulate = (body: object, key = server.key) => succeed(server.call('POST', '/v1/simulate', { body, key }))

  it('decides by the stored policies what POST /v1/decisions decides, and stores nothing', async () => {
    const made = await createPolicy(server, { ...REFUNDS, name: 'simulated' })
    for (const request of [ALLOWED, REVIEWED, DENIED, { agent_id: 'agent:nobody', action: 'nothing.known' }]) {
      const decision = await decide(server, request)
      const before = await stored(server)
      const simulated = await simulate({ request })
      expect(await stored(server)).toEqual(before)
      const { effect, reason, reason_code, policy_id, rule, budgets, shadow } = decision
      const { explanation } = await explanationOf(decision.id)
      expect(simulated).toEqual({ effect, reason, reason_code, policy_id, rule, budgets, shadow, explanation })
    }
    await succeed(server.call('DELETE', `/v1/policies/${made.id}`))
    expect((await server.call('GET', '/v1/agents/agent:never')).status).toBe(404)
    await simulate({ request: { agent_id: 'agent:never', action: 'a.b' } })
    expect((await server.call('GET', '/v1/agents/agent:never')).status).toBe(404)
  })

  async function explanationOf(id: string) {
    const { decision_id, ...explanation } = await succeed(server.call('GET', `/v1/decisions/${id}/explanation`))
    return { explanation }
  }

  it('decides by other policies, named by their id or as drafts', async () => {
    const request = { agent_id: 'agent:a', action: 'draft.test' }
    await createPolicy(server, allowing('draft.test'))
    expect(await simulate({ request, policies: [] })).toMatchObject({
      effect: 'deny',
      reason_code: 'no_matching_policy',
    })
    expect(await simulate({ request, policies: null })).toMatchObject({ effect: 'allow' })
    const deny = { name: 'd', rules: [{ action: '*', effect: 'deny' }] }
    const shadow = { name: 's', mode: 'shadow', rules: [{ action: '*', effect: 'review' }] }
    expect(await simulate({ request, policies: [shadow, { ...deny, id: 'pol_mine' }, deny] })).toMatchObject({
      effect: 'deny',
      policy_id: 'pol_draft_2',
      rule: 0,
      shadow: [{ policy_id: 'pol_draft_0', effect: 'review', rule: 0 }],
      explanation: {
        policies: expect.arrayContaining([expect.objectContaining({ policy_id: 'pol_mine', revision: null })]),
      },
    })
  })

  it('knows metadata and suspension of the agent', async () => {
    await succeed(server.call('POST', '/v1/agents', { body: { id: 'agent:sim', metadata: { level: 3 } } }))
    const rules = [{ action: '*', effect: 'allow', conditions: { 'agent.level': { $gte: 3 } } }]
    const body = { request: { agent_id: 'agent:sim', action: 'a.b' }, policies: [{ name: 'p', rules }] }
    expect((await simulate(body)).effect).toBe('allow')
    await succeed(server.call('POST', '/v1/agents/agent:sim/suspend'))
    expect(await simulate(body)).toMatchObject({
      effect: 'deny',
      reason_code: 'agent_suspended',
      policy_id: 'pol_default',
      shadow: [],
    })
  })
})

describe('POST /v1/simulate 400', () => {
  it.each<[what: string, body: object, pointers: string[]]>([
    [
      'budgets at their own places',
      {
        request: ALLOWED,
        policies: [REFUNDS, { ...REFUNDS, budget: { ...BUDGET, limit: -1 } }, { ...REFUNDS, budget: null }],
      },
      ['/policies/1/budget/limit', '/policies/2/budget'],
    ],
    ['a missing request', {}, ['/request']],
    [
      'faults of the request and of the policies',
      { request: { agent_id: 'a' }, policies: [{ name: 'x' }] },
      ['/policies/0/rules', '/request/action'],
    ],
    [
      'the same id twice',
      {
        request: ALLOWED,
        policies: [
          { ...REFUNDS, id: 'a' },
          { ...REFUNDS, id: 'a' },
        ],
      },
      ['/policies/1/id'],
    ],
    ['policies that are no list', { request: ALLOWED, policies: {} }, ['/policies']],
  ])('names %s', async (_, body, pointers) => {
    const answer = await server.call('POST', '/v1/simulate', { body })
    expect(answer.status).toBe(400)
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers)
  })
})

describe('POST /v1/simulate 400 malformed_json', () => {
  const request = (arrays: number) =>
    `{"agent_id":"agent:a","action":"a.b","context":{"k":${'['.repeat(arrays)}${']'.repeat(arrays)}}}`
  const ask = (path: string, body: string) => server.call('POST', path, { body })

  it('is told of a request that nests deeper than a decision may', async () => {
    const drafts = JSON.stringify([REFUNDS])
    const forms = [
      (text: string) => `{"request":${text}}`,
      (text: string) => `{"policies":${drafts},"request":${text}}`,
      (text: string) => `{"request":${text},"policies":${drafts}}`,
    ]
    expect((await ask('/v1/decisions', request(14))).status).toBe(200)
    expect((await ask('/v1/decisions', request(15))).body.code).toBe('malformed_json')
    for (const form of forms) {
      expect((await ask('/v1/simulate', form(request(14)))).status).toBe(200)
      for (const arrays of [15, 19, 40])
        expect(await ask('/v1/simulate', form(request(arrays)))).toMatchObject({
          status: 400,
          body: { code: 'malformed_json', detail: expect.stringContaining('nested more than 16 deep') },
        })
    }
  })

  it('leaves to policies what they may nest', async () => {
    const deep = (levels: number) => `{"policies":${'['.repeat(levels)}${']'.repeat(levels)},"request":${request(1)}}`
    expect((await ask('/v1/simulate', deep(31))).body.code).toBe('validation_failed')
    expect((await ask('/v1/simulate', deep(32))).body.code).toBe('malformed_json')
    const hidden = `{"request":{"agent_id":"agent:a","action":"a.b"},"policies":[{"request":${'['.repeat(20)}${']'.repeat(20)}}]}`
    expect((await ask('/v1/simulate', hidden)).body.code).toBe('validation_failed')
  })
})

describe('POST /v1/simulate 403', () => {
  it('lets a bound key ask for its own agents only', async () => {
    const { key } = await makeKey(server, ['policies:read'], { agents: ['agent:mine'] })
    expect(await server.call('POST', '/v1/simulate', { key, body: { request: ALLOWED } })).toMatchObject({
      status: 403,
      body: { code: 'agent_not_allowed' },
    })
  })
})
