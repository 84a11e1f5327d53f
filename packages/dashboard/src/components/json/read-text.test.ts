import { expect, it } from 'vitest'
import { readText } from './read-text'

it.each([
  ['{"a": 1,}', 8, 'expected a key in double quotes.'],
  ['{\n  "a": 1,\n  "a": 2}', 14, 'the key "a" is repeated.'],
  ['{"a": 9007199254740993}', 6, 'the number is too large to be represented exactly.'],
  ['', 0, 'the body is empty.'],
])('%s is no JSON at %i', (text, offset, what) => {
  expect(readText(text)).toEqual({ ok: false, offset, what })
})

it('reads what the server reads', () => {
  expect(readText('{"a": [1.0, true]}')).toEqual({ ok: true, value: { a: [1, true] } })
})
