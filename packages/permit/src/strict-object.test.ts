import { describe, expect, test } from 'vitest'
import { parseStrictObject } from './strict-object.js'

const parse = (text: string) => parseStrictObject(Buffer.from(text))

describe('a strict JSON object', () => {
  test.each([
    ['in two members', '{"a":1,"a":1}'],
    ['by an escape', '{"a":1,"\\u0061":1}'],
    ['with blanks before the colon', '{"a":1,"a" \n:1}'],
    ['after another object', '{"a":{"b":1},"a":1}'],
    ['inside a list', '{"l":[{"a":1},{"a":1,"b":2,"a":3}]}'],
    ['of an empty name', '{"":1,"":2}'],
    ['of a name with quotes', '{"\\"":1,"\\"":2}'],
    ['of a name with braces', '{"{":1,"{":2}'],
  ])('has no name twice, %s', (_, text) => {
    expect(() => parse(text)).toThrow(/is repeated/)
  })

  test.each([
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
    '{"a":"b","b":"a","c":"\\"a\\":1,\\"a\\":2"}',
    '{"a":"}{\\\\","b":"{\\"a\\":","c":["a","a"]}',
    '{}',
  ])('may be %s', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text))
  })

  test.each(['', '[]', '"a"', 'null', '1', '{"a":1}{', '{"a":1,}', "{'a':1}", '\ufeff{}'])('is not %o', (text) => {
    expect(() => parse(text)).toThrow()
  })

  test('is not made of invalid UTF-8', () => {
    expect(() => parseStrictObject(Buffer.from('{"a":"\xff"}', 'latin1'))).toThrow()
  })

  test('is not nested more deeply than permits and key sets are', () => {
    expect(() => parse(`{"a":${'['.repeat(32)}${']'.repeat(32)}}`)).toThrow(/nested/)
  })
})
