import type { Conditions, Json, JsonObject, Rule } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { adviseOn } from './advise.js'
import { evaluate, evaluationError } from './evaluate.js'
import { compilePolicies } from './policy-set.js'
import type { EngineRequest, Facts } from './request.js'

const FACTS: Facts = {
  now: new Date('2026-11-21T10:00:00.000Z'),
  suspended: false,
  metadata: { limit: 'high', none: null },
}
const DECISION = 'dec_01kagx5000000000000000000'

function request(context: JsonObject | null = null, resource: string | null = null): EngineRequest {
  return { agent_id: 'agent:support-7', action: 'payment.refund', resource, context }
}

function ask(rule: Partial<Rule>, asked: EngineRequest = request(), facts: Partial<Facts> = {}) {
  const rules = [{ action: '*', effect: 'deny' as const, ...rule }]
  const set = compilePolicies([{ id: 'pol_1', revision: 4, name: 'secret policy', rules }])
  const evaluation = evaluate(set, asked, { ...FACTS, ...facts })
  return { ...evaluation, advice: adviseOn(evaluation, asked, DECISION) }
}

describe('the reason and the advice', () => {
  it('of an allow are null', () => {
    expect(ask({ effect: 'allow', reason: 'own' })).toMatchObject({ effect: 'allow', reason: null, advice: null })
  })

  it('of a log: a sentence and no advice', () => {
    const reason = 'The policy records payment.refund and does not block it.'
    expect(ask({ effect: 'log' })).toMatchObject({ effect: 'log', reason, advice: null })
    expect(ask({ effect: 'log', reason: 'Watched.' }).reason).toBe('Watched.')
  })

  it('of a deny', () => {
    const message = 'payment.refund is denied for this agent. Do not try again; tell the person you work for.'
    expect(ask({})).toMatchObject({
      reason: 'The policy denies payment.refund.',
      reason_code: 'rule_matched',
      policy_id: 'pol_1',
      policy_revision: 4,
      rule: 0,
      advice: { retry: 'never', message },
    })
    expect(ask({ reason: 'Not on Saturdays.' })).toMatchObject({
      reason: 'Not on Saturdays.',
      advice: { retry: 'never', message },
    })
  })

  it('of a review', () => {
    expect(ask({ effect: 'review', reason: 'Refunds need a person.' })).toMatchObject({
      reason: 'Refunds need a person.',
      advice: {
        retry: 'after_approval',
        message: `A person has to approve this. Wait for decision ${DECISION}; do not ask again.`,
      },
    })
  })

  it('when no policy matches', () => {
    expect(ask({ action: 'email.*' })).toMatchObject({
      effect: 'deny',
      reason: 'No policy matches this request.',
      reason_code: 'no_matching_policy',
      policy_id: 'pol_default',
      policy_revision: null,
      rule: null,
      advice: {
        retry: 'never',
        message: 'No policy allows payment.refund for this agent. Do not try again; tell the person you work for.',
      },
    })
  })

  it('of a suspended agent', () => {
    expect(ask({ effect: 'allow' }, request(), { suspended: true })).toMatchObject({
      effect: 'deny',
      reason: 'The agent is suspended.',
      reason_code: 'agent_suspended',
      advice: { retry: 'never', message: 'This agent is suspended. Do not try again; tell the person you work for.' },
    })
  })

  it('of a fault of ours', () => {
    const evaluation = evaluationError()
    expect(evaluation).toMatchObject({
      effect: 'deny',
      reason_code: 'evaluation_error',
      policy_id: 'pol_default',
      rule: null,
      shadow: [],
    })
    expect(adviseOn(evaluation, request(), DECISION)?.retry).toBe('never')
  })

  it('of a review that could not be opened', () => {
    const review = ask({ effect: 'review' })
    const denied = { ...review, effect: 'deny' as const, reason_code: 'too_many_reviews' as const }
    expect(adviseOn(denied, request(), DECISION)).toEqual({
      retry: 'never',
      message: 'Too many requests are already waiting for a person. Do not try again; tell the person you work for.',
    })
  })
})

