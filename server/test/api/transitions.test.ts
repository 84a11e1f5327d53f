/** Every status, however it was reached, against every move: what is not allowed is a 409 and changes nothing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conflict, DAY_MS, Desk } from './desk.js'
import { everyItem, succeed } from './refunds.js'
import { stored } from './stored.js'

const LATE_MS = 30 * DAY_MS

const MOVES = {
  approve: (id: string) => desk.move('approve', id),
  decline: (id: string) => desk.move('decline', id),
  claim: (id: string) => desk.move('claim', id, { holder: 'one' }),
  confirm: (id: string) => desk.move('confirm', id, { amount: 7 }),
  reject: (id: string) => desk.move('reject', id),
  'correct to confirmed': (id: string) => desk.move('correct', id, { result: 'confirmed', amount: 8 }),
  'correct to rejected': (id: string) => desk.move('correct', id, { result: 'rejected' }),
}
type Move = keyof typeof MOVES

/** How a decision comes into a status, and the moves that are allowed there; all the others are not. */
const ORIGINS: Readonly<
  Record<string, { readonly status: string; readonly make: () => Promise<string>; readonly allowed: readonly Move[] }>
> = {
  denied: { status: 'denied', make: async () => (await desk.decide(5000)).id, allowed: [] },
  'expired while it waited': { status: 'expired', make: async () => (await desk.decide(101)).id, allowed: [] },
  'expired while it was approved': { status: 'expired', make: async () => (await desk.approved(102)).id, allowed: [] },
  'expired while it was authorized': {
    status: 'expired',
    make: async () => (await desk.decide(3)).id,
    allowed: ['confirm', 'reject'],
  },
  'expired after a claim': {
    status: 'expired',
    make: async () => (await desk.claimed(104)).id,
    allowed: ['confirm', 'reject'],
  },
  authorized: { status: 'authorized', make: async () => (await desk.decide(5)).id, allowed: ['confirm', 'reject'] },
  claimed: {
    status: 'authorized',
    make: async () => (await desk.claimed(106)).id,
    allowed: ['confirm', 'reject', 'claim'],
  },
  'awaiting review': {
    status: 'awaiting_review',
    make: async () => (await desk.decide(107)).id,
    allowed: ['approve', 'decline', 'reject'],
  },
  approved: {
    status: 'approved',
    make: async () => (await desk.approved(108)).id,
    allowed: ['decline', 'reject', 'claim'],
  },
  declined: { status: 'declined', make: async () => moved('decline', await desk.decide(109)), allowed: [] },
  'declined when approved': {
    status: 'declined',
    make: async () => moved('decline', await desk.approved(110)),
    allowed: [],
  },
  confirmed: {
    status: 'confirmed',
    make: async () => moved('confirm', await desk.decide(11)),
    allowed: ['correct to confirmed', 'correct to rejected'],
  },
  rejected: {
    status: 'rejected',
    make: async () => moved('reject', await desk.decide(12)),
    allowed: ['reject', 'correct to confirmed', 'correct to rejected'],
  },
  withdrawn: {
    status: 'rejected',
    make: async () => moved('reject', await desk.decide(113)),
    allowed: ['reject', 'correct to rejected'],
  },
  'withdrawn when approved': {
    status: 'rejected',
    make: async () => moved('reject', await desk.approved(114)),
    allowed: ['reject', 'correct to rejected'],
  },
}

/** These are over by the time that the others are made. */
const OVER = Object.keys(ORIGINS).filter((name) => name.startsWith('expired'))

let desk: Desk
const ids: Record<string, string> = {}
beforeAll(async () => {
  desk = await Desk.open({ budget: { limit: 1_000_000, period: 'total' } })
  for (const name of OVER) ids[name] = (await ORIGINS[name]?.make()) as string
  desk.clock.advance(DAY_MS)
  for (const [name, { make }] of Object.entries(ORIGINS)) ids[name] ??= await make()
  // Writes what the clock has ended, so that nothing else writes while a test looks.
  await desk.budgets()
  expect(await everyItem(desk.server, '/v1/audit?type=decision.expired')).toHaveLength(OVER.length)
})
afterAll(() => desk.stop())

const moved = async (verb: 'confirm' | 'reject' | 'decline', { id }: { id: string }): Promise<string> =>
  (await succeed(desk.move(verb, id))).id

const illegal = Object.entries(ORIGINS).flatMap(([name, { status, allowed }]) =>
  (Object.keys(MOVES) as Move[]).filter((move) => !allowed.includes(move)).map((move) => ({ name, status, move })),
)

it('all eight statuses are here', () => {
  expect(new Set(Object.values(ORIGINS).map(({ status }) => status))).toEqual(
    new Set([
      ...['authorized', 'denied', 'awaiting_review', 'approved'],
      ...['declined', 'confirmed', 'rejected', 'expired'],
    ]),
  )
})

describe('no move', () => {
  it.each(illegal)('$move of what is $name', async ({ name, status, move }) => {
    const id = ids[name] as string
    const before = { stored: await stored(desk.server), decision: await desk.get(id), budgets: await desk.budgets() }
    expect(before.decision.status).toBe(status)
    expect(await MOVES[move](id)).toMatchObject(conflict(status))
    expect({ stored: await stored(desk.server), decision: await desk.get(id), budgets: await desk.budgets() }).toEqual(
      before,
    )
  })

  it('of an open review is the reject of a key that did not ask', async () => {
    for (const name of ['awaiting review', 'approved']) {
      const id = ids[name] as string
      const before = await stored(desk.server)
      expect(await desk.move('reject', id, {}, { as: 'settler' })).toMatchObject(conflict((await desk.get(id)).status))
      expect(await stored(desk.server)).toEqual(before)
    }
  })
})

// The last ones, for they move what the others look at.
describe('every move', () => {
  const legal = Object.entries(ORIGINS).flatMap(([name, { allowed }]) => allowed.map((move) => ({ name, move })))

  it.each(legal)('$move of what is $name', async ({ name, move }) => {
    const origin = ORIGINS[name] as (typeof ORIGINS)[string]
    // An expired one serves once: making another takes a day.
    const id = name.startsWith('expired') && move === 'confirm' ? (ids[name] as string) : await origin.make()
    if (name.startsWith('expired') && move === 'reject') desk.clock.advance(DAY_MS)
    expect(await MOVES[move](id)).toMatchObject({ status: 200, body: { id } })
  })

  it('ends 30 days after the end, but for what says the same again', async () => {
    const [confirmed, rejected] = [await desk.decide(20), await desk.decide(21)]
    await succeed(desk.move('confirm', confirmed.id))
    await succeed(desk.move('reject', rejected.id))
    const silent = await desk.decide(22)
    desk.clock.set(new Date(Date.parse(silent.expires_at) + LATE_MS))
    for (const move of ['confirm', 'reject'] as const)
      expect(await MOVES[move](silent.id)).toMatchObject(conflict('expired'))
    for (const [{ id }, status] of [
      [confirmed, 'confirmed'],
      [rejected, 'rejected'],
    ])
      expect(await MOVES['correct to confirmed'](id)).toMatchObject(conflict(status))
    expect((await desk.move('confirm', confirmed.id)).status).toBe(200)
    expect((await desk.move('reject', rejected.id)).status).toBe(200)
  })
})
