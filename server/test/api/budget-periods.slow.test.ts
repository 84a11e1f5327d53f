/** A reservation belongs to the period in which it is made, and settles there. */
import { afterEach, describe, expect, it } from 'vitest'
import { DAY_MS, Desk, MINUTE_MS } from './desk.js'
import { everyItem, succeed } from './refunds.js'

let desk: Desk
afterEach(() => desk.stop())

async function openAt(time: string, budget: object): Promise<void> {
  desk = await Desk.open({ budget, rules: [{ action: '*', effect: 'allow' }] })
  desk.clock.set(new Date(time))
}

const rows = async () =>
  (await desk.budgets()).map(({ starts_at, resets_at, spent, reserved }) => ({ starts_at, resets_at, spent, reserved }))
const history = async () =>
  (await everyItem(desk.server, `/v1/policies/${desk.policy.id}/budget/history`)).map(
    ({ starts_at, spent, reserved }) => ({ starts_at, spent, reserved }),
  )

/** The last second of a period, where it began, and where the next one ends. */
const ENDS = [
  {
    period: 'hourly',
    end: '2026-11-21T11:00:00.000Z',
    start: '2026-11-21T10:00:00.000Z',
    next: '2026-11-21T12:00:00.000Z',
  },
  {
    period: 'daily',
    end: '2028-03-01T00:00:00.000Z',
    start: '2028-02-29T00:00:00.000Z',
    next: '2028-03-02T00:00:00.000Z',
  },
  // A Monday.
  {
    period: 'weekly',
    end: '2026-11-30T00:00:00.000Z',
    start: '2026-11-23T00:00:00.000Z',
    next: '2026-12-07T00:00:00.000Z',
  },
  {
    period: 'weekly',
    end: '2027-01-04T00:00:00.000Z',
    start: '2026-12-28T00:00:00.000Z',
    next: '2027-01-11T00:00:00.000Z',
  },
  {
    period: 'monthly',
    end: '2027-03-01T00:00:00.000Z',
    start: '2027-02-01T00:00:00.000Z',
    next: '2027-04-01T00:00:00.000Z',
  },
  {
    period: 'yearly',
    end: '2027-01-01T00:00:00.000Z',
    start: '2026-01-01T00:00:00.000Z',
    next: '2028-01-01T00:00:00.000Z',
  },
]

describe.each(ENDS)('$period, at $end', ({ period, end, start, next }) => {
  it('one second before counts in the old account, the end itself and one second after in the new one', async () => {
    await openAt(end, { limit: 10, period })
    desk.clock.advance(-1000)
    const old = await desk.decide(10)
    expect(old.budgets).toMatchObject([{ starts_at: start, resets_at: end, remaining: 0, reserved: true }])
    const full = await desk.decide(1)
    expect(full).toMatchObject({
      effect: 'deny',
      reason_code: 'budget_exceeded',
      advice: { retry: 'after', after: end },
    })
    desk.clock.advance(999)
    expect((await desk.decide(1)).effect).toBe('deny')
    desk.clock.advance(1)
    const first = await desk.decide(4)
    expect(first.budgets).toMatchObject([{ starts_at: end, resets_at: next, remaining: 6, reserved: true }])
    desk.clock.advance(1000)
    expect((await desk.decide(6)).budgets).toMatchObject([{ starts_at: end, remaining: 0 }])
    expect((await desk.decide(0.000001)).effect).toBe('deny')
    expect(await rows()).toEqual([
      { starts_at: end, resets_at: next, spent: 0, reserved: 10 },
      { starts_at: start, resets_at: end, spent: 0, reserved: 10 },
    ])

    await succeed(desk.transition('confirm', old.id, { amount: 7.5 }))
    expect(await rows()).toEqual([{ starts_at: end, resets_at: next, spent: 0, reserved: 10 }])
    expect(await history()).toEqual([{ starts_at: start, spent: 7.5, reserved: 0 }])
  })

  it('a late word and a correction change the account in which it was reserved, and no other', async () => {
    await openAt(end, { limit: 10, period })
    desk.clock.advance(-1000)
    const { id } = await desk.decide(8)
    desk.clock.advance(5 * MINUTE_MS)
    expect((await desk.get(id)).status).toBe('expired')
    const present = (await rows())[0]
    expect(present).toMatchObject({ starts_at: end, spent: 0, reserved: 0 })
    expect(await history()).toEqual([{ starts_at: start, spent: 8, reserved: 0 }])
    expect((await desk.transition('confirm', id, { amount: 2 })).body.outcome.late).toBe(true)
    expect(await history()).toEqual([{ starts_at: start, spent: 2, reserved: 0 }])
    await succeed(desk.transition('correct', id, { result: 'rejected' }))
    expect(await history()).toEqual([{ starts_at: start, spent: 0, reserved: 0 }])
    expect(await rows()).toEqual([present])
  })
})

