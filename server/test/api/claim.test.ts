/** POST /v1/decisions/{id}/claim: of all that resume an approved decision, one runs it. */
import { createPermitVerifier } from '@countersign/permit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AGENT, conflict, Desk, MINUTE_MS } from './desk.js'
import { createPolicy, makeKey, succeed } from './refunds.js'

let desk: Desk
beforeEach(async () => {
  desk = await Desk.open()
})
afterEach(() => desk.stop())

const taken = { status: 409, body: { code: 'already_claimed' } }
const claim = (id: string, holder?: string | null) =>
  desk.transition('claim', id, holder === undefined ? {} : { holder })

describe('200', () => {
  it('authorizes for five minutes, with a permit that verifies offline and is redeemed once', async () => {
    const approved = await desk.approved()
    desk.clock.advance(10 * MINUTE_MS + 300)
    const { permit_token, shadow, ...claimed } = (await claim(approved.id, 'one')).body
    const now = { status: 'authorized', advice: null, expires_at: '2026-11-21T10:15:00.300Z' }
    expect(claimed).toEqual({ ...approved, ...now })
    const jwks = await succeed(desk.server.call('GET', '/.well-known/jwks.json', { key: null }))
    const { url, clock } = desk.server
    const verifier = createPermitVerifier({ jwks, issuer: url, audience: url, now: () => clock.now().getTime() })
    const claims = await verifier.verify(permit_token, {
      action: 'pay.create',
      resource: null,
      amount: 400,
      unit: 'EUR',
    })
    const about = { jti: approved.id, sub: AGENT, effect: 'review', policy_id: desk.policy.id, policy_revision: 1 }
    expect(claims).toMatchObject({ ...about, amount: 400, unit: 'EUR', request_hash: expect.any(String) })
    expect(claims.exp).toBe(Date.parse('2026-11-21T10:15:00.000Z') / 1000)
    expect(claims.iat).toBe(Date.parse('2026-11-21T10:10:00.000Z') / 1000)
    expect(await desk.redeem(permit_token)).toMatchObject({
      status: 200,
      body: { id: approved.id, status: 'authorized' },
    })
    expect(await desk.redeem(permit_token)).toMatchObject({ status: 409, body: { code: 'permit_already_used' } })
    expect(await desk.told(approved.id)).toEqual(['approved', 'claimed', 'redeemed'])
  })

  it('is told again to the same holder while it may run, also after a restart, and counts once', async () => {
    const { id } = await desk.approved()
    const first = await succeed(claim(id, 'one'))
    desk.clock.advance(MINUTE_MS)
    expect((await claim(id, 'one')).body).toEqual(first)
    desk.server = await desk.server.restart()
    expect((await claim(id, 'one')).body).toMatchObject({
      expires_at: first.expires_at,
      permit_token: expect.any(String),
    })
    expect(await claim(id, 'two')).toMatchObject(taken)
    expect(await desk.told(id)).toEqual(['approved', 'claimed'])
    expect(await desk.account()).toMatchObject({ spent: 0, reserved: 400 })
  })

  it('takes no holder for a holder of its own', async () => {
    const { id } = await desk.approved()
    expect((await claim(id)).status).toBe(200)
    expect((await claim(id, null)).status).toBe(200)
    expect(await claim(id, 'one')).toMatchObject(taken)
    const other = await desk.approved()
    await succeed(claim(other.id, 'one'))
    expect(await claim(other.id)).toMatchObject(taken)
  })

  it('is told to one of a hundred holders that come at once', async () => {
    const { id } = await desk.approved()
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => claim(id, `holder-${i}`)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.code === 'already_claimed')).toHaveLength(99)
    expect(await desk.told(id)).toEqual(['approved', 'claimed'])
  })

  it('does not ask the budgets again', async () => {
    const { id } = await desk.approved()
    await desk.replacePolicy({ budget: { ...desk.policy.budget, limit: 0 } })
    expect((await claim(id, 'one')).body).toMatchObject({ status: 'authorized', budgets: [{ remaining: 600 }] })
    expect(await desk.account()).toMatchObject({ reserved: 400, remaining: 0 })
  })

  it('expires as spent, for it may have run; a late word corrects it', async () => {
    const { id } = await desk.claimed()
    desk.clock.advance(5 * MINUTE_MS)
    expect(await desk.get(id)).toMatchObject({ status: 'expired', review: { status: 'approved' }, outcome: null })
    expect(await desk.account()).toMatchObject({ spent: 400, reserved: 0 })
    expect((await desk.transition('reject', id)).body.outcome).toMatchObject({ late: true })
    expect(await desk.account()).toMatchObject({ spent: 0, reserved: 0 })
  })
})

