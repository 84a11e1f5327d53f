import { describe, expect, it } from 'vitest'
import { pathOf, rangeOfPointer, rootOf, stepsOf } from './json-tree'

const TEXT = `{
  "name": "refunds",
  "rules": [
    {"action": "payment.refund", "effect": "alow",
     "conditions": {"context.a/b": {"$lte": 5}, "$or": [{"action": {"$eq": 1}}]}},
    {"action": "x.y"}
  ],
  "empty": {}
}
`

function shown(pointer: string, about: 'key' | 'value' = 'value', text = TEXT): string {
  const { from, to } = rangeOfPointer(text, pointer, about)
  return text.slice(from, to)
}

describe('the token of a JSON pointer', () => {
  it.each([
    ['/name', 'value', '"refunds"'],
    ['/name', 'key', '"name"'],
    ['/rules', 'value', '"rules"'],
    ['/rules/0/effect', 'value', '"alow"'],
    ['/rules/0/conditions/context.a~1b/$lte', 'value', '5'],
    ['/rules/0/conditions/context.a~1b/$lte', 'key', '"$lte"'],
    ['/rules/0/conditions/context.a~1b', 'key', '"context.a/b"'],
    ['/rules/0/conditions/$or/0/action/$eq', 'value', '1'],
  ] as const)('%s, its %s', (pointer, about, token) => {
    expect(shown(pointer, about)).toBe(token)
  })

  it('of an item is its first line', () => {
    expect(shown('/rules/1')).toBe('{"action": "x.y"}')
    expect(shown('/rules/0')).toBe('{"action": "payment.refund", "effect": "alow",')
  })

  it('of a missing place is what it is missing from', () => {
    expect(shown('/rules/1/effect', 'key')).toBe('{"action": "x.y"}')
    expect(shown('/empty/limit', 'key')).toBe('"empty"')
    expect(shown('/rules/7', 'key')).toBe('"rules"')
    expect(shown('/budget', 'key')).toBe('{')
  })

  it('of the whole is its first line', () => {
    expect(shown('')).toBe('{')
    expect(shown('', 'value', 'oops')).toBe('oops')
    expect(shown('/a', 'value', '')).toBe('')
  })

  it('is found in a text that is not complete', () => {
    expect(shown('/name', 'value', '{"name": "x", "rules": [')).toBe('"x"')
    expect(shown('/name', 'value', '{"name": , "rules": []}')).toBe('"name"')
  })

  it('has a key with escapes', () => {
    expect(shown('/a"b', 'value', '{"a\\"b": 1}')).toBe('1')
  })
})

it('the steps of a pointer are without its escapes', () => {
  expect(stepsOf('')).toEqual([])
  expect(stepsOf('/a~1b/~01/0')).toEqual(['a/b', '~1', '0'])
})

it('a node has a path', () => {
  const at = TEXT.indexOf('"$lte"') + 2
  const node = rootOf(TEXT)
    ?.toTree()
    .resolveInner(at - (rootOf(TEXT)?.from ?? 0), -1)
  expect(node?.name).toBe('PropertyName')
  expect(pathOf(TEXT, node as NonNullable<typeof node>)).toEqual(['rules', 0, 'conditions', 'context.a/b', '$lte'])
})