describe('a review over the end of a period', () => {
  it('reserves in the period of its approval', async () => {
    desk = await Desk.open({ budget: { period: 'daily' } })
    desk.clock.set(new Date('2026-11-21T23:59:59.000Z'))
    const { id } = await desk.decide(400)
    desk.clock.advance(2000)
    const { body } = await desk.transition('approve', id)
    expect(body.budgets).toMatchObject([{ starts_at: '2026-11-22T00:00:00.000Z', reserved: true }])
    expect(await rows()).toMatchObject([{ starts_at: '2026-11-22T00:00:00.000Z', reserved: 400 }])
  })

  it('keeps its account through a claim in the next period', async () => {
    desk = await Desk.open({ budget: { period: 'hourly' } })
    desk.clock.set(new Date('2026-11-21T10:59:59.999Z'))
    const { id } = await desk.approved()
    desk.clock.advance(1)
    await succeed(desk.transition('claim', id, { holder: 'one' }))
    await succeed(desk.transition('confirm', id, { amount: 300 }))
    expect(await rows()).toMatchObject([{ starts_at: '2026-11-21T11:00:00.000Z', spent: 0, reserved: 0 }])
    expect(await history()).toEqual([{ starts_at: '2026-11-21T10:00:00.000Z', spent: 300, reserved: 0 }])
  })
})

describe('a caller that never confirms', () => {
  it('gets exactly limit / amount allows in a period, however long it asks', async () => {
    await openAt('2026-11-02T00:00:00.000Z', { limit: 1, period: 'weekly' })
    let allows = 0
    for (let day = 0; day < 7; day += 1) {
      const effects = await Promise.all(Array.from({ length: 5 }, async () => (await desk.decide(0.1)).effect))
      allows += effects.filter((effect) => effect === 'allow').length
      // Over the end of every decision so far: what expired stays spent.
      desk.clock.advance(day < 6 ? DAY_MS : DAY_MS - 1)
    }
    expect(allows).toBe(10)
    expect((await desk.decide(0.1)).effect).toBe('deny')
    expect(await desk.account()).toEqual({ spent: 1, reserved: 0, remaining: 0 })
    desk.clock.advance(1)
    expect((await desk.decide(0.1)).effect).toBe('allow')
  })

  it('gets exactly as many when all of them come at once', async () => {
    await openAt('2026-11-21T10:00:00.000Z', { limit: 10, period: 'total' })
    const effects = await Promise.all(Array.from({ length: 150 }, async () => (await desk.decide(0.1)).effect))
    expect(effects.filter((effect) => effect === 'allow')).toHaveLength(100)
    expect(await desk.account()).toEqual({ spent: 0, reserved: 10, remaining: 0 })
    desk.clock.advance(5 * MINUTE_MS)
    expect((await desk.decide(0.1)).effect).toBe('deny')
    expect(await desk.account()).toEqual({ spent: 10, reserved: 0, remaining: 0 })
  })
})
