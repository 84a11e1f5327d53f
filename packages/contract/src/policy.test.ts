import { PolicyDocumentSchema, PolicySchema, validate, withDefaults } from '@countersign/contract'
import { describe, expect, it } from 'vitest'

const rule = { action: 'payment.refund', effect: 'deny' }
const budget = { limit: 5000, unit: 'EUR', period: 'monthly' } as const
const isValid = (document: unknown): boolean => validate(PolicyDocumentSchema, document).ok
const withRule = (members: object) => ({ name: 'x', rules: [{ ...rule, ...members }] })
const withBudget = (members: object) => ({ name: 'x', rules: [rule], budget: { ...budget, ...members } })

const complete = {
  name: 'refunds',
  description: '',
  priority: -1_000_000,
  enabled: false,
  mode: 'shadow',
  agents: ['agent:support-*', '*', 'a/b+c@d'],
  rules: [
    {
      action: 'payment.*',
      resource: 'order:*',
      effect: 'review',
      conditions: { 'context.a': { $gt: 1 } },
      reason: '',
      on_unknown: 'skip',
    },
    { action: '*', effect: 'deny', on_unknown: 'deny' },
    { action: '*', effect: 'log' },
  ],
  budget: {
    ...budget,
    actions: ['payment.*'],
    amount: 1,
    currency: 'context.currency',
    scope: 'agent',
    on_exceed: 'review',
  },
} as const

describe('a policy as sent', () => {
  it('may say everything, or only a name and rules', () => {
    expect(validate(PolicyDocumentSchema, complete)).toEqual({ ok: true, value: complete })
    const least = { name: 'x', rules: [{ action: '*', effect: 'allow' }] }
    expect(validate(PolicyDocumentSchema, least)).toEqual({ ok: true, value: least })
  })

  it('may be an answer of the server sent back: what the server adds is dropped, whatever it holds', () => {
    const added = { id: 7, revision: null, created_at: [], updated_at: '', created_by: {}, warnings: 'x' }
    expect(validate(PolicyDocumentSchema, { ...complete, ...added })).toEqual({ ok: true, value: complete })
  })

  it.each([
    ['1 character', { name: 'x' }, true],
    ['128 UTF-16 code units', { name: '😀'.repeat(64) }, true],
    ['129 code units', { name: `${'😀'.repeat(64)}x` }, false],
    ['blank', { name: ' \t\u3000' }, false],
    ['a description of 1,024', { description: 'd'.repeat(1024) }, true],
    ['a description of 1,025', { description: 'd'.repeat(1025) }, false],
    ['priority 1000000', { priority: 1_000_000 }, true],
    ['priority 1000001', { priority: 1_000_001 }, false],
    ['priority 1.0', { priority: JSON.parse('1.0') }, true],
    ['priority as text', { priority: '1' }, false],
    ['no rules', { rules: [] }, false],
    ['no agents', { agents: [] }, false],
    ['an empty budget', { budget: {} }, false],
  ])('%s', (_, members, expected) => {
    expect(isValid({ ...complete, ...members })).toBe(expected)
  })

  it.each([
    ['on_unknown on deny', { effect: 'deny', on_unknown: 'skip' }, true],
    ['on_unknown on review', { effect: 'review', on_unknown: 'deny' }, true],
    ['on_unknown on allow', { effect: 'allow', on_unknown: 'deny' }, false],
    ['on_unknown on log', { effect: 'log', on_unknown: 'skip' }, false],
    ['a reason of 512', { reason: 'r'.repeat(512) }, true],
    ['a reason of 513', { reason: 'r'.repeat(513) }, false],
    ['an action pattern of 128', { action: `${'a'.repeat(127)}*` }, true],
    ['an action pattern of 129', { action: `${'a'.repeat(128)}*` }, false],
    ['an action pattern that no action has the form of', { action: '.*..-' }, true],
    ['an action pattern with a colon', { action: 'a:*' }, false],
    ['an empty action pattern', { action: '' }, false],
    ['a resource pattern of stars', { resource: '**' }, true],
    ['a resource pattern without a colon', { resource: 'order' }, true],
    ['a resource pattern of 512', { resource: 'r'.repeat(512) }, true],
    ['a resource pattern of 513', { resource: 'r'.repeat(513) }, false],
    ['a resource pattern with spaces and letters of any script', { resource: 'Auftrag:ü 注文*' }, true],
    ['a resource pattern not in NFC', { resource: 'cafe\u0301:*' }, false],
    ['a resource pattern with a zero-width space', { resource: 'a:\u200b' }, false],
    ['a resource pattern with a line break', { resource: 'a:\n' }, false],
    ['a resource pattern with a private-use character', { resource: 'a:\ue000' }, false],
    ['empty conditions', { conditions: {} }, false],
  ])('%s', (_, members, expected) => {
    expect(isValid(withRule(members))).toBe(expected)
  })

  it.each([
    ['resource', 'a:\n'],
    ['resource', 7],
    ['conditions', {}],
    ['reason', 'r'.repeat(513)],
    ['reason', null],
    ['action', ''],
    ['action', undefined],
    ['whatever', 1],
  ])('on_unknown on allow is refused beside a faulty %s', (member, value) => {
    const document = withRule({ effect: 'allow', on_unknown: 'skip', [member]: value })
    const result = validate(PolicyDocumentSchema, document)
    const pointers = result.ok ? [] : result.errors.map(({ pointer }) => pointer)
    expect(pointers).toEqual([`/rules/0/${member}`, '/rules/0/on_unknown'].sort())
  })

  it.each([
    ['a limit of 0', { limit: 0 }, true],
    ['a limit of 1e12', { limit: 1e12 }, true],
    ['a limit above', { limit: 1e12 + 1 }, false],
    ['a limit below 0', { limit: -0.000001 }, false],
    ['a limit of 6 decimals', { limit: 0.000001 }, true],
    ['a limit of 7 decimals', { limit: 0.0000001 }, false],
    ['a limit with 7 decimals in many digits', { limit: 123456.1234567 }, false],
    ['a limit that no double shows in fewer digits', { limit: 0.1 + 0.2 }, false],
    ['a unit of 32', { unit: `c${'a'.repeat(31)}` }, true],
    ['a unit of 33', { unit: `c${'a'.repeat(32)}` }, false],
    ['a unit of other letters', { unit: 'Größe' }, false],
    ['a unit that starts with a digit', { unit: '1a' }, false],
    ['a period of another spelling', { period: 'Monthly' }, false],
    ['a total', { period: 'total' }, true],
    ['an amount of 1', { amount: 1 }, true],
    ['an amount of 0', { amount: 0 }, false],
    ['an amount of 7 decimals', { amount: 1.0000001 }, false],
    ['an amount in the context', { amount: 'context.order.total' }, true],
    ['an amount in the metadata', { amount: 'agent.total' }, false],
    ['an amount of the whole context', { amount: 'context' }, false],
    ['an amount as text', { amount: '1' }, false],
    ['a currency in the context', { currency: 'context.a.b' }, true],
    ['a currency by name', { currency: 'EUR' }, false],
    ['no actions', { actions: [] }, false],
    ['an action pattern', { actions: ['payment.*'] }, true],
  ])('a budget with %s', (_, members, expected) => {
    expect(isValid(withBudget(members))).toBe(expected)
  })
})

