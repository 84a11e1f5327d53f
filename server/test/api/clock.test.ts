/** Time in the answers when the machine's clock is wrong. */
import type { AuditEntry } from '@countersign/contract'
import { afterEach, describe, expect, it } from 'vitest'
import { MachineClock } from '../machine-clock.js'
import { FROZEN } from '../running-server.js'
import { DAY_MS, Desk, MINUTE_MS } from './desk.js'
import { everyItem } from './refunds.js'

let desk: Desk
afterEach(() => desk.stop())

const OPEN = [{ action: '*', effect: 'allow' }]
const MONTH_EARLIER = new Date(FROZEN.getTime() - 31 * DAY_MS)

const warnings = () => desk.server.logged.filter(({ message }) => message.startsWith('the system clock is behind'))

describe('a server started again with the clock a month back', () => {
  it('opens no closed period, writes no earlier time, and warns', async () => {
    desk = await Desk.open({ clock: new MachineClock(MONTH_EARLIER), budget: { limit: 10 }, rules: OPEN })
    expect((await desk.decide(10)).budgets).toMatchObject([{ starts_at: '2026-10-01T00:00:00.000Z', remaining: 0 }])
    desk.clock.advance(31 * DAY_MS)
    const before = await desk.decide(10)
    expect(before.budgets).toMatchObject([{ starts_at: '2026-11-01T00:00:00.000Z', remaining: 0 }])

    desk.server = await desk.server.restart({ clock: new MachineClock(MONTH_EARLIER) })
    expect(warnings()).toMatchObject([
      {
        level: 'warn',
        fields: { system_clock: MONTH_EARLIER.toISOString(), newest_entry: before.evaluated_at },
      },
    ])
    expect(await desk.decide(1)).toMatchObject({
      effect: 'deny',
      reason_code: 'budget_exceeded',
      evaluated_at: before.evaluated_at,
      budgets: [{ starts_at: '2026-11-01T00:00:00.000Z' }],
    })
    const entries: AuditEntry[] = await everyItem(desk.server, '/v1/audit')
    for (const log of new Set(entries.map(({ log }) => log))) {
      const times = entries.filter((entry) => entry.log === log).sort((a, b) => a.index - b.index)
      expect(times.map(({ at }) => at)).toEqual(times.map(({ at }) => at).sort())
    }
  })

  it('still lets end what has an end', async () => {
    desk = await Desk.open({ clock: new MachineClock(), rules: OPEN })
    const { id } = await desk.decide(10)
    desk.server = await desk.server.restart({ clock: new MachineClock(MONTH_EARLIER) })
    expect((await desk.get(id)).status).toBe('authorized')
    desk.clock.advance(5 * MINUTE_MS)
    expect((await desk.get(id)).status).toBe('expired')
  })
})

describe('a clock that is a second behind', () => {
  it('is nothing to warn of', async () => {
    desk = await Desk.open({ clock: new MachineClock(), rules: OPEN })
    await desk.decide(10)
    desk.server = await desk.server.restart({ clock: new MachineClock(new Date(FROZEN.getTime() - 1000)) })
    expect(warnings()).toEqual([])
  })
})
