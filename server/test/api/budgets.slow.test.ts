/** What the accounts of budgets are and how they are listed. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { createPolicy, decide, everyItem, makeKey, succeed } from './refunds.js'
import { stored } from './stored.js'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Longer than an authorized decision lives. */
const OVER_MS = 6 * MINUTE_MS

const MONTHLY = { limit: 100, unit: 'EUR', period: 'monthly' }
const HOURLY = { ...MONTHLY, period: 'hourly' }
const OF_AGENTS = { ...MONTHLY, scope: 'agent' }
const NOVEMBER = { starts_at: '2026-11-01T00:00:00.000Z', resets_at: '2026-12-01T00:00:00.000Z' }

let server: RunningServer
beforeEach(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
})
afterEach(() => server.stop())

const spending = (action: string, budget: object, more: object = {}) => ({
  name: action,
  rules: [{ action, effect: 'allow' }],
  budget,
  ...more,
})
const budgeted = async (action: string, budget: object, more?: object): Promise<string> =>
  (await createPolicy(server, spending(action, budget, more))).id
const put = (id: string, document: object) => succeed(server.call('PUT', `/v1/policies/${id}`, { body: document }))
const remove = (id: string) => succeed(server.call('DELETE', `/v1/policies/${id}`))
const register = (id: string) => succeed(server.call('POST', '/v1/agents', { body: { id } }))

async function spend(action: string, amount: number, agent_id = 'agent:a') {
  const decision = await decide(server, { agent_id, action, context: { amount } })
  expect(decision).toMatchObject({ status: 'authorized', budgets: [{ reserved: true }] })
  return decision
}
const settle = ({ id }: { id: string }, transition: 'confirm' | 'reject', body: object = {}) =>
  succeed(server.call('POST', `/v1/decisions/${id}/${transition}`, { body }))

const accounts = () => everyItem(server, '/v1/budgets')
const ofPolicy = async (id: string) => (await succeed(server.call('GET', `/v1/policies/${id}/budget`))).data
const history = (id: string) => everyItem(server, `/v1/policies/${id}/budget/history`)

