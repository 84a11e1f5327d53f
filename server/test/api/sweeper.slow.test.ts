/** What the clock ends is written by itself, told in the audit log, and never told twice. */
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AGENT, DAY_MS, Desk, MINUTE_MS } from './desk.js'
import { everyItem, succeed } from './refunds.js'

const OFTEN_MS = 20

let desk: Desk
afterEach(() => desk.stop())

/** Its timers are real: others run by them too, and a server that shares its store and cannot look at it refuses. */
const openDesk = async (expireEveryMs: number) => {
  desk = await Desk.open({ parts: { expireEveryMs } })
}

/** The entries that tell of an end, once there are this many: the sweeper comes by again and again. */
const expiries = (count: number) =>
  until(`${count} entries of an end`, async () => {
    const entries = await everyItem(desk.server, '/v1/audit?type=decision.expired')
    return entries.length >= count ? entries : undefined
  })

describe('the sweeper', () => {
  beforeEach(() => openDesk(OFTEN_MS))

  it('writes the end of what was authorized, waited, or was approved, as done by nobody', async () => {
    const [authorized, waiting] = [await desk.decide(10), await desk.decide(200)]
    const approved = await desk.approved(300)
    desk.clock.advance(DAY_MS)
    const entries = await expiries(3)
    const subjects = [authorized, waiting, approved].map(({ id }) => id).sort()
    expect(entries.map(({ subject }) => subject).sort()).toEqual(subjects)
    for (const entry of entries) expect(entry).toMatchObject({ actor: null, agent_id: AGENT, type: 'decision.expired' })
    expect(await desk.account()).toMatchObject({ spent: 10, reserved: 0 })
    for (const { id } of [authorized, waiting, approved]) {
      expect((await desk.get(id)).status).toBe('expired')
      expect((await desk.told(id)).filter((type) => type === 'expired')).toHaveLength(1)
    }
  })

  it('leaves alone what was settled before its end', async () => {
    const [confirmed, silent] = [await desk.decide(10), await desk.decide(20)]
    await succeed(desk.transition('confirm', confirmed.id))
    desk.clock.advance(5 * MINUTE_MS)
    expect((await expiries(1)).map(({ subject }) => subject)).toEqual([silent.id])
    expect(await desk.told(confirmed.id)).toEqual(['confirmed'])
  })

  it('catches up with what ended while no server ran', async () => {
    const decisions = [await desk.decide(10), await desk.decide(200), await desk.claimed(300)]
    desk.server = await desk.server.restart({ meanwhile: async () => desk.clock.advance(2 * DAY_MS) })
    const entries = await expiries(3)
    expect(entries.map(({ subject }) => subject).sort()).toEqual(decisions.map(({ id }) => id).sort())
    expect(await desk.account()).toMatchObject({ spent: 310, reserved: 0 })
    desk.server = await desk.server.restart()
    await desk.decide(1)
    expect(await everyItem(desk.server, '/v1/audit?type=decision.expired')).toHaveLength(3)
  })

  it('catches up with many, one entry for each', async () => {
    const ids = await Promise.all(Array.from({ length: 300 }, async () => (await desk.decide(1)).id))
    desk.clock.advance(5 * MINUTE_MS)
    const entries = await expiries(300)
    expect(new Set(entries.map(({ subject }) => subject))).toEqual(new Set(ids))
    expect(entries).toHaveLength(300)
    expect(await desk.account()).toEqual({ spent: 300, reserved: 0, remaining: 700 })
  })
})

describe('the status', () => {
  it('is that of the clock everywhere at once, before anything was written', async () => {
    await openDesk(DAY_MS)
    const { id } = await desk.decide(10)
    desk.clock.advance(5 * MINUTE_MS)
    const list = async (status: string) =>
      (await everyItem(desk.server, `/v1/decisions?status=${status}`)).map((decision) => decision.id)
    expect([await list('authorized'), await list('expired')]).toEqual([[], [id]])
    expect((await desk.get(id, 'asker')).status).toBe('expired')
    expect(await desk.get(id, 'asker')).not.toHaveProperty('permit_token')
  })

  it('is what a late word makes of it, whether the end was written or not', async () => {
    await openDesk(OFTEN_MS)
    const [before, after] = [await desk.decide(10), await desk.decide(20)]
    desk.clock.advance(5 * MINUTE_MS)
    await succeed(desk.transition('confirm', before.id))
    await expiries(1)
    await succeed(desk.transition('reject', after.id))
    expect(await desk.account()).toMatchObject({ spent: 10, reserved: 0 })
    expect((await desk.told(after.id)).at(-1)).toBe('rejected')
  })
})

describe('the audit log', () => {
  it('tells every transition once, with who did it', async () => {
    await openDesk(DAY_MS)
    const first = await desk.claimed(300)
    await succeed(desk.redeem(first.permit_token))
    await succeed(desk.transition('confirm', first.id))
    await succeed(desk.transition('correct', first.id, { result: 'rejected' }))
    const second = await desk.decide(200)
    await succeed(desk.transition('decline', second.id))
    const third = await desk.decide(10)
    await succeed(desk.transition('reject', third.id))
    const entriesOf = async (id: string) =>
      (await everyItem(desk.server, `/v1/audit?decision_id=${id}`)).reverse().map(({ type, actor }) => [type, actor])
    const [asker, reviewer] = [desk.idOf('asker'), desk.idOf('reviewer')]
    expect(await entriesOf(first.id)).toEqual([
      ['decision.created', asker],
      ['decision.approved', reviewer],
      ['decision.claimed', asker],
      ['decision.redeemed', desk.idOf('redeemer')],
      ['decision.confirmed', asker],
      ['decision.corrected', desk.idOf('settler')],
    ])
    expect(await entriesOf(second.id)).toEqual([
      ['decision.created', asker],
      ['decision.declined', reviewer],
    ])
    expect(await entriesOf(third.id)).toEqual([
      ['decision.created', asker],
      ['decision.rejected', asker],
    ])
  })
})