describe('an unknown condition', () => {
  it.each<[string, Conditions, JsonObject | null, string, string]>([
    ['a missing number', { 'context.amount': { $lte: 5 } }, null, 'context.amount as a number', 'none'],
    ['a null', { 'context.amount': { $lte: 5 } }, { amount: null }, 'context.amount as a number', 'null'],
    ['a text', { 'context.amount': { $lte: 5 } }, { amount: '5' }, 'context.amount as a number', 'a string'],
    ['an array', { 'context.amount': { $eq: 5 } }, { amount: [5] }, 'context.amount as a number', 'an array'],
    ['an object', { 'context.flag': { $eq: true } }, { flag: {} }, 'context.flag as a boolean', 'an object'],
    ['a number', { 'context.name': { $like: 'a*' } }, { name: 5 }, 'context.name as a string', 'a number'],
    [
      'no address',
      { 'context.ip': { $cidr: '10.0.0.0/8' } },
      { ip: '10.01.2.3' },
      'context.ip as an IP address',
      'another text',
    ],
    [
      'no array',
      { 'context.tags': { $contains: 'a' } },
      { tags: 'a' },
      'context.tags as an array of strings',
      'a string',
    ],
    [
      'other items',
      { 'context.tags': { $contains: 'a' } },
      { tags: ['b', 1] },
      'context.tags as an array of strings',
      'an array with other items',
    ],
    [
      'no type of a list',
      { 'context.a': { $in: [1, 'x'] } },
      { a: true },
      'context.a as a number or string',
      'a boolean',
    ],
    [
      'two missing values',
      { 'context.a': { $lt: { $ref: 'context.b' } } },
      {},
      'context.a as a number or string',
      'none',
    ],
    [
      'a missing right side',
      { 'context.a': { $eq: { $ref: 'context.b' } } },
      { a: 5 },
      'context.b as a number',
      'none',
    ],
    [
      'two types',
      { 'context.a': { $eq: { $ref: 'context.b' } } },
      { a: 5, b: 'x' },
      'context.a as a string',
      'a number',
    ],
  ])('is explained: %s', (_, conditions, context, need, found) => {
    expect(ask({ conditions }, request(context))).toMatchObject({
      effect: 'deny',
      reason_code: 'condition_indeterminate',
      reason: `The policy needs ${need}, and the request has ${found}.`,
      advice: { retry: 'changed', message: `Give ${need} and ask again.` },
    })
  })

  it('of the metadata is for someone else to mend', () => {
    const conditions = { 'context.amount': { $lte: { $ref: 'agent.limit' } } }
    expect(ask({ conditions }, request({ amount: 5 }))).toMatchObject({
      reason: 'The policy needs context.amount as a string, and the request has a number.',
    })
    expect(ask({ conditions: { 'agent.none': { $eq: 5 } } })).toMatchObject({
      reason: 'The policy needs agent.none as a number, and the agent has null.',
      advice: { message: "Have agent.none as a number put into the agent's metadata and ask again." },
    })
    expect(ask({ conditions: { 'context.a': { $in: { $ref: 'agent.none' } } } }, request({ a: 'x' })).reason).toBe(
      'The policy needs agent.none as an array of strings, and the agent has null.',
    )
  })

  it('of the resource comes before those of the conditions', () => {
    const conditions = { 'context.amount': { $lte: 5 } }
    expect(ask({ resource: 'order:*', conditions })).toMatchObject({
      reason: 'The policy needs resource as a string, and the request has none.',
      advice: { message: 'Give resource as a string and ask again.' },
    })
  })

  it('names the one that counted, not another that an $or made up for', () => {
    const conditions: Conditions = {
      $or: [{ 'context.a': { $eq: 1 } }, { 'context.b': { $eq: 1 } }],
      $not: { $and: [{ 'context.c': { $eq: 1 } }, { 'context.d': { $eq: 1 } }] },
    }
    expect(ask({ conditions }, request({ b: 1, c: 1 })).indeterminate?.path).toBe('context.d')
  })

  it('does not have the reason of its rule, which would not be true', () => {
    expect(ask({ conditions: { 'context.a': { $eq: 1 } }, reason: 'a is 1' }).reason).not.toBe('a is 1')
  })

  it('is advised on without the policy', () => {
    const conditions = { 'context.amount': { $lte: 123.45 } }
    const { advice } = ask({ conditions, reason: 'internal words' })
    for (const secret of ['123.45', 'secret policy', 'pol_1', 'internal words', '$lte']) {
      expect(JSON.stringify(advice)).not.toContain(secret)
    }
  })
})

