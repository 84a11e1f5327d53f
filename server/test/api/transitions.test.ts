/** Every status, however it was reached, against every transition: what is not allowed is a 409 and changes nothing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conflict, DAY_MS, Desk } from './desk.js'
import { everyItem, succeed } from './refunds.js'
import { stored } from './stored.js'

const LATE_MS = 30 * DAY_MS

const TRANSITIONS = {
  approve: (id: string) => desk.transition('approve', id),
  decline: (id: string) => desk.transition('decline', id),
  claim: (id: string) => desk.transition('claim', id, { holder: 'one' }),
  confirm: (id: string) => desk.transition('confirm', id, { amount: 7 }),
  reject: (id: string) => desk.transition('reject', id),
  'correct to confirmed': (id: string) => desk.transition('correct', id, { result: 'confirmed', amount: 8 }),
  'correct to rejected': (id: string) => desk.transition('correct', id, { result: 'rejected' }),
}
type Transition = keyof typeof TRANSITIONS

/** How a decision comes into a status, and the transitions that are allowed there; all the others are not. */
const ORIGINS: Readonly<
  Record<
    string,
    { readonly status: string; readonly make: () => Promise<string>; readonly allowed: readonly Transition[] }
  >
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
  declined: { status: 'declined', make: async () => after('decline', await desk.decide(109)), allowed: [] },
  'declined when approved': {
    status: 'declined',
    make: async () => after('decline', await desk.approved(110)),
    allowed: [],
  },
  confirmed: {
    status: 'confirmed',
    make: async () => after('confirm', await desk.decide(11)),
    allowed: ['correct to confirmed', 'correct to rejected'],
  },
  rejected: {
    status: 'rejected',
    make: async () => after('reject', await desk.decide(12)),
    allowed: ['reject', 'correct to confirmed', 'correct to rejected'],
  },
  withdrawn: {
    status: 'rejected',
    make: async () => after('reject', await desk.decide(113)),
    allowed: ['reject', 'correct to rejected'],
  },
  'withdrawn when approved': {
    status: 'rejected',
    make: async () => after('reject', await desk.approved(114)),
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

const after = async (verb: 'confirm' | 'reject' | 'decline', { id }: { id: string }): Promise<string> =>
  (await succeed(desk.transition(verb, id))).id

const illegal = Object.entries(ORIGINS).flatMap(([name, { status, allowed }]) =>
  (Object.keys(TRANSITIONS) as Transition[])
    .filter((transition) => !allowed.includes(transition))
    .map((transition) => ({ name, status, transition })),
)

it('all eight statuses are here', () => {
  expect(new Set(Object.values(ORIGINS).map(({ status }) => status))).toEqual(
    new Set([
      ...['authorized', 'denied', 'awaiting_review', 'approved'],
      ...['declined', 'confirmed', 'rejected', 'expired'],
    ]),
  )
})

describe('no transition', () => {
  it.each(illegal)('$transition of what is $name', async ({ name, status, transition }) => {
    const id = ids[name] as string
    const before = { stored: await stored(desk.server), decision: await desk.get(id), budgets: await desk.budgets() }
    expect(before.decision.status).toBe(status)
    expect(await TRANSITIONS[transition](id)).toMatchObject(conflict(status))
    expect({ stored: await stored(desk.server), decision: await desk.get(id), budgets: await desk.budgets() }).toEqual(
      before,
    )
  })

  it('of an open review is the reject of a key that did not ask', async () => {
    for (const name of ['awaiting review', 'approved']) {
      const id = ids[name] as string
      const before = await stored(desk.server)
      expect(await desk.transition('reject', id, {}, { as: 'settler' })).toMatchObject(
        conflict((await desk.get(id)).status),
      )
      expect(await stored(desk.server)).toEqual(before)
    }
  })
})

// The last ones, for they change what the others look at.
describe('every transition', () => {
  const legal = Object.entries(ORIGINS).flatMap(([name, { allowed }]) =>
    allowed.map((transition) => ({ name, transition })),
  )

  it.each(legal)('$transition of what is $name', async ({ name, transition }) => {
    const origin = ORIGINS[name] as (typeof ORIGINS)[string]
    // An expired one serves once: making another takes a day.
    const id = name.startsWith('expired') && transition === 'confirm' ? (ids[name] as string) : await origin.make()
    if (name.startsWith('expired') && transition === 'reject') desk.clock.advance(DAY_MS)
    expect(await TRANSITIONS[transition](id)).toMatchObject({ status: 200, body: { id } })
  })

  it('ends 30 days after the end, but for what says the same again', async () => {
    const [confirmed, rejected] = [await desk.decide(20), await desk.decide(21)]
    await succeed(desk.transition('confirm', confirmed.id))
    await succeed(desk.transition('reject', rejected.id))
    const silent = await desk.decide(22)
    desk.clock.set(new Date(Date.parse(silent.expires_at) + LATE_MS))
    for (const transition of ['confirm', 'reject'] as const)
      expect(await TRANSITIONS[transition](silent.id)).toMatchObject(conflict('expired'))
    for (const [{ id }, status] of [
      [confirmed, 'confirmed'],
      [rejected, 'rejected'],
    ])
      expect(await TRANSITIONS['correct to confirmed'](id)).toMatchObject(conflict(status))
    expect((await desk.transition('confirm', confirmed.id)).status).toBe(200)
    expect((await desk.transition('reject', rejected.id)).status).toBe(200)
  })
})
