/** Time in the answers when the machine's clock is wrong. */
import type { AuditEntry } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { readResult, submitCommand, withdrawCommand } from '#server/adapters/admin-command-spool/spool'
import type { CommandResult } from '#server/ports/admin-command'
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

describe('a system clock that jumps ahead while the server runs', () => {
  const HOUR_MS = 60 * MINUTE_MS
  const IN_DECEMBER = new Date('2026-12-24T10:00:00.000Z')
  const ready = () => desk.server.call('GET', '/readyz')
  const jumps = () => desk.server.logged.filter(({ message }) => message.startsWith('the system clock jumped ahead'))

  async function confirm(): Promise<CommandResult | null> {
    const path = await submitCommand(desk.server.dataDir, { clock: 'confirm' })
    await until('a result', async () => (await readResult(path)) ?? undefined)
    return withdrawCommand(path)
  }

  it('is not followed: nothing expires and no budget begins again, and /readyz is 503', async () => {
    desk = await Desk.open({ clock: new MachineClock(), budget: { limit: 10 }, rules: OPEN })
    const { id } = await desk.decide(10)
    desk.clock.set(IN_DECEMBER)
    const { status, body } = await ready()
    expect(status).toBe(503)
    expect(body.detail).toBe(
      'the system clock jumped ahead by 2851200 s; the server follows it from 2026-11-21T10:15:00.000Z: set the clock, or run "countersign clock confirm"',
    )
    expect((await desk.get(id)).status).toBe('authorized')
    const denied = await desk.decide(1)
    expect(denied).toMatchObject({ effect: 'deny', reason_code: 'budget_exceeded' })
    expect(denied.evaluated_at).toBe(FROZEN.toISOString())
    await until('the log tells', async () => jumps()[0])
    expect(jumps()).toMatchObject([{ level: 'error', fields: { system_clock: IN_DECEMBER.toISOString() } }])
    desk.clock.set(FROZEN)
    expect((await ready()).status).toBe(200)
    desk.clock.advance(5 * MINUTE_MS)
    expect((await desk.get(id)).status).toBe('expired')
  })

  it('is followed once the operator confirms it', async () => {
    desk = await Desk.open({ clock: new MachineClock(), budget: { limit: 10 }, rules: OPEN })
    await desk.decide(10)
    expect(await confirm()).toEqual({ refused: 'The server already follows the system clock.' })
    desk.clock.set(IN_DECEMBER)
    expect((await ready()).status).toBe(503)
    expect(await confirm()).toEqual({ done: true })
    expect((await ready()).status).toBe(200)
    expect(await desk.decide(10)).toMatchObject({ effect: 'allow', evaluated_at: IN_DECEMBER.toISOString() })
  })

  it('is followed once it has held for 15 minutes', async () => {
    desk = await Desk.open({ clock: new MachineClock(), rules: OPEN })
    desk.clock.set(new Date(FROZEN.getTime() + HOUR_MS))
    expect((await ready()).status).toBe(503)
    desk.clock.advance(15 * MINUTE_MS - 1)
    expect((await ready()).status).toBe(503)
    desk.clock.advance(1)
    expect((await ready()).status).toBe(200)
    expect((await desk.decide(1)).evaluated_at).toBe('2026-11-21T11:15:00.000Z')
  })

  it('by five minutes is followed at once', async () => {
    desk = await Desk.open({ clock: new MachineClock(), rules: OPEN })
    desk.clock.set(new Date(FROZEN.getTime() + 5 * MINUTE_MS))
    expect((await ready()).status).toBe(200)
    expect((await desk.decide(1)).evaluated_at).toBe('2026-11-21T10:05:00.000Z')
  })
})
