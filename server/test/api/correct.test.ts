/** POST /v1/decisions/{id}/correct: an operator's word over the asker's. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { conflict, Desk, MINUTE_MS } from './desk.js'
import { createPolicy, everyItem, succeed } from './refunds.js'
import { stored } from './stored.js'

let desk: Desk
beforeEach(async () => {
  desk = await Desk.open()
})
afterEach(() => desk.stop())

describe('200', () => {
  it('replaces the outcome, and the budget follows', async () => {
    const { id } = await desk.decide(40)
    await succeed(desk.transition('confirm', id, { amount: 50, note: 'cents' }))
    expect(await desk.account()).toMatchObject({ spent: 50 })
    const correct = (body: object) => succeed(desk.transition('correct', id, body))
    const base = { note: null, late: false, corrected: true }
    expect(await correct({ result: 'confirmed', amount: 0.5, note: 'euros' })).toMatchObject({
      status: 'confirmed',
      outcome: { ...base, result: 'confirmed', amount: 0.5, overage: false, note: 'euros' },
    })
    expect(await desk.account()).toMatchObject({ spent: 0.5, reserved: 0 })
    expect(await correct({ result: 'rejected' })).toMatchObject({
      status: 'rejected',
      outcome: { ...base, result: 'rejected', amount: null, overage: false },
    })
    expect(await desk.account()).toMatchObject({ spent: 0, reserved: 0, remaining: 1000 })
    expect(await correct({ result: 'confirmed' })).toMatchObject({ outcome: { ...base, amount: 40 } })
    expect(await correct({ result: 'confirmed', amount: 41 })).toMatchObject({ outcome: { ...base, overage: true } })
    expect(await desk.account()).toMatchObject({ spent: 41, reserved: 0 })
    expect(await desk.told(id)).toEqual(['confirmed', ...Array(4).fill('corrected')])
  })

  it('counts what was spent after all, also when its room has gone to another', async () => {
    const { id } = await desk.decide(40)
    await succeed(desk.transition('reject', id))
    for (let spent = 0; spent < 1000; spent += 100) await desk.decide(100)
    await succeed(desk.transition('correct', id, { result: 'confirmed' }))
    expect(await desk.account()).toEqual({ spent: 40, reserved: 1000, remaining: 0 })
    expect((await desk.ask(0.000001)).body).toMatchObject({ effect: 'deny', reason_code: 'budget_exceeded' })
  })

  it('keeps that the word was late', async () => {
    const { id } = await desk.decide(40)
    desk.clock.advance(5 * MINUTE_MS)
    await succeed(desk.transition('reject', id))
    expect((await desk.transition('correct', id, { result: 'confirmed' })).body).toMatchObject({
      status: 'confirmed',
      outcome: { late: true, corrected: true, amount: 40 },
    })
  })

  it('changes nothing when the outcome says the same already', async () => {
    const { id } = await desk.decide(40)
    const confirmed = await succeed(desk.transition('confirm', id))
    const held = await stored(desk.server)
    for (const body of [{ result: 'confirmed' }, { result: 'confirmed', amount: 40, note: 'yes' }])
      expect(await desk.transition('correct', id, body)).toMatchObject({ status: 200, body: confirmed })
    expect(await stored(desk.server)).toEqual(held)
    const rejected = await succeed(desk.transition('correct', id, { result: 'rejected' }))
    expect((await desk.transition('correct', id, { result: 'rejected' })).body).toEqual(rejected)
    // So does the asker who now says what the operator said.
    expect((await desk.transition('reject', id)).body).toEqual(rejected)
    expect(await desk.transition('confirm', id)).toMatchObject(conflict('rejected'))
  })
})

describe('refused', () => {
  it('to anyone who asked, and to keys that may not settle', async () => {
    const { id } = await desk.decide(40)
    await succeed(desk.transition('confirm', id))
    const body = { result: 'rejected' }
    for (const as of ['asker', 'reviewer', 'redeemer', 'stranger'] as const)
      expect(await desk.transition('correct', id, body, { as })).toMatchObject({
        status: 403,
        body: { code: 'insufficient_scope' },
      })
    const asked = { agent_id: 'agent:desk', action: 'pay.create', context: { amount: 1 } }
    const own = await succeed(desk.server.call('POST', '/v1/decisions', { body: asked }))
    await succeed(desk.transition('confirm', own.id, {}, { as: 'admin' }))
    expect(await desk.transition('correct', own.id, body, { as: 'admin' })).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    })
    expect((await desk.transition('correct', id, body, { as: 'admin' })).status).toBe(200)
  })

  it('when it names no result, another one, or an amount of what did not happen', async () => {
    const { id } = await desk.decide(40)
    await succeed(desk.transition('confirm', id))
    const faulty: [object, string][] = [
      [{}, '/result'],
      [{ result: 'expired' }, '/result'],
      [{ result: 'rejected', amount: 1 }, '/amount'],
      [{ result: 'rejected', amount: 0 }, '/amount'],
      [{ result: 'confirmed', amount: -1 }, '/amount'],
      [{ result: 'confirmed', reason: 'x' }, '/reason'],
    ]
    for (const [body, pointer] of faulty)
      expect(await desk.transition('correct', id, body)).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
    expect((await desk.transition('correct', id, { result: 'rejected', amount: null })).status).toBe(200)
  })
})

describe('a budget that reads another amount than the first', () => {
  const FEES = {
    name: 'fees',
    rules: [{ action: 'pay.create', effect: 'allow' }],
    budget: { limit: 1000, unit: 'fees', period: 'monthly', amount: 'context.fee' },
  }
  const spent = async () => Object.fromEntries((await desk.budgets()).map((row) => [row.unit, row.spent]))
  const ask = async (amount: number, fee: number) => {
    const body = { agent_id: 'agent:desk', action: 'pay.create', context: { amount, fee } }
    return succeed(desk.server.call('POST', '/v1/decisions', { key: desk.keyOf('asker'), body }))
  }

  it('follows a correction to the amount that the outcome has already, which is the same again only once it did', async () => {
    await createPolicy(desk.server, FEES)
    const { id } = await ask(1, 10)
    const confirmed = await succeed(desk.transition('confirm', id))
    expect(await spent()).toEqual({ EUR: 1, fees: 10 })
    expect(await succeed(desk.transition('correct', id, { result: 'confirmed' }))).toEqual(confirmed)
    const amount = { result: 'confirmed', amount: 1 }
    const corrected = await succeed(desk.transition('correct', id, amount))
    expect(corrected.outcome).toMatchObject({ amount: 1, corrected: true })
    expect(await spent()).toEqual({ EUR: 1, fees: 1 })
    const held = await stored(desk.server)
    expect(await succeed(desk.transition('correct', id, amount))).toEqual(corrected)
    expect(await stored(desk.server)).toEqual(held)
    await succeed(desk.transition('correct', id, { result: 'confirmed' }))
    expect(await spent()).toEqual({ EUR: 1, fees: 10 })
    expect(await desk.told(id)).toEqual(['confirmed', 'corrected', 'corrected'])
  })

  it('has its own amount in the audit log', async () => {
    await createPolicy(desk.server, FEES)
    const { id } = await ask(1, 10)
    await succeed(desk.transition('confirm', id))
    const [entry] = await everyItem(desk.server, `/v1/audit?decision_id=${id}&type=decision.confirmed`)
    const committed = entry.data.committed.map(({ unit, amount }: { unit: string; amount: number }) => [unit, amount])
    expect(Object.fromEntries(committed)).toEqual({ EUR: 1, fees: 10 })
  })
})
