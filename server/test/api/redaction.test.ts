/** What keys without agents:read and budgets:read are shown of an agent's metadata and of what a budget has left. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { createPolicy, decide, makeKey, succeed } from './refunds.js'

let server: RunningServer
let narrow: string
let wide: string
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  const scopes = ['policies:read', 'decisions:read', 'decisions:write']
  narrow = (await makeKey(server, scopes)).key
  wide = (await makeKey(server, [...scopes, 'agents:read', 'budgets:read'])).key
  for (const [id, metadata] of Object.entries(AGENTS)) await register(id, metadata)
})
afterAll(() => server.stop())

const register = (id: string, metadata: object) =>
  succeed(server.call('POST', '/v1/agents', { body: { id, metadata } }))
const simulate = (body: object, key: string) => succeed(server.call('POST', '/v1/simulate', { body, key }))

/** Of these no condition below tells the one from the other, though no value is the same, nor the type of the last ones. */
const AGENTS = {
  'agent:a': { limit: 51, tier: 'gold', tags: ['vip'], list: [7], odd: 'text' },
  'agent:b': { limit: 52, tier: 'iron', tags: ['old', 'new'], list: [8, 9], odd: [1, 2] },
}
const CONDITIONS: Readonly<Record<string, object>> = {
  'a number': { 'agent.limit': { $gt: 100 } },
  'a text': { 'agent.tier': { $eq: 'lead' } },
  'a text under $not': { $not: { 'agent.tier': { $like: '*o*' } } },
  'an array': { 'agent.tags': { $contains: 'none' } },
  presence: { 'agent.limit': { $exists: false } },
  'a $ref on the right': { 'context.amount': { $lte: { $ref: 'agent.limit' } } },
  'a $ref on the left of another': { 'agent.limit': { $gt: { $ref: 'context.amount' } } },
  'a $ref to a list': { 'context.amount': { $in: { $ref: 'agent.list' } } },
  'a type that cannot be compared': { 'agent.odd': { $lt: 3 } },
  'a $ref whose type cannot be compared': { 'context.amount': { $lt: { $ref: 'agent.odd' } } },
  'a fact that is missing beside a $ref': { 'context.missing': { $lt: { $ref: 'agent.limit' } } },
  'one of several': { $or: [{ 'agent.limit': { $lt: 1 } }, { 'agent.tier': { $in: ['x', 'y'] } }] },
}

/** The answer about each of the two agents; `named` is what tells them apart of themselves. */
async function both(conditions: object, effect: string, key: string): Promise<[string, string]> {
  const ask = async (agent_id: string) => {
    const request = { agent_id, action: 'a', context: { amount: 60 } }
    const rules = [{ action: 'a', effect, conditions }]
    return JSON.stringify(await simulate({ request, policies: [{ name: 'draft', rules }] }, key))
  }
  return [await ask('agent:a'), await ask('agent:b')]
}

describe('POST /v1/simulate without agents:read', () => {
  it.each(Object.keys(CONDITIONS))('shows nothing of the value or its type: %s', async (name) => {
    for (const effect of ['allow', 'deny']) {
      const [a, b] = await both(CONDITIONS[name] as object, effect, narrow)
      expect(a).toBe(b)
    }
  })

  it.each(Object.keys(CONDITIONS))('shows nothing of it in what held either: not %s', async (name) => {
    const [a, b] = await both({ $not: CONDITIONS[name] as object }, 'allow', narrow)
    expect(a).toBe(b)
  })

  it('shows with it what it keeps back without', async () => {
    const told = []
    for (const conditions of Object.values(CONDITIONS)) {
      const [a, b] = await both(conditions, 'allow', wide)
      told.push(a !== b)
    }
    // Presence looks at no value; which of two facts is wrong is no matter of metadata.
    expect(told.filter(Boolean).length).toBeGreaterThanOrEqual(told.length - 2)
  })

  it('says what it keeps back, and where', async () => {
    const request = { agent_id: 'agent:a', action: 'a', context: { amount: 60 } }
    const rules = [
      { action: 'a', effect: 'allow', conditions: { 'context.amount': { $lte: { $ref: 'agent.limit' } } } },
      { action: 'a', effect: 'allow', conditions: { 'agent.tier': { $eq: 'lead' } } },
      { action: 'a', effect: 'deny', conditions: { 'agent.odd': { $lt: 3 } } },
    ]
    const { reason, explanation } = await simulate({ request, policies: [{ name: 'draft', rules }] }, narrow)
    const hidden = { actual: null, redacted: true }
    expect(
      explanation.policies[0].rules.map(({ result, failed }: Record<string, unknown>) => [result, failed]),
    ).toEqual([
      ['condition', [{ path: 'context.amount', operator: '$lte', expected: { $ref: 'agent.limit' }, ...hidden }]],
      ['condition', [{ path: 'agent.tier', operator: '$eq', expected: 'lead', ...hidden }]],
      ['unknown', [{ path: 'agent.odd', operator: '$lt', expected: 3, ...hidden }]],
    ])
    expect(reason).toBe('The policy needs a value of agent.odd that can be compared, and there is none.')
    expect(explanation.summary).toBe(
      'Denied: rule 3 of "draft" needs a value of agent.odd that can be compared, and there is none; ' +
        'rule 1 would have allowed it, had context.amount been at most agent.limit (what it was is not shown).',
    )
  })

  it('does not say which of two facts cannot be compared', async () => {
    const conditions = { 'context.amount': { $lt: { $ref: 'agent.odd' } } }
    const request = { agent_id: 'agent:a', action: 'a', context: { amount: 60 } }
    const policies = [{ name: 'draft', rules: [{ action: 'a', effect: 'deny', conditions }] }]
    expect((await simulate({ request, policies }, narrow)).reason).toBe(
      'The policy needs values of context.amount and agent.odd that can be compared, and there are none.',
    )
  })

  it('shows the facts of the request as ever', async () => {
    const body = {
      request: { agent_id: 'agent:a', action: 'a', context: { amount: 60, other: 'x' } },
      policies: [
        { name: 'draft', rules: [{ action: 'a', effect: 'allow', conditions: { 'context.amount': { $lte: 50 } } }] },
      ],
    }
    expect(await simulate(body, narrow)).toEqual(await simulate(body, wide))
  })
})

