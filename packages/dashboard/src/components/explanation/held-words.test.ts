import { describe, expect, it } from 'vitest'
import { heldByPath } from './held-words'

const held = (path: string, operator: string, expected: unknown, actual: unknown) =>
  ({ path, operator, expected, actual }) as Parameters<typeof heldByPath>[0][number]

function words(...conditions: Parameters<typeof heldByPath>[0]) {
  return heldByPath(conditions).map(({ path, words }) => `${path} ${words}`)
}

describe('what held', () => {
  it('is said once of each value', () => {
    expect(
      words(
        held('context.amount', '$gt', 0, 42.5),
        held('context.currency', '$in', ['EUR', 'USD'], 'EUR'),
        held('context.amount', '$lte', 100, 42.5),
        held('context.amount', '$ne', 50, 42.5),
      ),
    ).toEqual(['context.amount is > 0 and <= 100 and not 50', 'context.currency is one of "EUR", "USD"'])
  })

  it.each([
    ['$exists', true, 'is present'],
    ['$exists', false, 'is missing'],
    ['$not $exists', true, 'is missing'],
    ['$contains', 'vip', 'contains "vip"'],
    ['$not $contains', 'vip', 'does not contain "vip"'],
    ['$not $gte', 5, 'is not >= 5'],
    ['$not $in', [1, 2], 'is none of 1, 2'],
    ['$not $nin', [1], 'is one of 1'],
    ['$cidr', '10.0.0.0/8', 'is in "10.0.0.0/8"'],
    ['$eq', { $ref: 'agent.team' }, 'is agent.team'],
    ['$future', 1, '$future 1'],
  ])('is said in words: %s', (operator, expected, said) => {
    expect(words(held('context.x', operator, expected, 'any'))).toEqual([`context.x ${said}`])
  })

  it('of a pattern without a star needs no repetition', () => {
    expect(words(held('action', '$like', 'payment.refund', 'payment.refund'))).toEqual([
      'action is the one the rule names',
    ])
    expect(words(held('action', '$like', 'payment.*', 'payment.refund'))).toEqual(['action is like "payment.*"'])
  })
})