describe('operators', () => {
  const verdict = (operators: object, value: Json | undefined) => {
    const context: JsonObject = value === undefined ? {} : { v: value }
    const matched =
      ask({ effect: 'allow', conditions: { 'context.v': operators } }, request(context)).effect === 'allow'
    const negated = { $not: { 'context.v': operators } } as Conditions
    const isFalse = ask({ effect: 'allow', conditions: negated }, request(context)).effect === 'allow'
    return matched ? true : isFalse ? false : 'unknown'
  }
  const LONG_LIST = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

  it.each<[object, Json | undefined, boolean | 'unknown']>([
    [{ $eq: 0 }, -0, true],
    [{ $eq: 1 }, 1.0000000000000002, false],
    [{ $eq: '1' }, 1, 'unknown'],
    [{ $eq: true }, false, false],
    [{ $ne: 'a' }, 'b', true],
    [{ $ne: 'a' }, undefined, 'unknown'],
    [{ $lt: 5 }, 5, false],
    [{ $lte: 5 }, 5, true],
    [{ $gt: 5 }, 5, false],
    [{ $gte: 5 }, 5, true],
    [{ $lt: 'b' }, 'a', true],
    [{ $lt: '\uffff' }, '😀', true],
    [{ $lt: 5 }, true, 'unknown'],
    [{ $in: [1, 'a'] }, 'a', true],
    [{ $in: [1, 'a'] }, 'b', false],
    [{ $in: [1, 'a'] }, true, 'unknown'],
    [{ $in: LONG_LIST }, 10, true],
    [{ $in: LONG_LIST }, 11, false],
    [{ $in: LONG_LIST }, '1', 'unknown'],
    [{ $in: [...LONG_LIST, 'a'] }, 'b', false],
    [{ $nin: [1, 2] }, 3, true],
    [{ $nin: [1, 2] }, 'x', 'unknown'],
    [{ $in: [1] }, null, 'unknown'],
    [{ $contains: 1 }, [], false],
    [{ $contains: 1 }, [2, 1, 'x'], true],
    [{ $contains: 1 }, [2, 'x'], 'unknown'],
    [{ $contains: 1 }, 1, 'unknown'],
    [{ $contains: 1 }, [[1]], 'unknown'],
    [{ $exists: true }, null, false],
    [{ $exists: true }, [], true],
    [{ $exists: false }, undefined, true],
    [{ $like: 'a*' }, 'abc', true],
    [{ $like: 'a*' }, 5, 'unknown'],
    [{ $cidr: '10.0.0.0/9' }, '10.127.255.255', true],
    [{ $cidr: '10.0.0.0/9' }, '10.128.0.0', false],
    [{ $cidr: '0.0.0.0/0' }, '255.255.255.255', true],
    [{ $cidr: '::/0' }, '10.0.0.1', false],
    [{ $cidr: '2001:db8::/33' }, '2001:db8:8000::', false],
    [{ $cidr: '10.0.0.0/8' }, '10.0.0', 'unknown'],
    [{ $cidr: '10.0.0.0/8' }, 167772161, 'unknown'],
  ])('%j on %j is %s', (operators, value, expected) => {
    expect(verdict(operators, value)).toBe(expected)
  })

  it('an empty list of the agent is false, something else is unknown', () => {
    const conditions: Conditions = { $not: { 'context.v': { $in: { $ref: 'agent.list' } } } }
    const effect = (list: Json) =>
      ask({ effect: 'allow', conditions }, request({ v: 1 }), { metadata: { list } }).effect
    expect([effect([]), effect('1'), effect(['1']), effect([null])]).toEqual(['allow', 'deny', 'deny', 'deny'])
  })
})
