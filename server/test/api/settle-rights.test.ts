/** Who may say what became of a decision, and which of several refusals is told. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { conflict, Desk, MINUTE_MS } from './desk.js'
import { makeKey, succeed } from './refunds.js'
import { stored } from './stored.js'

let desk: Desk
beforeEach(async () => {
  desk = await Desk.open()
})
afterEach(() => desk.stop())

const refused = (code: string, status = 403) => ({ status, body: { code } })
const NONE = 'dec_01kagx3v5ne8sr6w1y6gqk4t2h'

describe('confirm and reject', () => {
  it('are for the key that asked, one with decisions:settle, and a * key', async () => {
    for (const as of ['asker', 'settler', 'admin'] as const)
      for (const verb of ['confirm', 'reject'] as const) {
        const { id } = await desk.decide(10)
        expect((await desk.transition(verb, id, {}, { as })).status).toBe(200)
      }
    const { id } = await desk.decide(10)
    const before = await stored(desk.server)
    for (const as of ['stranger', 'reviewer', 'redeemer'] as const)
      for (const verb of ['confirm', 'reject'] as const)
        expect(await desk.transition(verb, id, {}, { as })).toMatchObject(refused('insufficient_scope'))
    expect(await stored(desk.server)).toEqual(before)
  })

  it('are for the key that redeemed, and for no other that redeems', async () => {
    const decisions = [await desk.decide(10), await desk.decide(20)]
    for (const { permit_token } of decisions) await succeed(desk.redeem(permit_token))
    const [confirmed, rejected] = decisions.map(({ id }) => id) as [string, string]
    expect(await desk.transition('confirm', confirmed, {}, { as: 'stranger' })).toMatchObject(
      refused('insufficient_scope'),
    )
    expect((await desk.transition('confirm', confirmed, { amount: 4 }, { as: 'redeemer' })).body.status).toBe(
      'confirmed',
    )
    expect((await desk.transition('reject', rejected, {}, { as: 'redeemer' })).body.status).toBe('rejected')
    expect(await desk.account()).toMatchObject({ spent: 4, reserved: 0 })
  })
})

describe('permit_redeemed', () => {
  it('keeps the asker from saying that less happened, or nothing; it may say that it happened, or more', async () => {
    const { id, permit_token } = await desk.decide(10)
    await succeed(desk.redeem(permit_token))
    const before = await stored(desk.server)
    expect(await desk.transition('reject', id)).toMatchObject(refused('permit_redeemed'))
    for (const amount of [0, 5, 9.999999])
      expect(await desk.transition('confirm', id, { amount })).toMatchObject(refused('permit_redeemed'))
    expect(await stored(desk.server)).toEqual(before)
    expect((await desk.transition('confirm', id, { amount: 10 })).body.status).toBe('confirmed')
    const [more, same] = [await desk.decide(10), await desk.decide(10)]
    await succeed(desk.redeem(more.permit_token))
    await succeed(desk.redeem(same.permit_token))
    expect((await desk.transition('confirm', more.id, { amount: 11 })).body.outcome.overage).toBe(true)
    expect((await desk.transition('confirm', same.id)).status).toBe(200)
  })

  it('comes before every 409 and before the same again', async () => {
    const { id, permit_token } = await desk.decide(10)
    await succeed(desk.redeem(permit_token))
    await succeed(desk.transition('confirm', id, { amount: 3 }, { as: 'redeemer' }))
    expect(await desk.transition('confirm', id, { amount: 3 })).toMatchObject(refused('permit_redeemed'))
    expect(await desk.transition('reject', id)).toMatchObject(refused('permit_redeemed'))
    expect(await desk.transition('confirm', id)).toMatchObject(conflict('confirmed'))
  })

  it('does not hold decisions:settle and * back, nor a late word', async () => {
    for (const as of ['settler', 'admin'] as const) {
      const { id, permit_token } = await desk.decide(10)
      await succeed(desk.redeem(permit_token))
      expect((await desk.transition('reject', id, {}, { as })).status).toBe(200)
    }
    const { id, permit_token } = await desk.decide(10)
    await succeed(desk.redeem(permit_token))
    desk.clock.advance(5 * MINUTE_MS)
    expect(await desk.transition('reject', id)).toMatchObject(refused('permit_redeemed'))
    expect((await desk.transition('confirm', id, { amount: 1 }, { as: 'redeemer' })).body.outcome.late).toBe(true)
  })

  it('does not count where no budget reads an amount', async () => {
    await desk.replacePolicy({ budget: { limit: 10, unit: 'calls', period: 'total', amount: 1 } })
    const { id, permit_token } = await desk.decide(10)
    await succeed(desk.redeem(permit_token))
    expect((await desk.transition('confirm', id, { amount: 0 })).status).toBe(200)
  })
})

describe('of several refusals', () => {
  it('400 comes before 404, that before 403 and 422, and those before 409', async () => {
    const { id } = await desk.decide(5000)
    expect(await desk.transition('confirm', NONE, { amount: -1 })).toMatchObject(refused('validation_failed', 400))
    expect(await desk.transition('confirm', NONE, {}, { as: 'stranger' })).toMatchObject(refused('not_found', 404))
    expect(await desk.transition('claim', NONE, {}, { as: 'stranger' })).toMatchObject(refused('not_found', 404))
    expect(await desk.transition('claim', id, {}, { as: 'stranger' })).toMatchObject(refused('not_asker'))
    expect(await desk.transition('claim', id, { holder: '' }, { as: 'stranger' })).toMatchObject(
      refused('validation_failed', 400),
    )
    expect(await desk.transition('confirm', NONE, {}, { as: 'reviewer' })).toMatchObject(refused('insufficient_scope'))
    expect(await desk.transition('confirm', id)).toMatchObject(conflict('denied'))
  })

  it('403 comes before a reused idempotency key, and that before 409', async () => {
    const { id, permit_token } = await desk.decide(10)
    await succeed(desk.transition('confirm', id, { amount: 12 }, { name: 'once' }))
    expect(await desk.transition('confirm', id, { amount: 11 }, { name: 'once' })).toMatchObject(
      refused('idempotency_key_reused', 422),
    )
    expect(await desk.transition('confirm', id, { amount: 11 })).toMatchObject(conflict('confirmed'))
    expect(permit_token).toBeDefined()
    const redeemed = await desk.decide(10)
    await succeed(desk.redeem(redeemed.permit_token))
    await succeed(desk.transition('confirm', redeemed.id, { amount: 12 }, { name: 'once' }))
    expect(await desk.transition('confirm', redeemed.id, { amount: 1 }, { name: 'once' })).toMatchObject(
      refused('permit_redeemed'),
    )
  })

  it('agent_suspended comes before invalid_transition, and that before policy_denies and budget_exceeded', async () => {
    const [waiting, full, denied] = [await desk.decide(200), await desk.decide(1000), await desk.decide(5000)]
    await succeed(desk.transition('confirm', (await desk.decide(1)).id, { amount: 500 }))
    expect(await desk.transition('approve', full.id)).toMatchObject(refused('budget_exceeded', 409))
    await desk.replacePolicy({ rules: [{ action: '*', effect: 'deny' }] })
    expect(await desk.transition('approve', full.id)).toMatchObject(refused('policy_denies', 409))
    expect(await desk.transition('approve', denied.id)).toMatchObject(conflict('denied'))
    await desk.suspend()
    for (const { id } of [waiting, full, denied])
      expect(await desk.transition('approve', id)).toMatchObject(refused('agent_suspended', 409))
    expect(await desk.transition('decline', denied.id)).toMatchObject(conflict('denied'))
  })

  it('a decision of an agent that the key is not bound to is 404 for every transition', async () => {
    const { id } = await desk.decide(10)
    const scopes = ['decisions:write', 'decisions:settle', 'reviews:write', 'permits:redeem']
    const { key } = await makeKey(desk.server, scopes, { agents: ['other:*'] })
    const bodies = { confirm: {}, reject: {}, correct: { result: 'rejected' }, approve: {}, decline: {}, claim: {} }
    for (const [verb, body] of Object.entries(bodies))
      expect(await desk.server.call('POST', `/v1/decisions/${id}/${verb}`, { key, body }), verb).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      })
  })
})