describe('refused', () => {
  it('403 not_asker: to every other key, a * key too, in whatever status', async () => {
    for (const { id } of [await desk.decide(300), await desk.approved(200), await desk.decide(1)])
      for (const as of ['stranger', 'admin'] as const)
        expect(await desk.transition('claim', id, { holder: 'one' }, { as })).toMatchObject({
          status: 403,
          body: { code: 'not_asker' },
        })
  })

  it('409 already_claimed: to any other holder in every later status', async () => {
    const { id, permit_token } = await desk.claimed()
    await desk.suspend()
    expect(await claim(id, 'two')).toMatchObject(taken)
    expect(await claim(id, 'one')).toMatchObject({ status: 409, body: { code: 'agent_suspended' } })
    await desk.resume()
    await succeed(desk.redeem(permit_token))
    await succeed(desk.transition('confirm', id))
    expect(await claim(id, 'two')).toMatchObject(taken)
    expect(await claim(id, 'one')).toMatchObject(conflict('confirmed'))
    await succeed(desk.transition('correct', id, { result: 'rejected' }))
    expect(await claim(id, 'two')).toMatchObject(taken)
    expect(await claim(id, 'one')).toMatchObject(conflict('rejected'))
    const silent = await desk.claimed(300)
    desk.clock.advance(5 * MINUTE_MS)
    expect(await claim(silent.id, 'two')).toMatchObject(taken)
    expect(await claim(silent.id, 'one')).toMatchObject(conflict('expired'))
  })

  it('409 invalid_transition: of what was authorized at once, no matter who claims it', async () => {
    const { body } = await desk.ask(10, { holder: 'one' })
    for (const holder of ['one', 'two', null])
      expect(await claim(body.id, holder)).toMatchObject(conflict('authorized'))
  })

  it('409 policy_denies: it stays approved, and may be claimed once the policies are mended', async () => {
    const { id } = await desk.approved()
    const deny = await createPolicy(desk.server, { name: 'stop', rules: [{ action: 'pay.*', effect: 'deny' }] })
    expect(await claim(id, 'one')).toMatchObject({ status: 409, body: { code: 'policy_denies' } })
    expect(await desk.get(id)).toMatchObject({ status: 'approved' })
    expect(await desk.account()).toMatchObject({ reserved: 400 })
    await succeed(desk.server.call('DELETE', `/v1/policies/${deny.id}`))
    expect((await claim(id, 'one')).status).toBe(200)
  })

  it('409 agent_suspended: neither approved nor claimed nor redeemed, but settled', async () => {
    const [waiting, approved, claimed] = [await desk.decide(110), await desk.approved(120), await desk.claimed(130)]
    const allowed = await desk.decide(20)
    await desk.suspend()
    const suspended = { status: 409, body: { code: 'agent_suspended' } }
    expect(await desk.transition('approve', waiting.id)).toMatchObject(suspended)
    expect(await claim(approved.id, 'one')).toMatchObject(suspended)
    expect(await claim(claimed.id, 'one')).toMatchObject(suspended)
    expect(await desk.redeem(claimed.permit_token)).toMatchObject(suspended)
    expect(await desk.get(allowed.id, 'asker')).not.toHaveProperty('permit_token')
    expect((await desk.transition('confirm', claimed.id)).body.status).toBe('confirmed')
    expect((await desk.transition('correct', claimed.id, { result: 'rejected' })).body.status).toBe('rejected')
    expect((await desk.transition('reject', allowed.id)).body.status).toBe('rejected')
    expect((await desk.transition('reject', waiting.id)).body.status).toBe('rejected')
    await desk.resume()
    expect((await claim(approved.id, 'one')).status).toBe(200)
  })

  it('400: a holder that is none', async () => {
    const { id } = await desk.approved()
    for (const holder of ['', 'x'.repeat(65), 7])
      expect(await desk.transition('claim', id, { holder })).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: '/holder' }] },
      })
    expect((await claim(id, 'x'.repeat(64))).status).toBe(200)
  })

  it('404: to the asker once it is bound to other agents, and of no decision', async () => {
    const { id } = await desk.approved()
    const { key } = await makeKey(desk.server, ['decisions:write'], { agents: ['other:*'] })
    expect((await desk.server.call('POST', `/v1/decisions/${id}/claim`, { key })).status).toBe(404)
    expect((await claim('dec_01kagx3v5ne8sr6w1y6gqk4t2h')).status).toBe(404)
  })
})

describe('the replay of a request', () => {
  it('has no holder before a claim, and is for the holder alone after it', async () => {
    const { body } = await desk.ask(400, { name: 'run', holder: 'one' })
    const replay = (holder: string) => desk.ask(400, { name: 'run', holder })
    expect((await replay('two')).body.id).toBe(body.id)
    await succeed(desk.transition('approve', body.id))
    expect((await replay('two')).body).toMatchObject({ id: body.id, status: 'approved' })
    await succeed(claim(body.id, 'two'))
    expect((await replay('two')).body).toMatchObject({ status: 'authorized', permit_token: expect.any(String) })
    expect(await replay('one')).toMatchObject(taken)
    await succeed(desk.transition('confirm', body.id))
    expect(await replay('one')).toMatchObject(taken)
    expect((await replay('two')).body).toMatchObject({ status: 'confirmed', budgets: [{ reserved: true }] })
  })
})
