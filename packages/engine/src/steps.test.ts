import type { Conditions, Json, JsonObject, Rule } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { adviseOn } from './advise.js'
import type { EnginePolicy } from './compiled-policy.js'
import { evaluate } from './evaluate.js'
import { explain } from './explain/explain.js'
import { compilePolicies } from './policy-set.js'
import type { EngineRequest, Facts } from './request.js'

const FACTS: Facts = { now: new Date('2026-11-21T10:00:00.000Z'), suspended: false, metadata: { list: ['a', 'b'] } }

function requestOf(context: JsonObject, resource: string | null = null): EngineRequest {
  return { agent_id: 'agent:support-7', action: 'payment.refund', resource, context }
}

function policyOf(rules: readonly Rule[], changes: Partial<EnginePolicy> = {}): EnginePolicy {
  return { id: 'pol_1', revision: 1, name: 'p', rules, ...changes }
}

/** The least number of steps that is enough. */
function stepsOf(policies: readonly EnginePolicy[], request: EngineRequest): number {
  const set = compilePolicies(policies)
  for (let steps = 0; ; steps += 1)
    if (evaluate(set, request, FACTS, steps).reason_code !== 'evaluation_limit') return steps
}

const stepsOfConditions = (conditions: Conditions, context: JsonObject) =>
  stepsOf([policyOf([{ action: '*', effect: 'allow', conditions }])], requestOf(context))

describe('what takes a step', () => {
  const long = 'x'.repeat(320)
  it.each<[string, Conditions, JsonObject, number]>([
    ['a path and its operators', { 'context.a': { $gt: 0, $lte: 9 } }, { a: 5 }, 1 + 2],
    ['up to the first operator that is false', { 'context.a': { $gt: 6, $lte: 9 } }, { a: 5 }, 1 + 1],
    ['up to the first path that is false', { 'context.a': { $eq: 6 }, 'now.hour': { $lt: 5 } }, { a: 5 }, 1 + 1],
    ['past what is unknown', { 'context.a': { $eq: 6 }, 'now.hour': { $lt: 5 } }, {}, 2 + 2],
    ['each group', { $and: [{ $not: { 'context.a': { $eq: 6 } } }] }, { a: 5 }, 2 + 2],
    ['$or up to the first that is true', { $or: [{ 'context.a': { $eq: 5 } }, { action: { $ne: 'b' } }] }, { a: 5 }, 3],
    ['two long texts', { 'context.a': { $eq: long } }, { a: `${long}y` }, 2 + 20],
    ['a long text beside a short one', { 'context.a': { $ne: 'EUR' } }, { a: long }, 2],
    ['a long text beside a number', { 'context.a': { $lt: 5 } }, { a: long }, 2],
    [
      'a list, wherever the item stands',
      { 'context.a': { $in: Array.from({ length: 160 }, (_, i) => i) } },
      { a: 0 },
      12,
    ],
    ['a short list and a short text', { 'context.a': { $in: ['EUR', 'USD'] } }, { a: 'EUR' }, 2],
    ['a list and a text together', { 'context.a': { $nin: ['EUR', 'USD'] } }, { a: 'x'.repeat(14) }, 3],
    ['the items of an array', { 'context.a': { $contains: 'b' } }, { a: Array(32).fill('b') as Json }, 4],
    ['a text and its pattern', { 'context.a': { $like: `*${'y'.repeat(15)}` } }, { a: long }, 2 + 21],
    [
      'networks and an address',
      { 'context.a': { $cidr: Array(20).fill('10.0.0.0/8') as string[] } },
      { a: '10.1.2.3' },
      3,
    ],
    ['no more of a text than an address has', { 'context.a': { $cidr: '10.0.0.0/8' } }, { a: long }, 2 + 2],
    ['nothing read for presence', { 'context.a': { $exists: true } }, { a: long }, 2],
  ])('%s', (_, conditions, context, steps) => {
    expect(stepsOfConditions(conditions, context)).toBe(1 + steps)
  })

  it('each rule that agent and action reach, until one matches', () => {
    const rule: Rule = { action: 'payment.*', effect: 'allow', conditions: { 'context.a': { $eq: 1 } } }
    const other: Rule = { action: 'email.*', effect: 'deny', conditions: { 'context.a': { $eq: 1 } } }
    expect(stepsOf([policyOf([other, rule, rule])], requestOf({ a: 0 }))).toBe(6)
    expect(stepsOf([policyOf([other, rule, rule])], requestOf({ a: 1 }))).toBe(3)
    expect(stepsOf([policyOf([rule], { agents: ['agent:other'] })], requestOf({ a: 1 }))).toBe(0)
  })

  it('what a resource pattern reads, before the conditions', () => {
    const rule: Rule = { action: '*', resource: 'order:*', effect: 'allow', conditions: { 'now.hour': { $gt: 1 } } }
    expect(stepsOf([policyOf([rule])], requestOf({}, `order:${'1'.repeat(50)}`))).toBe(1 + 3 + 2)
    expect(stepsOf([policyOf([rule])], requestOf({}, `invoice:${'1'.repeat(50)}`))).toBe(1 + 4)
    expect(stepsOf([policyOf([rule])], requestOf({}))).toBe(1 + 2)
  })
})

