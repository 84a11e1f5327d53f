/** An explanation tells of the decision as it was made: its policies, its clock, its agent's metadata, not those of today. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { ALLOWED, createPolicy, DENIED, decide, REFUNDS, REVIEWED, succeed } from './refunds.js'

let server: RunningServer
// biome-ignore lint/suspicious/noExplicitAny: as it was answered
let policy: any
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0, maxOpenReviews: 1 } })
  policy = await createPolicy(server, REFUNDS)
})
afterAll(() => server.stop())

const explain = (id: string) => succeed(server.call('GET', `/v1/decisions/${id}/explanation`))

describe('an explanation', () => {
  it('names every policy and rule considered, and the nearest miss', async () => {
    const { id } = await decide(server, DENIED)
    const failed = (limit: number) => [{ path: 'context.amount', operator: '$lte', expected: limit, actual: 1500 }]
    expect(await explain(id)).toEqual({
      decision_id: id,
      effect: 'deny',
      summary:
        'Denied: rule 3 of "refunds" denies every payment.refund; rule 2 would have sent it to review, had context.amount been at most 1000 (it was 1500).',
      nearest_miss: { policy_id: policy.id, rule: 1, failed: failed(1000) },
      policies: [
        {
          policy_id: policy.id,
          name: 'refunds',
          revision: 1,
          priority: 0,
          mode: 'enforce',
          agents: 'matched',
          result: 'deny',
          decided: true,
          rules: [
            { rule: 0, effect: 'allow', result: 'condition', failed: failed(100) },
            { rule: 1, effect: 'review', result: 'condition', failed: failed(1000) },
            {
              rule: 2,
              effect: 'deny',
              result: 'matched',
              failed: [],
              held: [{ path: 'action', operator: '$like', expected: 'payment.refund', actual: 'payment.refund' }],
            },
          ],
        },
      ],
    })
  })

  it('says where a fact was missing', async () => {
    const { context, ...without } = ALLOWED
    const { id } = await decide(server, without)
    const { effect, policies } = await explain(id)
    expect(effect).toBe('deny')
    expect(policies[0].rules[1]).toEqual({
      rule: 1,
      effect: 'review',
      result: 'unknown',
      failed: [{ path: 'context.amount', operator: '$lte', expected: 1000, actual: null, found: 'missing' }],
    })
  })

  it('shows what held in the rule that matched', async () => {
    const { id } = await decide(server, ALLOWED)
    const { policies } = await explain(id)
    expect(policies[0].rules[0].held).toEqual([
      { path: 'action', operator: '$like', expected: 'payment.refund', actual: 'payment.refund' },
      { path: 'context.amount', operator: '$lte', expected: 100, actual: ALLOWED.context.amount },
    ])
  })

  it('says of a rule that was not reached that it was not', async () => {
    const { id } = await decide(server, ALLOWED)
    const { effect, policies } = await explain(id)
    expect(effect).toBe('allow')
    expect(policies[0].rules.map(({ result }: { result: string }) => result)).toEqual([
      'matched',
      'not_reached',
      'not_reached',
    ])
  })

  it('tells of too many reviews as the decision does', async () => {
    await decide(server, { ...REVIEWED, agent_id: 'agent:support-many' })
    const { id, effect, reason } = await decide(server, { ...REVIEWED, agent_id: 'agent:support-many' })
    expect(effect).toBe('deny')
    expect(await explain(id)).toMatchObject({ effect: 'deny', summary: `Denied: ${reason}`, nearest_miss: null })
  })
})

describe('what changed since', () => {
  it('is not in it: the policy', async () => {
    const asked = { agent_id: 'agent:a', action: 'since.policy', context: { n: 2 } }
    const rules = (limit: number) => [
      { action: 'since.policy', effect: 'allow', conditions: { 'context.n': { $lte: limit } } },
    ]
    const made = await createPolicy(server, { name: 'since', rules: rules(1) })
    const { id } = await decide(server, asked)
    const then = await explain(id)
    expect(then).toMatchObject({ effect: 'deny', nearest_miss: { failed: [{ expected: 1, actual: 2 }] } })
    await succeed(server.call('PUT', `/v1/policies/${made.id}`, { body: { name: 'since then', rules: rules(5) } }))
    expect((await decide(server, asked)).effect).toBe('allow')
    expect(await explain(id)).toEqual(then)
    await createPolicy(server, { name: 'newer', priority: 9, rules: rules(9) })
    expect(await explain(id)).toEqual(then)
    await succeed(server.call('DELETE', `/v1/policies/${made.id}`))
    expect(await explain(id)).toEqual(then)
    const restarted = await decide(server, asked)
    expect((await explain(restarted.id)).policies.map(({ name }: { name: string }) => name)).not.toContain('since then')
  })

  it("is not in it: the agent's metadata", async () => {
    const register = (metadata: object) => ({ body: { metadata } })
    const asked = { agent_id: 'agent:meta', action: 'since.metadata' }
    await createPolicy(server, {
      name: 'metadata',
      rules: [{ action: 'since.metadata', effect: 'allow', conditions: { 'agent.level': { $gte: 3 } } }],
    })
    const unregistered = await decide(server, asked)
    await succeed(server.call('POST', '/v1/agents', { body: { id: 'agent:meta', metadata: { level: 2 } } }))
    const low = await decide(server, asked)
    await succeed(server.call('PUT', '/v1/agents/agent:meta', register({ level: 4 })))
    const high = await decide(server, asked)
    await succeed(server.call('DELETE', '/v1/agents/agent:meta'))
    await succeed(server.call('POST', '/v1/agents', { body: { id: 'agent:meta', metadata: { level: 1 } } }))
    const failedOf = async (id: string) =>
      (await explain(id)).policies.find(({ name }: { name: string }) => name === 'metadata').rules[0]
    expect([unregistered.effect, low.effect, high.effect]).toEqual(['deny', 'deny', 'allow'])
    expect(await failedOf(unregistered.id)).toMatchObject({ result: 'unknown', failed: [{ found: 'missing' }] })
    expect(await failedOf(low.id)).toMatchObject({ result: 'condition', failed: [{ actual: 2 }] })
    expect(await failedOf(high.id)).toMatchObject({
      result: 'matched',
      failed: [],
      held: [{ path: 'action' }, { path: 'agent.level', expected: 3, actual: 4 }],
    })
  })

  it('is not in it: a suspension and its end', async () => {
    const asked = { ...ALLOWED, agent_id: 'agent:support-kill' }
    const before = await decide(server, asked)
    const then = await explain(before.id)
    await succeed(server.call('POST', '/v1/agents/agent:support-kill/suspend'))
    expect(await explain(before.id)).toEqual(then)
    const during = await decide(server, asked)
    await succeed(server.call('POST', '/v1/agents/agent:support-kill/resume'))
    expect(await explain(during.id)).toMatchObject({ effect: 'deny', summary: expect.stringContaining('suspended') })
  })

  it('is not in it: the clock', async () => {
    await createPolicy(server, {
      name: 'mornings',
      rules: [
        { action: 'since.clock', effect: 'allow', conditions: { 'now.hour': { $lt: 11 }, 'now.weekday': { $eq: 6 } } },
      ],
    })
    const asked = { agent_id: 'agent:a', action: 'since.clock' }
    const morning = await decide(server, asked)
    const then = await explain(morning.id)
    expect(then.effect).toBe('allow')
    server.clock.advance(3_600_000)
    expect((await decide(server, asked)).effect).toBe('deny')
    expect(await explain(morning.id)).toEqual(then)
  })

  it('is not in it after a restart either', async () => {
    const first = await runServer({ settings: { rateLimitPerSecond: 0 } })
    const made = await createPolicy(first, REFUNDS)
    const { id } = await decide(first, DENIED)
    const then = await succeed(first.call('GET', `/v1/decisions/${id}/explanation`))
    await succeed(first.call('DELETE', `/v1/policies/${made.id}`))
    const second = await first.restart()
    try {
      expect(await succeed(second.call('GET', `/v1/decisions/${id}/explanation`))).toEqual(then)
    } finally {
      await second.stop()
    }
  })
})
