import { type JsonObject, PolicyDocumentSchema } from '@countersign/contract'
import { compilePolicies, evaluate, lint } from '@countersign/engine'
import { describe, expect, it } from 'vitest'
import { draftRule } from './draft-rule.js'

const ASKED = {
  id: 'dec_1',
  agent_id: 'agent:support-7',
  action: 'payment.refund',
  resource: 'order:8812' as string | null,
}
const asked = (context: JsonObject | null, more: Partial<typeof ASKED> = {}) =>
  ({ ...ASKED, ...more, context }) as Parameters<typeof draftRule>[0]
const conditionsOf = (context: JsonObject | null) => draftRule(asked(context)).conditions

/** A policy of the drafted rule alone. */
const draftPolicy = (drafted: Parameters<typeof draftRule>[0]) => ({
  name: 'draft',
  agents: [drafted.agent_id],
  rules: [draftRule(drafted)],
})

/** What the policy of the draft alone says of a request. */
function effectOf(drafted: Parameters<typeof draftRule>[0], request = drafted) {
  const set = compilePolicies([
    { id: 'pol_1', revision: 1, priority: 0, enabled: true, mode: 'enforce', ...draftPolicy(drafted) } as never,
  ])
  return evaluate(set, request, { now: new Date(), suspended: false, metadata: null }).effect
}

describe('the drafted rule', () => {
  it('names action and resource exactly, and bounds numbers on both sides', () => {
    expect(draftRule(asked({ amount: 1500, currency: 'EUR', urgent: true }))).toEqual({
      action: 'payment.refund',
      resource: 'order:8812',
      effect: 'allow',
      conditions: {
        'context.amount': { $gt: 0, $lte: 1500 },
        'context.currency': { $eq: 'EUR' },
        'context.urgent': { $eq: true },
      },
      reason: 'Allows the request of dec_1.',
    })
    expect(conditionsOf({ a: -5, b: 0, c: 0.5 })).toEqual({
      'context.a': { $gte: -5, $lt: 0 },
      'context.b': { $eq: 0 },
      'context.c': { $gt: 0, $lte: 0.5 },
    })
  })

  it('follows objects, and leaves lists and nulls out', () => {
    expect(conditionsOf({ customer: { tier: 'gold', tags: ['a'], since: null }, lines: [{ price: 1 }] })).toEqual({
      'context.customer.tier': { $eq: 'gold' },
    })
    for (const nothing of [null, {}, { tags: [] }]) expect(conditionsOf(nothing)).toBeUndefined()
  })

  it('leaves keys out that no path can name', () => {
    const hostile = JSON.parse(
      '{"__proto__": 1, "constructor": {"a": 1}, "a.b": 1, "$gt": 1, "": 1, "a\\u0000": 1, "fine": 1}',
    )
    expect(conditionsOf({ ...hostile, ['x'.repeat(129)]: 1, ['y'.repeat(128)]: 1 })).toEqual({
      [`context.${'y'.repeat(128)}`]: { $gt: 0, $lte: 1 },
      'context.fine': { $gt: 0, $lte: 1 },
    })
  })

  it('takes a star in a resource for itself, and no resource for none', () => {
    const starred = asked(null, { resource: 'file:*.txt' })
    expect(draftRule(starred)).toMatchObject({ conditions: { resource: { $eq: 'file:*.txt' } } })
    expect(draftRule(starred)).not.toHaveProperty('resource')
    expect(effectOf(starred, { ...starred, resource: 'file:a.txt' })).toBe('deny')
    const without = asked(null, { resource: null })
    expect(effectOf(without)).toBe('allow')
    expect(effectOf(without, { ...without, resource: 'order:1' })).toBe('deny')
  })

  it('allows what was asked and less, nothing above, below or beside it', () => {
    const drafted = asked({ amount: 1500, currency: 'EUR', to: { country: 'AT' } })
    const with_ = (change: JsonObject) => ({ ...drafted, context: { ...drafted.context, ...change } })
    expect(effectOf(drafted)).toBe('allow')
    expect(effectOf(drafted, with_({ amount: 3 }))).toBe('allow')
    for (const change of [
      { amount: 1500.01 },
      { amount: 0 },
      { amount: -5 },
      { amount: '1500' },
      { currency: 'USD' },
      { to: {} },
    ])
      expect(effectOf(drafted, with_(change)), JSON.stringify(change)).toBe('deny')
    for (const change of [{ agent_id: 'agent:other' }, { action: 'payment.refund.all' }, { resource: 'order:88123' }])
      expect(effectOf(drafted, { ...drafted, ...change }), JSON.stringify(change)).toBe('deny')
  })

  it('is a valid policy without warnings', () => {
    for (const context of [{ amount: 1500, currency: 'EUR', balance: -3, n: { m: 0 } }, null])
      for (const resource of ['order:1', 'order:*', null]) {
        const policy = draftPolicy(asked(context, { resource, action: 'a'.repeat(128) }))
        expect(PolicyDocumentSchema.safeParse(policy)).toMatchObject({ success: true })
        expect(lint(policy)).toEqual([])
      }
  })
})