describe('withDefaults', () => {
  it('fills in what has a default and leaves absent what has none', () => {
    const document = {
      name: 'x',
      rules: [{ action: '*', effect: 'deny' as const }],
      budget: { limit: 5, unit: 'EUR', period: 'daily' as const },
    }
    expect(withDefaults(document)).toStrictEqual({
      name: 'x',
      priority: 0,
      enabled: true,
      mode: 'enforce',
      rules: [{ action: '*', effect: 'deny' }],
      budget: { limit: 5, unit: 'EUR', period: 'daily', amount: 'context.amount', scope: 'policy', on_exceed: 'deny' },
    })
  })

  it('changes nothing that is set', () => {
    expect(withDefaults(complete)).toStrictEqual(complete)
  })

  it('gives what an answer needs, which can be sent back', () => {
    const answer = {
      id: 'pol_01kagx3v5ne8sr6w1y6gqk4t2h',
      ...withDefaults(complete),
      revision: 1,
      created_at: '2026-11-21T10:00:00.000Z',
      updated_at: '2026-11-21T10:00:00.000Z',
      created_by: null,
      warnings: [{ code: 'rule_never_reached', pointer: '/rules/2', message: 'Rule 2 can never decide.' }],
    }
    expect(PolicySchema.parse(answer)).toEqual(answer)
    expect(validate(PolicyDocumentSchema, answer)).toEqual({ ok: true, value: complete })
  })
})
