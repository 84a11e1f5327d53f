import { describe, expect, it } from 'vitest'
import { insertItem, removeItem, setMember, swapItems } from './edit-text'

const TEXT = `{
  "name": "refunds",
  "rules": [
    {"action": "a.b", "effect": "allow", "x": 1.50},
    { "effect": "deny",
      "action": "c.d" }
  ]
}
`

describe('setting a member', () => {
  it('changes its value alone', () => {
    expect(setMember(TEXT, ['rules', 0], 'action', 'z*')).toBe(TEXT.replace('"a.b"', '"z*"'))
    expect(setMember(TEXT, ['rules', 1], 'effect', 'log')).toBe(TEXT.replace('"deny"', '"log"'))
  })

  it('adds it where one would write it', () => {
    expect(setMember(TEXT, ['rules', 0], 'resource', 'order:*')).toBe(
      TEXT.replace('"a.b", ', '"a.b", "resource": "order:*", '),
    )
    expect(setMember(TEXT, [], 'priority', 5)).toBe(TEXT.replace('"refunds",', '"refunds",\n  "priority": 5,'))
    expect(setMember(TEXT, [], 'budget', { limit: 5, unit: 'EUR', period: 'daily' })).toBe(
      TEXT.replace('\n  ]\n', '\n  ],\n  "budget": {"limit": 5, "unit": "EUR", "period": "daily"}\n'),
    )
    expect(setMember('{}', [], 'name', 'x')).toBe('{"name": "x"}')
    expect(setMember('{\n}', [], 'name', 'x')).toBe('{\n  "name": "x"\n}')
  })

  it('removes it with its comma', () => {
    expect(setMember(TEXT, ['rules', 0], 'action', undefined)).toBe(TEXT.replace('"action": "a.b", ', ''))
    expect(setMember(TEXT, ['rules', 0], 'x', undefined)).toBe(TEXT.replace(', "x": 1.50', ''))
    expect(setMember('{"a": 1}', [], 'a', undefined)).toBe('{}')
    expect(setMember(TEXT, [], 'none', undefined)).toBe(TEXT)
  })

  it('changes nothing where there is no object', () => {
    expect(setMember(TEXT, ['rules', 9], 'action', 'x')).toBe(TEXT)
    expect(setMember(TEXT, ['name'], 'action', 'x')).toBe(TEXT)
  })
})

describe('the items of a list', () => {
  const values = (text: string) => JSON.parse(text).rules

  it('can be put in at any place', () => {
    for (const index of [0, 1, 2]) {
      const text = insertItem(TEXT, ['rules'], index, { action: 'n.n', effect: 'allow' })
      expect(values(text)).toEqual(values(TEXT).toSpliced(index, 0, { action: 'n.n', effect: 'allow' }))
      expect(text).toContain('\n    {"action": "n.n", "effect": "allow"}')
      expect(text).toContain('"x": 1.50')
    }
    expect(insertItem('[]', [], 0, 1)).toBe('[1]')
    expect(insertItem('[1, 2]', [], 2, 3)).toBe('[1, 2, 3]')
  })

  it('can be removed', () => {
    for (const index of [0, 1])
      expect(values(removeItem(TEXT, ['rules'], index))).toEqual(values(TEXT).toSpliced(index, 1))
    expect(removeItem('[ 1 ]', [], 0)).toBe('[]')
    expect(removeItem(TEXT, ['rules'], 2)).toBe(TEXT)
  })

  it('change places, each as it was written', () => {
    const text = swapItems(TEXT, ['rules'], 1, 0)
    expect(values(text)).toEqual(values(TEXT).toReversed())
    expect(text).toContain('"x": 1.50')
    expect(swapItems(text, ['rules'], 0, 1)).toBe(TEXT)
    expect(swapItems(TEXT, ['rules'], 0, -1)).toBe(TEXT)
  })
})
