import { expect, it } from 'vitest'
import { prettyJson } from './pretty-json'

it('writes what fits into a line in one', () => {
  const rule = { action: 'a.b', effect: 'allow' }
  const long = { ...rule, conditions: { 'context.amount': { $gt: 0, $lte: 100 } }, reason: 'long enough' }
  const text = prettyJson({ name: 'x', rules: [rule, long], empty: [] })
  expect(text).toBe(`{
  "name": "x",
  "rules": [
    {"action": "a.b", "effect": "allow"},
    {
      "action": "a.b",
      "effect": "allow",
      "conditions": {
        "context.amount": {"$gt": 0, "$lte": 100}
      },
      "reason": "long enough"
    }
  ],
  "empty": []
}`)
  expect(JSON.parse(text)).toEqual({ name: 'x', rules: [rule, long], empty: [] })
})

it('writes values alone', () => {
  expect([prettyJson(1.5), prettyJson('a"b'), prettyJson(null), prettyJson([]), prettyJson({})]).toEqual([
    '1.5',
    '"a\\"b"',
    'null',
    '[]',
    '{}',
  ])
})
