/** Counts of decisions and money: those of every decision once, as of now, over restarts. */
import { type AuditEntry, STATS_GROUPS, STATS_INTERVALS, type Stats } from '@countersign/contract'
import { SEED, seededRandom } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { expectCounted } from '../feed/statistics/naive-count.js'
import { FROZEN, type RunningServer, runServer } from '../running-server.js'
import { DAY_MS, Desk, MINUTE_MS } from './desk.js'
import { createPolicy, decide, everyItem, makeKey, succeed } from './refunds.js'

const HOUR_MS = 3_600_000

describe('GET /v1/stats 200: after many decisions, transitions, corrections and restarts', () => {
  let desk: Desk
  afterEach(() => desk.stop())

  it('is what a walk over all entries counts, and its money that of the budgets', async () => {
    desk = await Desk.open({ budget: { limit: 1e6 } })
    const random = seededRandom(SEED)
    const below = (end: number) => Math.floor(random() * end)
    const ids: string[] = []
    const amount = () => (1 + below(2e9)) / 1e6
    for (let step = 0; step < 150; step += 1) {
      if (ids.length === 0 || random() < 0.4) ids.push((await desk.decide(amount())).id)
      const id = ids[below(ids.length)] as string
      const verb = (['approve', 'decline', 'claim', 'confirm', 'confirm', 'reject', 'correct'] as const)[below(7)]
      if (verb === 'confirm') await desk.transition(verb, id, random() < 0.5 ? {} : { amount: amount() })
      else if (verb === 'correct')
        await desk.transition(
          verb,
          id,
          random() < 0.3 ? { result: 'rejected' } : { result: 'confirmed', amount: amount() },
        )
      else if (verb !== undefined) await desk.transition(verb, id)
      if (random() < 0.1) desk.clock.advance(below(3 * HOUR_MS))
      if (random() < 0.03) await desk.budgets()
      if (random() < 0.02) desk.server = await desk.server.restart()
    }
    const accounts = await desk.budgets()
    const entries: AuditEntry[] = (await everyItem(desk.server, '/v1/audit')).toReversed()
    const from = new Date(FROZEN.getTime() - HOUR_MS).toISOString()
    const to = new Date(desk.clock.now().getTime() + 1).toISOString()
    for (const interval of STATS_INTERVALS)
      for (const group of [null, ...STATS_GROUPS]) {
        const start = interval === 'minute' ? new Date(Date.parse(to) - 1400 * MINUTE_MS).toISOString() : from
        const path = `/v1/stats?from=${start}&to=${to}&interval=${interval}${group === null ? '' : `&group=${group}`}`
        const found: Stats = await succeed(desk.server.call('GET', path))
        expectCounted(found, entries, { from: start, to, interval, group })
      }
    const { budgets, total }: Stats = await succeed(desk.server.call('GET', `/v1/stats?from=${from}&interval=day`))
    expect(total.decisions).toBe(ids.length)
    expect(budgets).toMatchObject([{ policy_id: desk.policy.id, unit: 'EUR' }])
    expect(budgets[0]?.settled).toBe(accounts.reduce((sum, { spent }) => sum + Math.round(spent * 1e6), 0) / 1e6)
  })
})

