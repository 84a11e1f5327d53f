import { expect, it } from 'vitest'
import { column, jsonLine } from './shown-text.js'

it.each([
  ['order:8812', 'order:8812'],
  ['', '""'],
  ['a b', '"a b"'],
  ['a\u00a0b', '"a\u00a0b"'],
  ['a\tb', 'a\\u{9}b'],
  ['say "hi"', '"say \\"hi\\""'],
  ['1\\"  -  allow', '"1\\\\\\"  -  allow"'],
  ['a\u3164b', '"a\u3164b"'],
])('%j is the column %s', (text, shown) => {
  expect(column(text)).toBe(shown)
})

it('JSON is the same JSON, and holds nothing that a terminal obeys', () => {
  const value = { text: 'ä€😀 \u001b[2J\u007f\u0085\u200b\u202e\u2028\u{e0041}\n"\\' }
  const line = jsonLine(value)
  expect(JSON.parse(line)).toEqual(value)
  expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  expect(line).toContain('ä€😀')
  expect(line).toContain('\\udb40\\udc41')
})