describe('an evaluation that takes more steps than there are', () => {
  const slow: Rule = {
    action: '*',
    effect: 'allow',
    conditions: { $or: Array.from({ length: 8_000 }, () => ({ 'context.text': { $like: '*b*' } })) },
  }
  const context = { text: 'a'.repeat(64_000) }

  it('is denied by the rule that it reached, and says what to do', () => {
    const set = compilePolicies([policyOf([{ ...slow, action: 'email.*' }, slow], { revision: 3 })])
    const evaluation = evaluate(set, requestOf(context), FACTS)
    expect(evaluation).toEqual({
      effect: 'deny',
      reason: 'Evaluating this request takes more steps than allowed.',
      reason_code: 'evaluation_limit',
      policy_id: 'pol_1',
      policy_revision: 3,
      rule: 1,
      shadow: [],
      budgeted: [],
    })
    expect(adviseOn(evaluation, requestOf(context), 'dec_1')).toEqual({
      retry: 'changed',
      message:
        'Shorten the texts and lists of the context and ask again. If they are short, do not try again; tell the person you work for.',
    })
  })

  it('denies even what a policy before it allowed at the same priority', () => {
    const allow = policyOf([{ action: '*', effect: 'allow' }], { id: 'pol_0' })
    expect(evaluate(compilePolicies([allow, policyOf([slow])]), requestOf(context), FACTS)).toMatchObject({
      effect: 'deny',
      reason_code: 'evaluation_limit',
      policy_id: 'pol_1',
    })
    const above = { ...allow, priority: 1 }
    expect(evaluate(compilePolicies([above, policyOf([slow])]), requestOf(context), FACTS).effect).toBe('allow')
  })

  it('is explained as far as it came', () => {
    const other = policyOf([{ action: '*', effect: 'allow' }], { id: 'pol_2', name: 'other' })
    const { effect, summary, nearest_miss, policies } = explain(
      compilePolicies([policyOf([{ ...slow, action: 'email.*' }, slow, slow]), other]),
      requestOf(context),
      FACTS,
    )
    expect({ effect, summary, nearest_miss }).toEqual({
      effect: 'deny',
      summary: 'Denied: rule 2 of "p" could not be judged within the steps of an evaluation.',
      nearest_miss: null,
    })
    expect(policies.map(({ result, decided, rules }) => [result, decided, rules.map((rule) => rule.result)])).toEqual([
      ['deny', true, ['action', 'unknown', 'not_reached']],
      ['not_reached', false, ['not_reached']],
    ])
  })

  it('does not come from shadow policies, which share steps of their own', () => {
    const shadow = (id: string, rules: readonly Rule[]) => policyOf(rules, { id, mode: 'shadow' })
    const deny: Rule = { action: '*', effect: 'deny', conditions: { 'now.hour': { $eq: 10 } } }
    const { effect, shadow: recorded } = evaluate(
      compilePolicies([
        policyOf([{ action: '*', effect: 'allow' }]),
        shadow('pol_s1', [{ ...deny, effect: 'log' }]),
        shadow('pol_s2', [slow]),
        shadow('pol_s3', [deny]),
      ]),
      requestOf(context),
      FACTS,
    )
    expect(effect).toBe('allow')
    expect(recorded).toEqual([
      { policy_id: 'pol_s1', effect: 'log', rule: 0 },
      { policy_id: 'pol_s2', effect: 'deny', rule: 0 },
    ])
  })
})

describe('an answer within its steps', () => {
  it('names the unknown fact without looking at what was settled', () => {
    // The first alternative holds, so the long ones are not looked at, not even to find out what is unknown.
    const rest = Array.from({ length: 8_000 }, () => ({ 'context.text': { $like: '*b*' } }))
    const conditions = { $or: [{ 'now.hour': { $eq: 10 } }, ...rest], 'context.amount': { $lte: 5 } }
    const set = compilePolicies([policyOf([{ action: '*', effect: 'deny', conditions }])])
    let looks = 0
    const context = {
      get text(): string {
        looks += 1
        return 'a'.repeat(64_000)
      },
    }
    const { reason_code, indeterminate } = evaluate(set, requestOf(context), FACTS, 20)
    expect({ reason_code, path: indeterminate?.path }).toEqual({
      reason_code: 'condition_indeterminate',
      path: 'context.amount',
    })
    expect(looks).toBe(0)
  })

  it('is explained with the rule that decided, also when looking at everything takes more', () => {
    const rest = Array.from({ length: 8_000 }, () => ({ 'context.text': { $like: '*b*' } }))
    const rule: Rule = { action: '*', effect: 'allow', conditions: { $or: [{ 'now.hour': { $eq: 10 } }, ...rest] } }
    const set = compilePolicies([policyOf([rule])])
    const { effect, summary, policies } = explain(set, requestOf({ text: 'a'.repeat(64_000) }), FACTS)
    expect({ effect, summary }).toEqual({
      effect: 'allow',
      summary: 'Allowed: rule 1 of "p" allows this payment.refund.',
    })
    expect(policies[0]).toMatchObject({ result: 'allow', decided: true, rules: [{ result: 'matched', failed: [] }] })
  })
})
