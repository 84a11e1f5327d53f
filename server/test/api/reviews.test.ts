/** POST /v1/decisions/{id}/approve and /decline: a person's answer, under the policies and budgets of that moment. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AGENT, conflict, DAY_MS, Desk, MINUTE_MS, RULES } from './desk.js'
import { createPolicy, makeKey, succeed } from './refunds.js'
import { stored } from './stored.js'

let desk: Desk
beforeEach(async () => {
  desk = await Desk.open()
})
afterEach(() => desk.stop())

const at = () => desk.clock.now().toISOString()
const code = async (answer: ReturnType<Desk['transition']>) => (await answer).body.code

describe('approve', () => {
  it('reserves, gives an hour to claim, and tells who did it and what was found; there is no permit yet', async () => {
    const decision = await desk.decide(400)
    expect(decision).toMatchObject({ status: 'awaiting_review', budgets: [], expires_at: '2026-11-22T10:00:00.000Z' })
    expect(await desk.account()).toEqual({ spent: 0, reserved: 0, remaining: 1000 })
    desk.clock.advance(1234)
    const { body } = await desk.transition('approve', decision.id, { comment: 'checked the order' })
    expect(body).toEqual({
      ...decision,
      status: 'approved',
      advice: { retry: 'now', message: 'Claim the decision and run the action.' },
      expires_at: '2026-11-21T11:00:01.234Z',
      budgets: [
        {
          policy_id: desk.policy.id,
          unit: 'EUR',
          amount: 400,
          period: 'monthly',
          starts_at: '2026-11-01T00:00:00.000Z',
          resets_at: '2026-12-01T00:00:00.000Z',
          remaining: 600,
          over_limit: false,
          reserved: true,
        },
      ],
      review: {
        status: 'approved',
        requested_at: decision.evaluated_at,
        expires_at: decision.expires_at,
        decided_by: desk.idOf('reviewer'),
        decided_at: at(),
        comment: 'checked the order',
        self_approved: false,
        policy_id: desk.policy.id,
        policy_revision: 1,
        rule: 1,
      },
    })
    expect(await desk.get(decision.id, 'asker')).not.toHaveProperty('permit_token')
    expect(await desk.account()).toEqual({ spent: 0, reserved: 400, remaining: 600 })
    expect(await desk.told(decision.id)).toEqual(['approved'])
  })

  it('evaluates again: what is denied now stays waiting, and what was decided never changes', async () => {
    const { id } = await desk.decide(400)
    await desk.replacePolicy({ rules: [{ action: 'pay.*', effect: 'deny' }] })
    const held = await stored(desk.server)
    expect(await desk.transition('approve', id)).toMatchObject({ status: 409, body: { code: 'policy_denies' } })
    expect(await stored(desk.server)).toEqual(held)
    await desk.replacePolicy({ rules: [{ action: 'mail.*', effect: 'allow' }, ...RULES.slice(0, 1)] })
    expect(await code(desk.transition('approve', id))).toBe('policy_denies')
    const allows = [
      { action: 'mail.*', effect: 'allow' },
      { action: 'mail.send', effect: 'deny' },
      { action: 'pay.*', effect: 'allow' },
    ]
    await desk.replacePolicy({ rules: allows })
    const { body } = await desk.transition('approve', id)
    expect(body).toMatchObject({
      effect: 'review',
      policy_revision: 1,
      rule: 1,
      policy_set: 1,
      reason_code: 'rule_matched',
    })
    expect(body.review).toMatchObject({ policy_id: desk.policy.id, policy_revision: 4, rule: 2 })
  })

  it('evaluates at its own clock and with the metadata of now', async () => {
    await desk.server.call('POST', '/v1/agents', { body: { id: AGENT, metadata: { level: 1 } } })
    const conditions = { 'now.hour': { $lt: 11 }, 'agent.level': { $gte: 1 } }
    await desk.replacePolicy({
      rules: [
        { action: '*', effect: 'deny', conditions: { 'agent.level': { $gt: 5 } } },
        { action: '*', effect: 'review', conditions, on_unknown: 'skip' },
      ],
    })
    const [one, two] = [await desk.decide(1), await desk.decide(2)]
    await succeed(desk.server.call('PUT', `/v1/agents/${AGENT}`, { body: { metadata: { level: 9 } } }))
    expect(await code(desk.transition('approve', one.id))).toBe('policy_denies')
    await succeed(desk.server.call('PUT', `/v1/agents/${AGENT}`, { body: { metadata: { level: 3 } } }))
    expect((await desk.transition('approve', one.id)).status).toBe(200)
    desk.clock.advance(60 * MINUTE_MS)
    expect(await code(desk.transition('approve', two.id))).toBe('policy_denies')
  })

  it('has no room: stays, unless it may exceed and every budget without room leaves that to a person', async () => {
    const { id } = await desk.decide(400)
    await succeed(desk.transition('confirm', (await desk.decide(100)).id, { amount: 700 }))
    for (const body of [{}, { exceed_budget: true }])
      expect(await desk.transition('approve', id, body)).toMatchObject({
        status: 409,
        body: { code: 'budget_exceeded' },
      })
    expect(await desk.get(id)).toMatchObject({ status: 'awaiting_review', budgets: [] })
    await desk.replacePolicy({ budget: { ...desk.policy.budget, on_exceed: 'review' } })
    expect(await code(desk.transition('approve', id))).toBe('budget_exceeded')
    expect(await code(desk.transition('approve', id, { exceed_budget: false }))).toBe('budget_exceeded')
    const { body } = await desk.transition('approve', id, { exceed_budget: true })
    expect(body).toMatchObject({ status: 'approved', budgets: [{ remaining: 0, over_limit: true, reserved: true }] })
    expect(await desk.account()).toEqual({ spent: 700, reserved: 400, remaining: 0 })
  })

  it('may not exceed two budgets when one of them says deny', async () => {
    const strict = await createPolicy(desk.server, {
      name: 'strict',
      rules: [{ action: 'pay.*', effect: 'review' }],
      budget: { limit: 300, unit: 'EUR', period: 'total' },
    })
    await desk.approved(150)
    await desk.replacePolicy({ budget: { limit: 100, unit: 'EUR', period: 'monthly', on_exceed: 'review' } })
    const { id } = await desk.decide(200)
    expect(await code(desk.transition('approve', id, { exceed_budget: true }))).toBe('budget_exceeded')
    expect((await desk.budgets()).map(({ reserved }) => reserved)).toEqual([150, 150])
    await succeed(desk.server.call('DELETE', `/v1/policies/${strict.id}`))
    expect((await desk.transition('approve', id, { exceed_budget: true })).status).toBe(200)
  })

  it('takes a refusal of a budget for another reason than room as a deny', async () => {
    const body = { agent_id: AGENT, action: 'pay.create', context: { amount: 400, currency: 'USD' } }
    const { id } = await succeed(desk.server.call('POST', '/v1/decisions', { key: desk.keyOf('asker'), body }))
    expect(await code(desk.transition('approve', id, { exceed_budget: true }))).toBe('policy_denies')
    await desk.replacePolicy({ budget: { limit: 1000, unit: 'EUR', period: 'total', amount: 'context.fee' } })
    expect(await code(desk.transition('approve', id))).toBe('policy_denies')
    await desk.replacePolicy({ budget: { limit: 1000, unit: 'usd', period: 'total', scope: 'agent' } })
    expect(await code(desk.transition('approve', id))).toBe('policy_denies')
    await succeed(desk.server.call('POST', '/v1/agents', { body: { id: AGENT } }))
    expect((await desk.transition('approve', id)).status).toBe(200)
  })

  it('of two waiting for the last room lets one through', async () => {
    const ids = await Promise.all([600, 600, 600, 600].map(async (amount) => (await desk.decide(amount)).id))
    const answers = await Promise.all(ids.map((id) => desk.transition('approve', id)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
    expect(await desk.account()).toMatchObject({ spent: 0, reserved: 600 })
  })

  it('gives what nobody claims back at the very millisecond', async () => {
    const { id } = await desk.approved()
    desk.clock.advance(60 * MINUTE_MS - 1)
    expect((await desk.decide(100)).effect).toBe('allow')
    expect(await desk.account()).toMatchObject({ reserved: 500 })
    desk.clock.advance(1)
    expect(await desk.get(id)).toMatchObject({ status: 'expired', review: { status: 'expired' }, outcome: null })
    expect(await desk.account()).toEqual({ spent: 0, reserved: 100, remaining: 900 })
    expect(await desk.transition('claim', id, { holder: 'one' })).toMatchObject(conflict('expired'))
    expect(await desk.transition('confirm', id)).toMatchObject(conflict('expired'))
  })
})

describe('decline', () => {
  it('ends what waits and what is approved, and gives the reservation back; also of a suspended agent', async () => {
    const [waiting, approved] = [await desk.decide(300), await desk.approved()]
    await desk.suspend()
    for (const { id, review } of [waiting, approved]) {
      const { body } = await desk.transition('decline', id, { comment: 'no' })
      const decided = { decided_by: desk.idOf('reviewer'), decided_at: at(), comment: 'no', self_approved: false }
      expect(body).toMatchObject({
        status: 'declined',
        outcome: null,
        review: { ...review, status: 'declined', ...decided },
      })
      expect(await desk.transition('decline', id)).toMatchObject(conflict('declined'))
      expect((await desk.told(id)).at(-1)).toBe('declined')
    }
    expect(await desk.account()).toEqual({ spent: 0, reserved: 0, remaining: 1000 })
  })
})

describe('a review', () => {
  it('is over after a day, to the millisecond; nobody ran it', async () => {
    const { id } = await desk.decide(400)
    desk.clock.advance(DAY_MS - 1)
    expect((await desk.transition('approve', (await desk.decide(5)).id)).status).toBe(409)
    expect((await desk.get(id)).review.status).toBe('waiting')
    desk.clock.advance(1)
    expect(await desk.get(id)).toMatchObject({ status: 'expired', review: { status: 'expired', decided_at: null } })
    expect(await desk.transition('approve', id)).toMatchObject(conflict('expired'))
    expect(await desk.transition('confirm', id)).toMatchObject(conflict('expired'))
  })

  it('survives a restart, waiting and approved', async () => {
    const [waiting, approved] = [await desk.decide(300), await desk.approved()]
    const before = await desk.budgets()
    desk.server = await desk.server.restart()
    expect(await desk.get(waiting.id)).toMatchObject({ status: 'awaiting_review', review: waiting.review })
    expect(await desk.get(approved.id)).toMatchObject(approved)
    expect(await desk.budgets()).toEqual(before)
    await succeed(desk.transition('approve', waiting.id))
    expect((await desk.transition('claim', approved.id, { holder: 'one' })).body).toMatchObject({
      status: 'authorized',
    })
    expect(await desk.account()).toMatchObject({ reserved: 700 })
  })

  it('is answered to a long poll as soon as a person decides it, or the asker takes it back', async () => {
    for (const verb of ['approve', 'decline', 'reject'] as const) {
      const { id } = await desk.decide(300)
      const started = performance.now()
      const waiting = desk.server.call('GET', `/v1/decisions/${id}?wait=30`, { key: desk.keyOf('asker') })
      await desk.get(id)
      const { body } = await desk.transition(verb, id)
      expect((await waiting).body.status).toBe(body.status)
      expect(performance.now() - started).toBeLessThan(10_000)
    }
  })

  it('is not for a key that is bound to other agents', async () => {
    const { id } = await desk.decide(300)
    const { key } = await makeKey(desk.server, ['reviews:write'], { agents: ['other:*'] })
    for (const verb of ['approve', 'decline'])
      expect(await desk.server.call('POST', `/v1/decisions/${id}/${verb}`, { key })).toMatchObject({ status: 404 })
  })
})