describe('GET /v1/stats 200', () => {
  let server: RunningServer
  beforeEach(async () => {
    server = await runServer({ settings: { rateLimitPerSecond: 0 } })
    await createPolicy(server, { name: 'all', rules: [{ action: 'mail.*', effect: 'allow' }] })
  })
  afterEach(() => server.stop())

  const stats = (query = '', key?: string): Promise<Stats> =>
    succeed(server.call('GET', `/v1/stats${query}`, key === undefined ? {} : { key }))
  const at = (ms: number) => new Date(FROZEN.getTime() + ms).toISOString()
  const ask = (agent_id = 'agent:a', action = 'mail.send') => decide(server, { agent_id, action })

  it('counts a decision as soon as it was answered', async () => {
    for (let decisions = 1; decisions <= 10; decisions += 1) {
      await ask()
      expect(await stats()).toMatchObject({ total: { decisions }, uncounted_entries: 0 })
    }
  })

  it('is of the last 24 hours, 60 minutes or 30 days unless said', async () => {
    expect(await stats()).toEqual({
      from: '2026-11-20T11:00:00.000Z',
      to: '2026-11-21T11:00:00.000Z',
      interval: 'hour',
      group: null,
      total: { decisions: 0, effects: { allow: 0, deny: 0, review: 0, log: 0 }, latency_ms: null },
      data: [],
      budgets: [],
      incomplete: false,
      uncounted_entries: 0,
    })
    const spans = {
      minute: ['2026-11-21T09:01:00.000Z', '2026-11-21T10:01:00.000Z'],
      day: ['2026-10-23', '2026-11-22'],
    }
    for (const [interval, [from, to]] of Object.entries(spans)) {
      const found = await stats(`?interval=${interval}`)
      expect([found.from, found.to]).toEqual([expect.stringMatching(`^${from}`), expect.stringMatching(`^${to}`)])
    }
    expect(await stats(`?to=${at(0)}`)).toMatchObject({ from: at(-24 * HOUR_MS), to: at(0) })
  })

  it('counts whole buckets: those that `from` and `to` are in', async () => {
    const base = HOUR_MS
    for (const time of [-1, 0, HOUR_MS - 1, HOUR_MS]) {
      server.clock.set(new Date(FROZEN.getTime() + base + time))
      await ask()
    }
    const starts = async (from: number, to: number) => {
      const { data } = await stats(`?from=${at(base + from)}&to=${at(base + to)}`)
      return data.map(({ starts_at, decisions }) => [starts_at, decisions])
    }
    expect(await starts(0, HOUR_MS)).toEqual([[at(base), 2]])
    expect(await starts(HOUR_MS / 2, HOUR_MS / 2 + 1)).toEqual([[at(base), 2]])
    expect(await starts(-1, 1)).toEqual([
      [at(0), 1],
      [at(base), 2],
    ])
    expect(await starts(HOUR_MS - 1, HOUR_MS + 1)).toEqual([
      [at(base), 2],
      [at(2 * base), 1],
    ])
    expect(await starts(2 * HOUR_MS, 3 * HOUR_MS)).toEqual([])
  })

  it('has a row for decisions that no rule matched', async () => {
    const { policy_id } = await ask()
    for (let i = 0; i < 2; i += 1) await ask('agent:a', 'file.read')
    expect((await stats('?group=policy')).data).toMatchObject([
      { value: 'pol_default', decisions: 2, effects: { allow: 0, deny: 2 } },
      { value: policy_id, decisions: 1, effects: { allow: 1, deny: 0 } },
    ])
  })

  it('names the 50 values with most decisions, fewer over many buckets, and counts the rest together', async () => {
    for (let i = 0; i < 60; i += 1) await ask('agent:a', `mail.n${String(i).padStart(2, '0')}`)
    await ask('agent:a', 'mail.n59')
    const day = await stats('?group=action')
    expect(day.data.map(({ value }) => value)).toEqual([
      'mail.n59',
      ...Array.from({ length: 49 }, (_, i) => `mail.n${String(i).padStart(2, '0')}`),
      null,
    ])
    expect(day.data.at(-1)).toMatchObject({ decisions: 10 })
    expect(day.total.decisions).toBe(61)
    const weeks = await stats(`?group=action&from=${at(-1400 * HOUR_MS)}`)
    expect(weeks.data).toHaveLength(8)
    expect(weeks.total).toEqual(day.total)
  })

  describe('for a key that is bound to agents', () => {
    beforeEach(async () => {
      for (const agent of ['agent:a', 'agent:b', 'agent:b', 'other:c']) await ask(agent)
    })

    it('counts its own agents, together or each', async () => {
      const { key } = await makeKey(server, ['decisions:read'], { agents: ['agent:*'] })
      const together = await stats('', key)
      expect(together.data).toMatchObject([{ starts_at: at(0), value: null, decisions: 3 }])
      expect(together).toMatchObject({ total: { decisions: 3, effects: { allow: 3 } }, budgets: [] })
      const each = await stats('?group=agent', key)
      expect(each.data).toMatchObject([
        { value: 'agent:b', decisions: 2 },
        { value: 'agent:a', decisions: 1 },
      ])
      expect(each.total.decisions).toBe(3)
    })

    it.each(['action', 'effect', 'policy'])('is a 400 by %s', async (group) => {
      const { key } = await makeKey(server, ['decisions:read'], { agents: ['agent:*'] })
      const { status, body } = await server.call('GET', `/v1/stats?group=${group}`, { key })
      expect(status).toBe(400)
      expect(body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/group' }] })
    })
  })

  it('shows money to keys that may read budgets', async () => {
    const budget = { limit: 100, unit: 'EUR', period: 'monthly' }
    const policy = await createPolicy(server, { name: 'pay', rules: [{ action: 'pay', effect: 'allow' }], budget })
    const pay = (amount: number) => decide(server, { agent_id: 'agent:a', action: 'pay', context: { amount } })
    const [one, two] = [await pay(30.000001), await pay(20)]
    await succeed(server.call('POST', `/v1/decisions/${one.id}/confirm`, { body: { amount: 10.5 } }))
    await succeed(server.call('POST', `/v1/decisions/${two.id}/reject`))
    await pay(5)
    const money = { policy_id: policy.id, unit: 'EUR', decided: 55.000001, settled: 10.5, released: 39.500001 }
    expect((await stats()).budgets).toEqual([money])
    const reader = await makeKey(server, ['decisions:read', 'budgets:read'])
    expect((await stats('', reader.key)).budgets).toEqual([money])
    const { key } = await makeKey(server, ['decisions:read'])
    expect((await stats('', key)).budgets).toEqual([])
  })

  it('counts what a declined approval gives back', async () => {
    const budget = { limit: 100, unit: 'EUR', period: 'monthly' }
    await createPolicy(server, { name: 'pay', rules: [{ action: 'pay', effect: 'review' }], budget })
    const { key } = await makeKey(server, ['decisions:write'])
    const { id } = await decide(server, { agent_id: 'agent:a', action: 'pay', context: { amount: 30 } }, key)
    expect((await stats()).budgets).toEqual([])
    for (const verb of ['approve', 'decline']) await succeed(server.call('POST', `/v1/decisions/${id}/${verb}`))
    expect((await stats()).budgets).toMatchObject([{ decided: 30, settled: 0, released: 30 }])
  })

  it('reaches back as far as the calendar', async () => {
    expect(await stats(`?interval=day&from=0000-01-01T00:00:00.000Z&to=0000-01-02T00:00:00.000Z`)).toMatchObject({
      data: [],
    })
  })
})

describe('GET /v1/stats 400', () => {
  let server: RunningServer
  beforeEach(async () => {
    server = await runServer()
  })
  afterEach(() => server.stop())

  const at = (ms: number) => new Date(FROZEN.getTime() + ms).toISOString()

  it.each([
    ['an interval that is none', '?interval=week', '/interval'],
    ['a group that is none', '?group=key', '/group'],
    ['another parameter', '?limit=10', '/limit'],
    ['a time without an offset', '?from=2026-11-21T10:00:00', '/from'],
    ['an end at the start', `?from=${at(0)}&to=${at(0)}`, '/from'],
    ['an end before the start in one bucket', `?from=${at(2)}&to=${at(1)}`, '/from'],
    ['a start that is ahead', `?from=${at(HOUR_MS)}`, '/from'],
    ['more than 1,500 buckets', `?from=${at(-1500 * HOUR_MS)}`, '/from'],
    ['years by the minute', `?interval=minute&from=${at(-1000 * DAY_MS)}&to=${at(0)}`, '/from'],
    ['the days before the calendar', '?interval=day&to=0000-01-02T00:00:00.000Z', '/to'],
    ['the day after the calendar', '?interval=day&to=9999-12-31T23:59:59.999Z', '/to'],
  ])('for %s', async (_, query, pointer) => {
    const { status, body } = await server.call('GET', `/v1/stats${query}`)
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'validation_failed', errors: [{ pointer }] })
  })

  it('not for 1,500 buckets', async () => {
    expect((await server.call('GET', `/v1/stats?from=${at(-1499 * HOUR_MS)}`)).status).toBe(200)
  })
})
