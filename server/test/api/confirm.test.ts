/** POST /v1/decisions/{id}/confirm and /reject: what really happened, and what that does to the budget. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { conflict, DAY_MS, Desk, MINUTE_MS } from './desk.js'
import { createPolicy, decide, everyItem, succeed } from './refunds.js'
import { stored } from './stored.js'

let desk: Desk
let before: { readonly spent: number; readonly reserved: number }
beforeAll(async () => {
  desk = await Desk.open({ budget: { limit: 1_000_000 } })
})
afterAll(() => desk.stop())
beforeEach(async () => {
  before = await desk.account()
})

/** What the account holds above what it held when the test began. */
async function added() {
  const { spent, reserved } = await desk.account()
  return { spent: spent - before.spent, reserved: reserved - before.reserved }
}

describe('confirm', () => {
  it('spends what was reserved when it names no amount, and shows no permit any more', async () => {
    const decision = await desk.decide(40)
    expect(decision.budgets).toMatchObject([{ amount: 40, reserved: true, period: 'monthly', unit: 'EUR' }])
    expect(await added()).toEqual({ spent: 0, reserved: 40 })
    const answer = await desk.transition('confirm', decision.id, { note: 'shipping kept' })
    const { permit_token, ...shown } = decision
    const at = desk.clock.now().toISOString()
    const outcome = { result: 'confirmed', amount: 40, note: 'shipping kept', at, late: false, overage: false }
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ ...shown, status: 'confirmed', outcome: { ...outcome, corrected: false } })
    expect(await added()).toEqual({ spent: 40, reserved: 0 })
    expect(await desk.told(decision.id)).toEqual(['confirmed'])
  })

  it.each([
    { amount: 40, overage: false },
    { amount: 12.5, overage: false },
    { amount: 0, overage: false },
    { amount: 64, overage: true },
  ])('spends the amount that it names, and tells when that is more: $amount', async ({ amount, overage }) => {
    const { id } = await desk.decide(40)
    const { body } = await desk.transition('confirm', id, { amount })
    expect(body).toMatchObject({ status: 'confirmed', outcome: { amount, overage, late: false } })
    expect(await added()).toEqual({ spent: amount, reserved: 0 })
    expect(body.budgets[0]).toMatchObject({ amount: 40, reserved: true })
  })

  it('rounds half up to millionths, and what is more than nothing never to nothing', async () => {
    const own = await Desk.open()
    const amounts = [
      [5e-7, 0.000001],
      [1e-12, 0.000001],
      [1.0000005, 1.000001],
      [1.0000004, 1],
      [0.1 + 0.2, 0.3],
    ] as const
    for (const [given, spent] of amounts) {
      const { id } = await own.decide(2)
      expect((await own.transition('confirm', id, { amount: given })).body.outcome.amount).toBe(spent)
    }
    expect(await own.account()).toMatchObject({ spent: 2.300003 })
    await own.stop()
  })

  it('counts once when it comes a hundred times at once, and every caller is told the same', async () => {
    const { id } = await desk.decide(40)
    const answers = await Promise.all(Array.from({ length: 100 }, () => desk.transition('confirm', id, { amount: 30 })))
    expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(200))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(await added()).toEqual({ spent: 30, reserved: 0 })
    expect(await desk.told(id)).toEqual(['confirmed'])
  })

  it('settles one way when confirm and reject race', async () => {
    const { id } = await desk.decide(40)
    const verbs = ['confirm', 'reject'] as const
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => desk.transition(verbs[i % 2] as 'confirm', id)),
    )
    const { status } = await desk.get(id)
    expect(answers.filter((answer) => answer.body.status === status)).toHaveLength(10)
    expect(answers.filter((answer) => answer.body.current_status === status)).toHaveLength(10)
    expect(await added()).toEqual({ spent: status === 'confirmed' ? 40 : 0, reserved: 0 })
    expect(await desk.told(id)).toEqual([status])
  })

  it('changes nothing when it says the same again, whatever its note', async () => {
    const { id } = await desk.decide(40)
    const first = await succeed(desk.transition('confirm', id, { note: 'first' }))
    const held = await stored(desk.server)
    for (const body of [{}, { amount: 40 }, { amount: 40.0000001 }, { amount: null, note: 'second' }])
      expect(await desk.transition('confirm', id, body)).toMatchObject({ status: 200, body: first })
    expect(await desk.transition('confirm', id, { amount: 39 })).toMatchObject(conflict('confirmed'))
    expect(await desk.transition('reject', id)).toMatchObject(conflict('confirmed'))
    expect(await stored(desk.server)).toEqual(held)
  })

  it('names what is no amount', async () => {
    const { id } = await desk.decide(40)
    for (const amount of ['40', -1, 1e12 + 1, true, {}])
      expect(await desk.transition('confirm', id, { amount })).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', errors: [{ pointer: '/amount' }] },
      })
    expect(await desk.transition('confirm', id, { reason: 'x' })).toMatchObject({
      body: { errors: [{ pointer: '/reason' }] },
    })
    await succeed(desk.transition('reject', id))
  })

  it('commits the reservation of a budget with a fixed amount, whatever was spent', async () => {
    const rules = [{ action: 'count.up', effect: 'allow' }]
    const calls = await createPolicy(desk.server, {
      name: 'calls',
      rules,
      budget: { limit: 3, unit: 'calls', period: 'total', amount: 1 },
    })
    const { id } = await decide(desk.server, { agent_id: 'agent:count', action: 'count.up' })
    const { body } = await desk.transition('confirm', id, { amount: 70 }, { as: 'admin' })
    expect(body.outcome).toMatchObject({ amount: 70, overage: false })
    const rows = await desk.budgets()
    expect(rows.find(({ policy_id }) => policy_id === calls.id)).toMatchObject({ spent: 1, reserved: 0 })
    const other = await decide(desk.server, { agent_id: 'agent:count', action: 'count.up' })
    expect((await desk.transition('confirm', other.id, {}, { as: 'admin' })).body.outcome.amount).toBeNull()
    await desk.server.call('DELETE', `/v1/policies/${calls.id}`)
  })
})

