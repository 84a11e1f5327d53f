/** What a caller sees of /v1/capabilities, by status. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { allowing, createPolicy, decide, makeKey, succeed } from './refunds.js'
import { stored } from './stored.js'

const AGENT = 'agent:support-7'
const ACTIONS = ['refund.pay', 'refund.void', 'refund.read', 'mail.send', 'nothing.known']

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, {
    name: 'refunds',
    rules: [
      { action: 'refund.pay', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
      { action: 'refund.pay', effect: 'review' },
      { action: 'refund.read', effect: 'log' },
      { action: 'refund.void', effect: 'allow' },
    ],
    budget: { limit: 10, unit: 'calls', period: 'daily', amount: 1, actions: ['refund.void'] },
  })
  await createPolicy(server, { ...allowing('*'), name: 'of admins', agents: ['admin:*'], priority: -1 })
  await createPolicy(server, { ...allowing('mail.*'), name: 'later', mode: 'shadow' })
})
afterAll(() => server.stop())

const capabilities = (body: object, key = server.key) => succeed(server.call('POST', '/v1/capabilities', { body, key }))
const refused = (body: object, key = server.key) => server.call('POST', '/v1/capabilities', { body, key })
const effectsOf = async (agent_id: string, action: string) =>
  (await capabilities({ agent_id, actions: [action] })).data[0].effects

describe('POST /v1/capabilities 200', () => {
  it('names the effects that each action can get, in the order asked, sorted by name', async () => {
    expect(await capabilities({ agent_id: AGENT, actions: [...ACTIONS, 'refund.pay'] })).toEqual({
      agent_id: AGENT,
      data: [
        { action: 'refund.pay', effects: ['allow', 'deny', 'review'] },
        { action: 'refund.void', effects: ['allow', 'deny'] },
        { action: 'refund.read', effects: ['log'] },
        { action: 'mail.send', effects: ['deny'] },
        { action: 'nothing.known', effects: ['deny'] },
        { action: 'refund.pay', effects: ['allow', 'deny', 'review'] },
      ],
    })
    expect(await effectsOf('admin:1', 'nothing.known')).toEqual(['allow'])
  })

  it('leaves out nothing that decisions get', async () => {
    const { data } = await capabilities({ agent_id: AGENT, actions: ACTIONS })
    for (const { action, effects } of data)
      for (const context of [{ amount: 5 }, { amount: 500 }, { amount: 'five' }, {}])
        expect(effects).toContain((await decide(server, { agent_id: AGENT, action, context })).effect)
  })

  it('names deny beside review: it is one where too many reviews wait', async () => {
    const narrow = await runServer({ settings: { rateLimitPerSecond: 0, maxOpenReviews: 1 } })
    await createPolicy(narrow, { name: 'p', rules: [{ action: 'a.b', effect: 'review' }] })
    const ask = async () => (await decide(narrow, { agent_id: AGENT, action: 'a.b' })).effect
    const got = [await ask(), await ask()]
    const body = { agent_id: AGENT, actions: ['a.b'] }
    const { data } = await succeed(narrow.call('POST', '/v1/capabilities', { body }))
    expect([got, data[0].effects]).toEqual([
      ['review', 'deny'],
      ['deny', 'review'],
    ])
    await narrow.stop()
  })

  it('is recorded nowhere, and the agent is not seen by it', async () => {
    const before = await stored(server)
    await capabilities({ agent_id: 'agent:never', actions: ACTIONS })
    expect(await stored(server)).toEqual(before)
    expect((await server.call('GET', '/v1/agents/agent:never')).status).toBe(404)
  })

  it('tells by the metadata, the suspension and the policies of now', async () => {
    const [agent_id, action] = ['agent:tiers', 'tier.use']
    const rules = [{ action, effect: 'allow', conditions: { 'agent.tier': { $eq: 'gold' } } }]
    const policy = await createPolicy(server, { name: 'tiers', rules })
    const metadata = (tier: string) => ({ body: { metadata: { tier } } })
    expect(await effectsOf(agent_id, action)).toEqual(['deny'])
    await succeed(server.call('POST', '/v1/agents', { body: { id: agent_id, ...metadata('gold').body } }))
    expect(await effectsOf(agent_id, action)).toEqual(['allow'])
    await succeed(server.call('PUT', `/v1/agents/${agent_id}`, metadata('iron')))
    expect(await effectsOf(agent_id, action)).toEqual(['deny'])
    await succeed(server.call('PUT', `/v1/agents/${agent_id}`, metadata('gold')))
    await succeed(server.call('POST', `/v1/agents/${agent_id}/suspend`))
    expect(await effectsOf(agent_id, action)).toEqual(['deny'])
    await succeed(server.call('POST', `/v1/agents/${agent_id}/resume`))
    expect(await effectsOf(agent_id, action)).toEqual(['allow'])
    await succeed(server.call('DELETE', `/v1/policies/${policy.id}`))
    expect(await effectsOf(agent_id, action)).toEqual(['deny'])
  })

  it('takes a thousand actions of the greatest length, from a key that is bound to the agent', async () => {
    const actions = Array.from({ length: 1000 }, (_, at) => `a.${String(at).padStart(126, 'x')}`)
    const { key } = await makeKey(server, ['decisions:write'], { agents: ['agent:support-*'] })
    const { data } = await capabilities({ agent_id: AGENT, actions }, key)
    expect(data.map(({ action }: { action: string }) => action)).toEqual(actions)
  })

  it('needs no more than decisions:write, and shows no more than decisions do', async () => {
    const { key } = await makeKey(server, ['decisions:write'])
    const answer = await capabilities({ agent_id: AGENT, actions: ['refund.pay'] }, key)
    expect(Object.keys(answer)).toEqual(['agent_id', 'data'])
    expect(Object.keys(answer.data[0])).toEqual(['action', 'effects'])
  })
})

describe('POST /v1/capabilities 400', () => {
  it.each([
    ['no agent', { actions: ['a.b'] }, '/agent_id'],
    ['an empty one', { agent_id: '', actions: ['a.b'] }, '/agent_id'],
    ['null for one', { agent_id: null, actions: ['a.b'] }, '/agent_id'],
    ['no actions', { agent_id: AGENT }, '/actions'],
    ['none in the list', { agent_id: AGENT, actions: [] }, '/actions'],
    ['a text for the list', { agent_id: AGENT, actions: 'a.b' }, '/actions'],
    ['a pattern', { agent_id: AGENT, actions: ['a.b', 'pay.*'] }, '/actions/1'],
    ['null among them', { agent_id: AGENT, actions: ['a.b', null] }, '/actions/1'],
    ['a long one', { agent_id: AGENT, actions: ['x'.repeat(129)] }, '/actions/0'],
    ['too many', { agent_id: AGENT, actions: Array(1001).fill('a.b') }, '/actions'],
    ['a member that is not known', { agent_id: AGENT, actions: ['a.b'], resource: 'order:1' }, '/resource'],
  ])('names the place: %s', async (_what, body, pointer) => {
    expect(await refused(body)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ pointer }] },
    })
  })
})

describe('POST /v1/capabilities 403', () => {
  it('is told a key that is bound to other agents', async () => {
    const { key } = await makeKey(server, ['decisions:write'], { agents: ['agent:billing-*'] })
    expect(await refused({ agent_id: AGENT, actions: ['a.b'] }, key)).toMatchObject({
      status: 403,
      body: { code: 'agent_not_allowed' },
    })
  })

  it('is told a key that may only read', async () => {
    const { key } = await makeKey(server, ['decisions:read', 'policies:read', 'agents:read'])
    expect(await refused({ agent_id: AGENT, actions: ['a.b'] }, key)).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope', detail: expect.stringContaining('decisions:write') },
    })
  })
})