describe('GET /v1/decisions/{id}/explanation without agents:read', () => {
  it('keeps back the metadata as of the decision, too', async () => {
    const conditions = { 'agent.limit': { $gt: 100 } }
    const { id: policy } = await createPolicy(server, {
      name: 'limits',
      agents: ['agent:a'],
      rules: [{ action: 'limited', effect: 'allow', conditions }],
    })
    const { id } = await decide(server, { agent_id: 'agent:a', action: 'limited' })
    const explain = (key: string) => succeed(server.call('GET', `/v1/decisions/${id}/explanation`, { key }))
    const failed = { path: 'agent.limit', operator: '$gt', expected: 100 }
    const [hidden, shown] = [await explain(narrow), await explain(wide)]
    expect(hidden.nearest_miss).toEqual({
      policy_id: policy,
      rule: 0,
      failed: [{ ...failed, actual: null, redacted: true }],
    })
    // The last characters of an id are random.
    expect(JSON.stringify(hidden).replaceAll(/(dec|pol)_\w+/g, '')).not.toContain('51')
    expect(shown.nearest_miss.failed).toEqual([{ ...failed, actual: 51 }])
  })
})

describe('POST /v1/simulate without budgets:read', () => {
  const budget = { limit: 100, unit: 'EUR', period: 'total' }
  const pay = (amount: number) => ({ request: { agent_id: 'agent:a', action: 'pay', context: { amount } } })

  it('shows no balance, in rows or sentences', async () => {
    await createPolicy(server, { name: 'budget', rules: [{ action: 'pay', effect: 'allow' }], budget })
    const answers = async (key: string) => [await simulate(pay(10), key), await simulate(pay(99), key)]
    const before = await answers(narrow)
    await decide(server, { agent_id: 'agent:a', action: 'pay', context: { amount: 37.25 } })
    const [fits, exceeds] = await answers(narrow)
    expect(fits).toEqual(before[0])
    expect(fits).toMatchObject({ effect: 'allow', budgets: [] })
    const reason = 'The budget of 100 EUR in all has no room for this; 99 EUR were asked.'
    expect(exceeds).toMatchObject({
      ...{ effect: 'deny', reason_code: 'budget_exceeded', reason, budgets: [] },
      explanation: { summary: `Denied: ${reason}` },
    })
    expect(JSON.stringify(exceeds)).not.toContain('62.75')
    const [, shown] = await answers(wide)
    expect(shown).toMatchObject({
      reason: 'The budget of 100 EUR in all has 62.75 EUR left; 99 EUR were asked.',
      budgets: [{ remaining: 62.75 }],
    })
  })

  it('says so of a budget that counts', async () => {
    const calls = { limit: 0, unit: 'calls', period: 'daily', amount: 1 }
    const policies = [{ name: 'draft', rules: [{ action: 'pay', effect: 'allow' }], budget: calls }]
    const { reason, budgets } = await simulate({ ...pay(1), policies }, narrow)
    expect([reason, budgets]).toEqual(['The budget of 0 calls a day has no room for this; each decision takes 1.', []])
  })
})