describe('reject', () => {
  it('gives the reservation back, with its reason as the note', async () => {
    const { id } = await desk.decide(40)
    const { body } = await desk.transition('reject', id, { reason: 'the bank was closed' })
    expect(body).toMatchObject({
      status: 'rejected',
      review: null,
      outcome: { result: 'rejected', amount: null, note: 'the bank was closed', overage: false, corrected: false },
    })
    expect(await added()).toEqual({ spent: 0, reserved: 0 })
    expect((await desk.transition('reject', id)).body).toEqual(body)
    expect(await desk.transition('confirm', id)).toMatchObject(conflict('rejected'))
    expect(await desk.told(id)).toEqual(['rejected'])
  })

  it('takes a review back while it waits and when it is approved; the review says so', async () => {
    for (const { id, review } of [await desk.decide(400), await desk.approved()]) {
      const { body } = await desk.transition('reject', id, { reason: 'no longer' })
      expect(body).toMatchObject({ status: 'rejected', review: { ...review, status: 'withdrawn' } })
      expect(body.outcome).toMatchObject({ result: 'rejected', amount: null, late: false, note: 'no longer' })
      expect(await desk.told(id)).toContain('rejected')
    }
    expect(await added()).toEqual({ spent: 0, reserved: 0 })
  })
})

describe('after the end', () => {
  it('expires as spent at the very millisecond, and a late word corrects it', async () => {
    const own = await Desk.open()
    const [confirmed, rejected, silent] = [await own.decide(40), await own.decide(50), await own.decide(7)]
    own.clock.advance(5 * MINUTE_MS - 1)
    expect((await own.get(silent.id)).status).toBe('authorized')
    expect(await own.account()).toMatchObject({ spent: 0, reserved: 97 })
    own.clock.advance(1)
    expect(await own.get(silent.id)).toMatchObject({ status: 'expired', outcome: null, review: null })
    expect(await own.account()).toMatchObject({ spent: 97, reserved: 0 })
    const late = { late: true, overage: false, corrected: false }
    expect((await own.transition('confirm', confirmed.id, { amount: 4 })).body).toMatchObject({
      status: 'confirmed',
      expires_at: confirmed.expires_at,
      outcome: { result: 'confirmed', amount: 4, ...late },
    })
    expect((await own.transition('reject', rejected.id)).body.outcome).toMatchObject({ result: 'rejected', ...late })
    expect(await own.account()).toMatchObject({ spent: 11, reserved: 0 })
    await own.stop()
  })

  it('is told in the audit log before the late word, no matter who came first', async () => {
    const own = await Desk.open()
    const decision = await own.decide(40)
    own.clock.set(new Date(decision.expires_at))
    await succeed(own.transition('confirm', decision.id, { amount: 4 }))
    expect(await own.told(decision.id)).toEqual(['expired', 'confirmed'])
    const entries = await everyItem(own.server, `/v1/audit?decision_id=${decision.id}`)
    expect(entries.map(({ actor }: { actor: string | null }) => actor)).toEqual([
      own.idOf('asker'),
      null,
      own.idOf('asker'),
    ])
    await own.stop()
  })

  it('takes a late word and a correction for 30 days, to the millisecond', async () => {
    const own = await Desk.open()
    const [late, tooLate, corrected] = [await own.decide(1), await own.decide(2), await own.decide(3)]
    await succeed(own.transition('confirm', corrected.id))
    own.clock.set(new Date(Date.parse(late.expires_at) + 30 * DAY_MS - 1))
    expect((await own.transition('confirm', late.id)).body).toMatchObject({
      status: 'confirmed',
      outcome: { late: true },
    })
    expect((await own.transition('correct', corrected.id, { result: 'rejected' })).status).toBe(200)
    own.clock.advance(1)
    expect(await own.transition('confirm', tooLate.id)).toMatchObject(conflict('expired'))
    expect(await own.transition('reject', tooLate.id)).toMatchObject(conflict('expired'))
    expect(await own.transition('correct', corrected.id, { result: 'confirmed' })).toMatchObject(conflict('rejected'))
    expect((await own.transition('confirm', late.id)).status).toBe(200)
    expect((await own.transition('correct', corrected.id, { result: 'rejected' })).status).toBe(200)
    await own.stop()
  })
})