describe('GET /v1/budgets 200: the present accounts', () => {
  it('are those of every policy with a budget, with zeros when unused, the newest first', async () => {
    expect(await accounts()).toEqual([])
    const ids = [
      await budgeted('a.one', MONTHLY),
      await budgeted('a.disabled', MONTHLY, { enabled: false }),
      await budgeted('a.shadow', { ...MONTHLY, period: 'total' }, { mode: 'shadow' }),
    ]
    await createPolicy(server, { name: 'without a budget', rules: [{ action: 'a.b', effect: 'allow' }] })
    const unused = { agent_id: null, unit: 'EUR', limit: 100, spent: 0, reserved: 0, remaining: 100 }
    expect(await accounts()).toEqual([
      { ...unused, policy_id: ids[2], period: 'total', starts_at: null, resets_at: null },
      { ...unused, policy_id: ids[1], period: 'monthly', ...NOVEMBER },
      { ...unused, policy_id: ids[0], period: 'monthly', ...NOVEMBER },
    ])
  })

  it('follow what the decisions count for', async () => {
    const id = await budgeted('a.b', MONTHLY)
    const balance = async () => {
      const [{ spent, reserved, remaining }, ...others] = await accounts()
      expect(others).toEqual([])
      expect(await ofPolicy(id)).toMatchObject([{ spent, reserved, remaining }])
      return [spent, reserved, remaining]
    }
    const one = await spend('a.b', 30.000001)
    expect(await balance()).toEqual([0, 30.000001, 69.999999])
    await settle(one, 'confirm', { amount: 10.5 })
    expect(await balance()).toEqual([10.5, 0, 89.5])
    const two = await spend('a.b', 20)
    expect(await balance()).toEqual([10.5, 20, 69.5])
    await settle(two, 'reject')
    expect(await balance()).toEqual([10.5, 0, 89.5])
    await settle(await spend('a.b', 1), 'confirm', { amount: 200 })
    expect(await balance()).toEqual([210.5, 0, 0])
  })

  it.each([
    ['hourly', '2026-11-21T10:00:00.000Z', '2026-11-21T11:00:00.000Z'],
    ['daily', '2026-11-21T00:00:00.000Z', '2026-11-22T00:00:00.000Z'],
    ['weekly', '2026-11-16T00:00:00.000Z', '2026-11-23T00:00:00.000Z'],
    ['monthly', '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
    ['yearly', '2026-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
    ['total', null, null],
  ])('stand in the period of now: %s', async (period, starts_at, resets_at) => {
    await budgeted('a.b', { ...MONTHLY, period })
    expect(await accounts()).toMatchObject([{ period, starts_at, resets_at }])
    await spend('a.b', 1)
    expect(await accounts()).toMatchObject([{ period, starts_at, resets_at, reserved: 1 }])
  })

  it('are as of now: what the clock ended is settled before they are read', async () => {
    await budgeted('a.b', MONTHLY)
    const { expires_at } = await spend('a.b', 30)
    const left = Date.parse(expires_at) - server.clock.now().getTime()
    server.clock.advance(left - 1)
    expect(await accounts()).toMatchObject([{ spent: 0, reserved: 30 }])
    server.clock.advance(1)
    expect(await accounts()).toMatchObject([{ spent: 30, reserved: 0, remaining: 70 }])
  })

  it('carry the unit and limit as the policy writes them now', async () => {
    const id = await budgeted('a.b', MONTHLY)
    await spend('a.b', 30)
    await put(id, spending('a.b', { ...MONTHLY, unit: 'Eur', limit: 20 }))
    expect(await accounts()).toMatchObject([{ unit: 'Eur', limit: 20, reserved: 30, remaining: 0 }])
    await put(id, spending('a.b', { ...MONTHLY, limit: 50.5 }, { enabled: false }))
    expect(await accounts()).toMatchObject([{ unit: 'EUR', limit: 50.5, reserved: 30, remaining: 20.5 }])
  })

  it('are one for each agent that reserved in this period, where the scope is the agent', async () => {
    const id = await budgeted('a.b', { ...OF_AGENTS, period: 'hourly' })
    expect(await accounts()).toEqual([])
    for (const agent of ['agent:a', 'agent:b', 'agent:c']) await register(agent)
    await settle(await spend('a.b', 10, 'agent:a'), 'reject')
    await spend('a.b', 20, 'agent:b')
    await decide(server, { agent_id: 'agent:c', action: 'a.b', context: { amount: 101 } })
    await decide(server, { agent_id: 'agent:unknown', action: 'a.b', context: { amount: 1 } })
    expect(await accounts()).toMatchObject([
      { policy_id: id, agent_id: 'agent:b', limit: 100, spent: 0, reserved: 20, remaining: 80 },
      { policy_id: id, agent_id: 'agent:a', limit: 100, spent: 0, reserved: 0, remaining: 100 },
    ])
    server.clock.advance(HOUR_MS)
    expect(await accounts()).toEqual([])
    await spend('a.b', 1, 'agent:a')
    expect(await accounts()).toMatchObject([
      { agent_id: 'agent:a', reserved: 1, starts_at: '2026-11-21T11:00:00.000Z' },
    ])
  })
})

describe('GET /v1/budgets 200: every other account in which something is reserved', () => {
  it('comes behind them: of an earlier period, until it is settled', async () => {
    const id = await budgeted('a.b', HOURLY)
    await budgeted('a.newer', MONTHLY)
    server.clock.advance(58 * MINUTE_MS)
    await spend('a.b', 30)
    server.clock.advance(2 * MINUTE_MS)
    expect(await accounts()).toMatchObject([
      { period: 'monthly' },
      { policy_id: id, starts_at: '2026-11-21T11:00:00.000Z', reserved: 0, remaining: 100 },
      {
        policy_id: id,
        starts_at: '2026-11-21T10:00:00.000Z',
        resets_at: '2026-11-21T11:00:00.000Z',
        reserved: 30,
        remaining: 70,
      },
    ])
    expect(await history(id)).toEqual([])
    server.clock.advance(OVER_MS)
    expect(await accounts()).toHaveLength(2)
    expect(await history(id)).toMatchObject([{ starts_at: '2026-11-21T10:00:00.000Z', spent: 30, reserved: 0 }])
  })

  it('carries unit and limit as last written in its form', async () => {
    const id = await budgeted('a.b', MONTHLY)
    const form = (budget: object) => put(id, spending('a.b', { ...MONTHLY, ...budget }))
    await spend('a.b', 1)
    await form({ unit: 'Eur', limit: 90 })
    await form({ unit: 'USD', limit: 80 })
    await spend('a.b', 2)
    await form({ unit: 'USD', period: 'daily', limit: 70 })
    await spend('a.b', 3)
    await register('agent:a')
    await form({ unit: 'USD', period: 'daily', scope: 'agent', limit: 60 })
    await spend('a.b', 4)
    await put(id, { ...spending('a.b', MONTHLY), budget: undefined })
    expect(await accounts()).toMatchObject([
      { agent_id: 'agent:a', unit: 'USD', limit: 60, period: 'daily', reserved: 4, remaining: 56 },
      { agent_id: null, unit: 'USD', limit: 70, period: 'daily', reserved: 3, remaining: 67 },
      { agent_id: null, unit: 'USD', limit: 80, period: 'monthly', reserved: 2, remaining: 78 },
      { agent_id: null, unit: 'Eur', limit: 90, period: 'monthly', reserved: 1, remaining: 89 },
    ])
    await form({})
    expect(await accounts()).toMatchObject([
      { unit: 'EUR', limit: 100, reserved: 1, remaining: 99 },
      { agent_id: 'agent:a', unit: 'USD', limit: 60 },
      { unit: 'USD', limit: 70 },
      { unit: 'USD', limit: 80 },
    ])
  })

  it('is found behind many later revisions', async () => {
    const id = await budgeted('a.b', { ...MONTHLY, limit: 99 })
    await spend('a.b', 1)
    for (let i = 0; i < 45; i++) await put(id, spending('a.b', { ...MONTHLY, unit: `u${i}` }))
    expect(await accounts()).toMatchObject([
      { unit: 'u44', limit: 100 },
      { unit: 'EUR', limit: 99, reserved: 1 },
    ])
  })

  it('says when its policy was deleted, and settles as before', async () => {
    const id = await budgeted('a.b', MONTHLY)
    const decision = await spend('a.b', 30)
    const deleted_at = server.clock.now().toISOString()
    await remove(id)
    server.clock.advance(1000)
    expect(await accounts()).toMatchObject([{ policy_id: id, deleted_at, limit: 100, reserved: 30, remaining: 70 }])
    expect(await ofPolicy(id)).toMatchObject([{ deleted_at, reserved: 30 }])
    expect(await history(id)).toEqual([])
    await settle(decision, 'confirm', { amount: 25 })
    expect(await accounts()).toEqual([])
    expect(await ofPolicy(id)).toEqual([])
    expect(await history(id)).toMatchObject([{ deleted_at, spent: 25, reserved: 0, remaining: 75 }])
  })
})

describe('GET /v1/policies/{id}/budget 200', () => {
  it('is what the list says of that policy', async () => {
    await register('agent:a')
    const ids = [
      await budgeted('a.one', HOURLY),
      await budgeted('a.two', OF_AGENTS),
      await budgeted('a.three', MONTHLY),
    ]
    server.clock.advance(58 * MINUTE_MS)
    for (const action of ['a.one', 'a.two', 'a.three']) await spend(action, 1)
    server.clock.advance(2 * MINUTE_MS)
    await put(ids[2] as string, spending('a.three', { ...MONTHLY, unit: 'USD' }))
    const all = await accounts()
    expect(all).toHaveLength(5)
    for (const id of ids) expect(await ofPolicy(id)).toEqual(all.filter(({ policy_id }) => policy_id === id))
  })

  it('is empty for a policy that never had a budget', async () => {
    const { id } = await createPolicy(server, { name: 'plain', rules: [{ action: 'a.b', effect: 'allow' }] })
    expect(await succeed(server.call('GET', `/v1/policies/${id}/budget`))).toEqual({ data: [], next_cursor: null })
    expect(await succeed(server.call('GET', `/v1/policies/${id}/budget/history`))).toEqual({
      data: [],
      next_cursor: null,
    })
  })

  it('is given page by page, each as of the first one, though the policy is changed meanwhile', async () => {
    const id = await budgeted('a.b', OF_AGENTS)
    const agents = Array.from({ length: 5 }, (_, i) => `agent:n${i}`)
    for (const agent of agents) {
      await register(agent)
      await spend('a.b', 1, agent)
    }
    const listed: string[] = []
    let isChanged = false
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path: string = `/v1/policies/${id}/budget?limit=2${cursor && `&cursor=${cursor}`}`
      const page = await succeed(server.call('GET', path))
      expect(page.data.length).toBeLessThanOrEqual(2)
      listed.push(...page.data.map(({ agent_id }: { agent_id: string }) => agent_id))
      cursor = page.next_cursor
      if (isChanged) continue
      isChanged = true
      const { rules, name } = await succeed(server.call('GET', `/v1/policies/${id}`))
      const budget = { ...OF_AGENTS, scope: 'policy' }
      await succeed(server.call('PUT', `/v1/policies/${id}`, { body: { name, rules, budget } }))
    }
    expect(listed).toEqual(agents.toReversed())
  })
})

describe('GET /v1/policies/{id}/budget/history 200', () => {
  it('has every account that is neither present nor holds anything, the last opened first', async () => {
    const id = await budgeted('a.b', HOURLY)
    await budgeted('a.other', HOURLY)
    const hour = (n: number) => ({ starts_at: new Date(Date.UTC(2026, 10, 21, 10 + n)).toISOString() })
    for (let n = 0; n < 5; n++) {
      await spend('a.b', n + 1)
      await spend('a.other', 1)
      server.clock.advance(HOUR_MS)
    }
    expect(await history(id)).toMatchObject([4, 3, 2, 1, 0].map((n) => ({ ...hour(n), spent: n + 1, limit: 100 })))
    await spend('a.b', 6)
    expect(await history(id)).toHaveLength(5)
    for (const limit of [1, 2, 4]) {
      const spent: number[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const path: string = `/v1/policies/${id}/budget/history?limit=${limit}${cursor && `&cursor=${cursor}`}`
        const page = await succeed(server.call('GET', path))
        expect(page.data.length).toBeGreaterThan(0)
        spent.push(...page.data.map((account: { spent: number }) => account.spent))
        cursor = page.next_cursor
      }
      expect(spent).toEqual([5, 4, 3, 2, 1])
    }
  })

  it('shows an account that a late word corrected, in its own period', async () => {
    const id = await budgeted('a.b', HOURLY)
    const decision = await spend('a.b', 30)
    server.clock.advance(24 * HOUR_MS)
    expect(await history(id)).toMatchObject([{ spent: 30 }])
    await settle(decision, 'confirm', { amount: 12.25 })
    expect(await history(id)).toMatchObject([{ starts_at: '2026-11-21T10:00:00.000Z', spent: 12.25, remaining: 87.75 }])
    expect(await ofPolicy(id)).toMatchObject([{ starts_at: '2026-11-22T10:00:00.000Z', spent: 0 }])
  })
})

describe('keys that are bound to agents', () => {
  it('see the accounts of their agents and those of all agents together', async () => {
    for (const agent of ['agent:a', 'agent:b']) await register(agent)
    const each = await budgeted('a.each', OF_AGENTS)
    const shared = await budgeted('a.shared', MONTHLY)
    for (const agent of ['agent:a', 'agent:b']) {
      await spend('a.each', 1, agent)
      await spend('a.shared', 1, agent)
    }
    const { key } = await makeKey(server, ['budgets:read'], { agents: ['agent:a'] })
    const seen = async (path: string) =>
      (await succeed(server.call('GET', path, { key }))).data.map((one: { policy_id: string; agent_id: string }) => [
        one.policy_id,
        one.agent_id,
      ])
    expect(await seen('/v1/budgets')).toEqual([
      [shared, null],
      [each, 'agent:a'],
    ])
    await put(each, spending('a.each', { ...OF_AGENTS, unit: 'USD' }))
    expect(await seen('/v1/budgets')).toEqual([
      [shared, null],
      [each, 'agent:a'],
    ])
    expect(await seen(`/v1/policies/${each}/budget`)).toEqual([[each, 'agent:a']])
    server.clock.advance(OVER_MS)
    expect(await seen(`/v1/policies/${each}/budget`)).toEqual([])
    expect(await seen(`/v1/policies/${each}/budget/history`)).toEqual([[each, 'agent:a']])
    expect(await history(each)).toHaveLength(2)
  })
})

describe('the pages of GET /v1/budgets', () => {
  const nameOf = (one: { policy_id: string; agent_id: string; unit: string; starts_at: string }) =>
    [one.policy_id, one.agent_id, one.unit, one.starts_at].join(' ')

  /** Present accounts of one kind and the other, and held ones of earlier forms and periods. */
  async function manyAccounts(): Promise<string[]> {
    for (const agent of ['agent:a', 'agent:b', 'agent:c']) await register(agent)
    const ids: string[] = []
    server.clock.advance(58 * MINUTE_MS)
    for (let i = 0; i < 3; i++) {
      ids.push(await budgeted(`shared.${i}`, HOURLY), await budgeted(`each.${i}`, OF_AGENTS))
      ids.push(await budgeted(`idle.${i}`, OF_AGENTS))
      await spend(`shared.${i}`, 1)
      for (const agent of ['agent:a', 'agent:b', 'agent:c']) await spend(`each.${i}`, 1, agent)
    }
    await put(ids[1] as string, spending('each.0', { ...OF_AGENTS, unit: 'USD' }))
    await spend('each.0', 1, 'agent:b')
    server.clock.advance(2 * MINUTE_MS)
    return ids
  }

  async function paged(limit: number, between: () => Promise<unknown> = async () => {}): Promise<string[]> {
    const names: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await succeed(server.call('GET', `/v1/budgets?limit=${limit}${cursor && `&cursor=${cursor}`}`))
      expect(page.data.length).toBeGreaterThan(0)
      expect(page.data.length).toBeLessThanOrEqual(limit)
      names.push(...page.data.map(nameOf))
      cursor = page.next_cursor
      await between()
    }
    return names
  }

  it('are the list, whatever their size', async () => {
    await manyAccounts()
    const whole = (await accounts()).map(nameOf)
    expect(whole).toHaveLength(3 + 1 + 2 * 3 + 3 + 3)
    expect(new Set(whole).size).toBe(whole.length)
    for (const limit of [1, 2, 3, 5, whole.length - 1, whole.length]) expect(await paged(limit)).toEqual(whole)
  })

  it('hold nothing twice and leave nothing out while policies change and the hour ends', async () => {
    const ids = await manyAccounts()
    const whole = (await accounts()).map(nameOf)
    const changes = [
      () => put(ids[6] as string, spending('shared.2', { ...HOURLY, unit: 'USD' })),
      () => put(ids[4] as string, spending('each.1', MONTHLY)),
      () => remove(ids[0] as string),
      () => remove(ids[7] as string),
      () => budgeted('new.policy', MONTHLY),
      async () => server.clock.advance(MINUTE_MS),
    ]
    const before = await stored(server)
    expect(await paged(2, async () => changes.shift()?.())).toEqual(whole)
    expect(changes).toEqual([])
    expect(await stored(server)).not.toEqual(before)
  })

  it('go on over a period that ends between two of them', async () => {
    await budgeted('a.one', HOURLY)
    await budgeted('a.two', HOURLY)
    server.clock.advance(59 * MINUTE_MS)
    await spend('a.one', 1)
    await spend('a.two', 1)
    const whole = (await accounts()).map(nameOf)
    expect(await paged(1, async () => server.clock.advance(2 * MINUTE_MS))).toEqual(whole)
  })

  it('skip the present accounts behind them, however many hold something', async () => {
    const id = await budgeted('a.b', MONTHLY)
    await spend('a.b', 1)
    await put(id, spending('a.b', { ...MONTHLY, unit: 'USD' }))
    const each = await budgeted('a.each', OF_AGENTS)
    const agents = Array.from({ length: 410 }, (_, i) => `agent:n${i}`)
    for (const agent of agents) await register(agent)
    await Promise.all(agents.map((agent) => spend('a.each', 1, agent)))
    const names = await paged(100)
    expect(names).toHaveLength(412)
    expect(new Set(names).size).toBe(412)
    expect(names.at(-1)).toContain(`${id}  EUR`)
    expect(names.slice(0, 410).every((name) => name.startsWith(each))).toBe(true)
  })
})

describe('404', () => {
  it('is told of a policy that never was, no matter who asks', async () => {
    const { key } = await makeKey(server, ['budgets:read'], { agents: ['agent:a'] })
    for (const asker of [key, server.key])
      for (const path of ['budget', 'budget/history'])
        expect(
          await server.call('GET', `/v1/policies/pol_01kagx3v5ne8sr6w1y6gqk4t2h/${path}`, { key: asker }),
        ).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})

it('reading needs budgets:read alone', async () => {
  const id = await budgeted('a.b', MONTHLY)
  const { key } = await makeKey(server, ['budgets:read'])
  const other = await makeKey(server, ['policies:read', 'decisions:read'])
  for (const path of ['/v1/budgets', `/v1/policies/${id}/budget`, `/v1/policies/${id}/budget/history`]) {
    expect((await server.call('GET', path, { key })).status).toBe(200)
    expect(await server.call('GET', path, { key: other.key })).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    })
  }
})
