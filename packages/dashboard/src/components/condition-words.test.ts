import { expect, it } from 'vitest'
import { conditionWords } from './condition-words'

it.each([
  [undefined, ''],
  [{ 'context.amount': { $gt: 0, $lte: 100 } }, 'context.amount is more than 0 and context.amount is at most 100'],
  [
    { 'context.to': { $eq: 'true' }, agent_id: { $like: 'agent:*' } },
    'context.to is "true" and agent_id is like agent:*',
  ],
  [
    { $or: [{ action: { $eq: 'a' } }, { $not: { resource: { $exists: true } } }] },
    '(action is a or not (resource is present))',
  ],
  [{ 'context.a': { $in: [1, 'b c', false] } }, 'context.a is one of 1, "b c", false'],
  [{ 'context.owner': { $eq: { $ref: 'agent.owner' } } }, 'context.owner is agent.owner'],
  [{ 'context.a': { $what: 1 } }, 'context.a $what 1'],
  [{ 'context.a\u202e': 5 }, 'context.a\\u202e 5'],
  ['odd', 'odd'],
])('%j reads as a sentence', (conditions, words) => {
  expect(conditionWords(conditions)).toBe(words)
})
