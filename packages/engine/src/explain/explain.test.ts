import type { Rule } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import type { EnginePolicy } from '../compiled-policy.js'
import { compilePolicies } from '../policy-set.js'
import type { EngineRequest, Facts } from '../request.js'
import { explain } from './explain.js'

const REQUEST: EngineRequest = {
  agent_id: 'agent:support-7',
  action: 'payment.refund',
  resource: 'order:8812',
  context: { amount: 1500, tags: ['vip'] },
}
const FACTS: Facts = {
  now: new Date('2026-11-21T10:00:00.000Z'),
  suspended: false,
  metadata: { limit: 500, ceiling: 2000 },
}
const REFUNDS: EnginePolicy = {
  id: 'pol_refunds',
  revision: 3,
  name: 'refunds',
  agents: ['agent:support-*'],
  rules: [
    { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
    { action: 'payment.refund', effect: 'review', conditions: { 'context.amount': { $lte: 1000 } } },
    { action: 'payment.refund', effect: 'deny' },
  ],
}

function explainRefund(changes: Partial<EngineRequest> = {}, facts: Partial<Facts> = {}) {
  return explain(compilePolicies([REFUNDS]), { ...REQUEST, ...changes }, { ...FACTS, ...facts })
}

function explainRules(...rules: Rule[]) {
  const { policies } = explain(compilePolicies([{ ...REFUNDS, rules }]), REQUEST, FACTS)
  return policies[0]?.rules
}

function policy(changes: Partial<EnginePolicy>): EnginePolicy {
  return { id: 'pol_x', revision: 1, name: 'x', rules: [{ action: '*', effect: 'allow' }], ...changes }
}

describe('explain', () => {
  it('shows a decision with its nearest miss', () => {
    const amount = { path: 'context.amount', operator: '$lte', actual: 1500 }
    expect(explainRefund()).toEqual({
      effect: 'deny',
      summary:
        'Denied: rule 3 of "refunds" denies every payment.refund; rule 2 would have sent it to review, had context.amount been at most 1000 (it was 1500).',
      nearest_miss: { policy_id: 'pol_refunds', rule: 1, failed: [{ ...amount, expected: 1000 }] },
      policies: [
        {
          policy_id: 'pol_refunds',
          name: 'refunds',
          revision: 3,
          priority: 0,
          mode: 'enforce',
          agents: 'matched',
          result: 'deny',
          decided: true,
          rules: [
            { rule: 0, effect: 'allow', result: 'condition', failed: [{ ...amount, expected: 100 }] },
            { rule: 1, effect: 'review', result: 'condition', failed: [{ ...amount, expected: 1000 }] },
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

  it('shows an allow, which has missed nothing, and the rules that were not reached', () => {
    const explanation = explainRefund({ context: { amount: 50 } })
    expect(explanation).toMatchObject({
      effect: 'allow',
      summary: 'Allowed: rule 1 of "refunds" allows this payment.refund.',
      nearest_miss: null,
    })
    expect(explanation.policies[0]?.rules.map(({ result }) => result)).toEqual([
      'matched',
      'not_reached',
      'not_reached',
    ])
  })

  it('shows what held in the rule that matched: its patterns and conditions, of an $or what was true', () => {
    const rules = explainRules({
      action: 'payment.*',
      resource: 'order:*',
      effect: 'allow',
      conditions: {
        'context.amount': { $gt: 0, $lte: { $ref: 'agent.ceiling' } },
        $or: [{ 'context.tags': { $contains: 'vip' } }, { 'context.amount': { $lt: 5 } }],
        $not: { 'context.amount': { $eq: 7 }, 'context.nothing': { $exists: true } },
        'context.absent': { $exists: false },
      },
    })
    const amount = { path: 'context.amount', actual: 1500 }
    expect(rules).toEqual([
      {
        rule: 0,
        effect: 'allow',
        result: 'matched',
        failed: [],
        held: [
          { path: 'action', operator: '$like', expected: 'payment.*', actual: 'payment.refund' },
          { path: 'resource', operator: '$like', expected: 'order:*', actual: 'order:8812' },
          { ...amount, operator: '$gt', expected: 0 },
          { ...amount, operator: '$lte', expected: 2000 },
          { path: 'context.tags', operator: '$contains', expected: 'vip', actual: ['vip'] },
          { ...amount, operator: '$not $eq', expected: 7 },
          { path: 'context.nothing', operator: '$not $exists', expected: true, actual: null },
          { path: 'context.absent', operator: '$exists', expected: false, actual: null },
        ],
      },
    ])
  })

  it("keeps the agent's metadata out of what held", () => {
    const conditions = { 'agent.limit': { $gte: 500 }, 'context.amount': { $lte: { $ref: 'agent.ceiling' } } }
    const set = compilePolicies([policy({ rules: [{ action: '*', effect: 'allow', conditions }] })])
    const { policies } = explain(set, REQUEST, FACTS, { hidesMetadata: true })
    expect(policies[0]?.rules[0]?.held?.slice(1)).toEqual([
      { path: 'agent.limit', operator: '$gte', expected: 500, actual: null, redacted: true },
      {
        path: 'context.amount',
        operator: '$lte',
        expected: { $ref: 'agent.ceiling' },
        actual: null,
        redacted: true,
      },
    ])
  })

  it('shows an unknown with the type found and no value', () => {
    const explanation = explainRefund({ context: { amount: '50' } })
    const failed = [{ path: 'context.amount', operator: '$lte', expected: 1000, actual: null, found: 'string' }]
    expect(explanation.summary).toBe(
      'Denied: rule 2 of "refunds" needs context.amount as a number, and the request has a string; rule 2 would have sent it to review, had context.amount been at most 1000 (it was a string).',
    )
    expect(explanation.policies[0]?.rules[1]).toEqual({ rule: 1, effect: 'review', result: 'unknown', failed })
    expect(explainRefund({ context: null }).policies[0]?.rules[0]?.failed[0]?.found).toBe('missing')
  })

  it('shows the pattern that is false, the action before the resource', () => {
    expect(
      explainRules(
        { action: 'email.*', resource: 'invoice:*', effect: 'allow' },
        { action: 'payment.*', resource: 'invoice:*', effect: 'allow', conditions: { 'context.amount': { $lt: 1 } } },
      ),
    ).toEqual([
      {
        rule: 0,
        effect: 'allow',
        result: 'action',
        failed: [{ path: 'action', operator: '$like', expected: 'email.*', actual: 'payment.refund' }],
      },
      {
        rule: 1,
        effect: 'allow',
        result: 'resource',
        failed: [{ path: 'resource', operator: '$like', expected: 'invoice:*', actual: 'order:8812' }],
      },
    ])
  })

  it('shows a resource that the request lacks as unknown', () => {
    const set = compilePolicies([policy({ rules: [{ action: '*', resource: 'order:*', effect: 'allow' }] })])
    const { policies } = explain(set, { ...REQUEST, resource: null }, FACTS)
    expect(policies[0]?.rules[0]).toEqual({
      rule: 0,
      effect: 'allow',
      result: 'unknown',
      failed: [{ path: 'resource', operator: '$like', expected: 'order:*', actual: null, found: 'missing' }],
    })
  })

  it('shows what stands in groups, with $not before the operator', () => {
    const rules = explainRules({
      action: '*',
      effect: 'allow',
      conditions: {
        $or: [{ 'context.amount': { $lt: 5 } }, { 'context.currency': { $eq: 'EUR' } }],
        $not: { 'context.tags': { $contains: 'vip' } },
        'context.amount': { $gte: 1000 },
      },
    })
    expect(rules?.[0]?.result).toBe('condition')
    expect(rules?.[0]?.failed).toEqual([
      { path: 'context.amount', operator: '$lt', expected: 5, actual: 1500 },
      { path: 'context.currency', operator: '$eq', expected: 'EUR', actual: null, found: 'missing' },
      { path: 'context.tags', operator: '$not $contains', expected: 'vip', actual: ['vip'] },
    ])
  })

  it('shows the value behind a reference, or the reference that has none', () => {
    const compare = (path: string): Rule => ({
      action: '*',
      effect: 'allow',
      conditions: { 'context.amount': { $lte: { $ref: path } } },
    })
    expect(explainRules(compare('agent.limit'), compare('agent.nothing'))?.map(({ failed }) => failed)).toEqual([
      [{ path: 'context.amount', operator: '$lte', expected: 500, actual: 1500 }],
      [
        {
          path: 'agent.nothing',
          operator: '$lte',
          expected: { $ref: 'agent.nothing' },
          actual: null,
          found: 'missing',
        },
      ],
    ])
  })

  it('lists policies that take no part, in the order of evaluation', () => {
    const set = compilePolicies([
      policy({ id: 'pol_5', priority: -1 }),
      policy({ id: 'pol_4', agents: ['agent:billing'] }),
      policy({ id: 'pol_3', enabled: false }),
      policy({ id: 'pol_2', mode: 'shadow', priority: -2, rules: [{ action: '*', effect: 'deny' }] }),
      policy({ id: 'pol_1', rules: [{ action: 'email.send', effect: 'allow' }] }),
      policy({ id: 'pol_6' }),
    ])
    const { policies } = explain(set, REQUEST, FACTS)
    expect(
      policies.map(({ policy_id, agents, result, decided, rules }) => [
        policy_id,
        agents,
        result,
        decided,
        rules.length,
      ]),
    ).toEqual([
      ['pol_1', 'matched', 'no_match', false, 1],
      ['pol_3', 'matched', 'disabled', false, 0],
      ['pol_4', 'no_match', 'no_match', false, 0],
      ['pol_6', 'matched', 'allow', true, 1],
      ['pol_5', 'matched', 'not_reached', false, 1],
      ['pol_2', 'matched', 'deny', false, 1],
    ])
    expect(policies[4]?.rules).toEqual([{ rule: 0, effect: 'allow', result: 'not_reached', failed: [] }])
  })

  it('considers no policy for a suspended agent', () => {
    expect(explainRefund({}, { suspended: true })).toEqual({
      effect: 'deny',
      summary: 'Denied: the agent is suspended, so no policy was asked.',
      nearest_miss: null,
      policies: [],
    })
  })

  it('says so when no policy matches', () => {
    expect(explainRefund({ action: 'email.send' }).summary).toBe('Denied: no policy matches this request.')
  })

  it('counts the conditions of a miss that failed in several', () => {
    const conditions = {
      'context.amount': { $gt: 2000, $lt: 1000 },
      'context.tags': { $contains: 'new' },
      'now.hour': { $in: [1, 2, 3, 4, 5, 6, 7] },
    }
    const set = compilePolicies([policy({ rules: [{ action: '*', effect: 'allow', conditions }] })])
    expect(explain(set, REQUEST, FACTS).summary).toBe(
      'Denied: no policy matches this request; rule 1 of "x" would have allowed it but for 4 conditions: context.amount more than 2000 (it was 1500), context.amount less than 1000 (it was 1500), context.tags contained "new" (it was "vip"), 1 more.',
    )
  })

  it('takes the miss with the fewest failed conditions before the one with the smaller change', () => {
    const two = { 'context.amount': { $lt: 10 }, 'now.hour': { $eq: 11 } }
    const set = compilePolicies([
      policy({
        rules: [
          { action: '*', effect: 'allow', conditions: { 'now.hour': { $eq: 11 } } },
          { action: '*', effect: 'review', conditions: two },
        ],
      }),
    ])
    expect(explain(set, REQUEST, FACTS).nearest_miss?.rule).toBe(0)
  })
})
