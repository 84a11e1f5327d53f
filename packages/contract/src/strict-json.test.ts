import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseStrictJson } from './strict-json.js'

const LIMIT = { maxDepth: 16 }
const bytes = (text: string): Uint8Array => Buffer.from(text)
const read = (text: string) => parseStrictJson(bytes(text), LIMIT)
const nested = (depth: number, open: string, core: string, close: string): string =>
  open.repeat(depth) + core + close.repeat(depth)

/** The rules of the reader on a value that JSON.stringify can write, apart from depth. */
function isWithinLimits(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(
    ([key, item]) => !['__proto__', 'constructor', 'prototype'].includes(key) && isWithinLimits(item),
  )
}

const ACCEPTED: readonly (readonly [name: string, text: string])[] = [
  ['an empty object', '{}'],
  ['an empty array', '[]'],
  ['a lone string', '"x"'],
  ['a lone number', '-0'],
  ['a lone word', 'null'],
  ['true and false', '[true,false]'],
  ['space of every kind around every mark', ' \t\r\n{ "a" :\n[ 1 ,\r2 ]\t}\n'],
  ['numbers of every form', '[0, -0, 1, -1.5, 1e2, 1E+2, 1e-2, 0.1e1, 123456789.125, 2.5e-300, 5e-324]'],
  ['a number too small for a double', '[1e-999]'],
  ['the largest whole numbers', '[9007199254740991, -9007199254740991, 9007199254740990.9]'],
  ['a whole number in other words', '[1.0, 10e2, 1.50e1]'],
  ['every escape', '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac"'],
  ['a surrogate pair as escapes', '"\\ud83d\\ude00 \\uD83D\\uDE00"'],
  ['a surrogate pair as text', '"😀é€\u007f\u0085\u2028\u2029\ufeff\uffff\u{10ffff}"'],
  ['an escaped NUL', '"a\\u0000b"'],
  ['keys that differ by case or form', '{"a":1,"A":2,"é":3,"e\\u0301":4,"":5," ":6}'],
  ['keys that every object inherits', '{"toString":1,"hasOwnProperty":2,"valueOf":{"__proto":3},"__defineGetter__":4}'],
  ['keys that look like indexes', '{"1":1,"0":2,"-1":3,"4294967295":4,"01":5}'],
  ['the same key in two objects', '{"a":{"a":1},"b":{"a":[{"a":2},{"a":3}]}}'],
  ['sixteen levels of arrays', nested(16, '[', '', ']')],
  ['sixteen levels of objects', nested(16, '{"a":', '1', '}')],
  [
    'sixteen levels, again and again',
    `[${Array(50)
      .fill(nested(15, '[', '1', ']'))
      .join()}]`,
  ],
]

describe('reads what JSON.parse reads', () => {
  it.each(ACCEPTED)('%s', (_, text) => {
    const result = read(text)
    expect(result).toEqual({ ok: true, value: JSON.parse(text) })
  })

  it('for any JSON text within the limits, and no other', () => {
    const value = fc.jsonValue({ maxDepth: 8 })
    fc.assert(
      fc.property(value, fc.constantFrom(0, 1, '\t'), (any, space) => {
        const text = JSON.stringify(any, null, space)
        const result = read(text)
        expect(result.ok).toBe(isWithinLimits(any))
        if (result.ok) expect(result.value).toEqual(JSON.parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  it('for strings of any characters, escaped or not', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (string) => {
        const plain = JSON.stringify(string)
        const escaped = `"${string.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`
        expect(read(plain)).toEqual({ ok: true, value: string })
        expect(read(escaped)).toEqual({ ok: true, value: string })
      }),
      { numRuns: 2000 },
    )
  })

  it('agrees with JSON.parse on what is no JSON at all', () => {
    const json = fc.json({ maxDepth: 3 })
    const edit = fc.record({
      at: fc.nat(),
      removed: fc.nat(2),
      added: fc.constantFrom('', '"', ',', ':', '}', ']', '0', '.', 'e', '\\', 'u', '\u0001', ' '),
    })
    fc.assert(
      fc.property(json, edit, (text, { at, removed, added }) => {
        const place = at % (text.length + 1)
        const mutated = text.slice(0, place) + added + text.slice(place + removed)
        if (/\p{Surrogate}/u.test(mutated)) return
        let parsed: unknown
        let isJson = true
        try {
          parsed = JSON.parse(mutated)
        } catch {
          isJson = false
        }
        const result = read(mutated)
        if (!isJson) expect(result.ok).toBe(false)
        else if (result.ok) expect(result.value).toEqual(parsed)
        else expect(result.detail).toMatch(/is repeated|is not allowed|too large|half a surrogate/)
      }),
      { numRuns: 5000 },
    )
  })
})

const REFUSED: readonly (readonly [name: string, text: string, detail: string])[] = [
  ['an empty body', '', 'Line 1, column 1: the body is empty.'],
  ['space alone', ' \n ', 'Line 2, column 2: the body is empty.'],
  [
    'a key given twice',
    '{"action": "x", "amount": 1, \n"amount": 2}',
    'Line 2, column 1: the key "amount" is repeated.',
  ],
  ['a key given twice in other letters', '{"a\\u006d":1,"\\u0061m":2}', 'Line 1, column 14: the key "am" is repeated.'],
  [
    'a key given twice that objects inherit',
    '{"toString":1,"toString":1}',
    'Line 1, column 15: the key "toString" is repeated.',
  ],
  ['an empty key given twice', '{"":1,"":1}', 'Line 1, column 7: the key "" is repeated.'],
  ['a number key given twice', '{"1":1,"1":1}', 'Line 1, column 8: the key "1" is repeated.'],
  ['__proto__', '{"a":{"__proto__":{}}}', 'Line 1, column 7: the key "__proto__" is not allowed.'],
  ['__proto__ in escapes', '{"\\u005f_proto__":1}', 'Line 1, column 2: the key "__proto__" is not allowed.'],
  ['constructor', '{"constructor":1}', 'Line 1, column 2: the key "constructor" is not allowed.'],
  ['prototype', '[{"prototype":1}]', 'Line 1, column 3: the key "prototype" is not allowed.'],
  ['a byte order mark', '\ufeff{}', 'Line 1, column 1: a byte order mark is not allowed.'],
  ['a second value', '{}{}', 'Line 1, column 3: unexpected text after the end of the value.'],
  ['a comment', '{}//x', 'Line 1, column 3: unexpected text after the end of the value.'],
  ['a trailing comma in an object', '{"a":1,}', 'Line 1, column 8: expected a key in double quotes.'],
  ['a trailing comma in an array', '[1,]', 'Line 1, column 4: expected a value.'],
  ['a missing comma', '[1 2]', 'Line 1, column 4: expected a comma or ].'],
  ['a missing colon', '{"a" 1}', 'Line 1, column 6: expected a colon.'],
  ['a missing value', '{"a":}', 'Line 1, column 6: expected a value.'],
  ['a key without quotes', '{a:1}', 'Line 1, column 2: expected a key in double quotes.'],
  ['single quotes', "{'a':1}", 'Line 1, column 2: expected a key in double quotes.'],
  ['an object without end', '{"a":1', 'Line 1, column 7: expected a comma or }.'],
  ['an array without end', '[[1]', 'Line 1, column 5: expected a comma or ].'],
  ['a bracket of the other kind', '[1}', 'Line 1, column 3: expected a comma or ].'],
  ['a string without end', '{"abc', 'Line 1, column 6: the string does not end.'],
  ['a string that ends in an escape', '["\\', 'Line 1, column 3: the escape sequence is not valid.'],
  ['an unknown escape', '["\\x41"]', 'Line 1, column 3: the escape sequence is not valid.'],
  ['a short \\u', '["\\u12"]', 'Line 1, column 3: \\u needs four hexadecimal digits.'],
  ['a \\u of no digits', '["\\u 123"]', 'Line 1, column 3: \\u needs four hexadecimal digits.'],
  ['a raw line break in a string', '["a\nb"]', 'Line 1, column 4: a control character in a string must be escaped.'],
  ['a raw NUL in a string', '["\0"]', 'Line 1, column 3: a control character in a string must be escaped.'],
  [
    'the last control character, raw',
    '["\u001f"]',
    'Line 1, column 3: a control character in a string must be escaped.',
  ],
  ['a NUL between values', '[\0]', 'Line 1, column 2: expected a value.'],
  ['a no-break space between values', '[\u00a01]', 'Line 1, column 2: expected a value.'],
  ['a high surrogate alone', '["\\ud83d"]', 'Line 1, column 2: the string contains half a surrogate pair.'],
  ['a low surrogate alone', '["\\ude00"]', 'Line 1, column 2: the string contains half a surrogate pair.'],
  [
    'surrogates in the wrong order',
    '["\\ude00\\ud83d"]',
    'Line 1, column 2: the string contains half a surrogate pair.',
  ],
  ['half a pair before a whole one', '["\\ud83d😀"]', 'Line 1, column 2: the string contains half a surrogate pair.'],
  ['half a pair in a key', '{"\\ud83d":1}', 'Line 1, column 2: the string contains half a surrogate pair.'],
  ['an infinite number', '[1e999]', 'Line 1, column 2: the number is too large to be represented exactly.'],
  ['a negative infinite number', '[-1e309]', 'Line 1, column 2: the number is too large to be represented exactly.'],
  [
    'a whole number beyond 2^53 - 1',
    '[9007199254740992]',
    'Line 1, column 2: the number is too large to be represented exactly.',
  ],
  ['the same below', '[-9007199254740993]', 'Line 1, column 2: the number is too large to be represented exactly.'],
  [
    'a fraction whose double is such a whole number',
    '[9007199254740991.9]',
    'Line 1, column 2: the number is too large to be represented exactly.',
  ],
  ['the same with an exponent', '[1e16]', 'Line 1, column 2: the number is too large to be represented exactly.'],
  ['NaN', '[NaN]', 'Line 1, column 2: expected a value.'],
  ['Infinity', '[-Infinity]', 'Line 1, column 2: expected a value.'],
  ['a leading zero', '[012]', 'Line 1, column 3: expected a comma or ].'],
  ['a leading plus', '[+1]', 'Line 1, column 2: expected a value.'],
  ['a leading dot', '[.5]', 'Line 1, column 2: expected a value.'],
  ['a trailing dot', '[5.]', 'Line 1, column 3: expected a comma or ].'],
  ['a minus alone', '[-]', 'Line 1, column 2: expected a value.'],
  ['an exponent without digits', '[1e]', 'Line 1, column 3: expected a comma or ].'],
  ['a hexadecimal number', '[0x10]', 'Line 1, column 3: expected a comma or ].'],
  ['a word in capitals', '[True]', 'Line 1, column 2: expected a value.'],
  ['half a word', '[nul]', 'Line 1, column 2: expected a value.'],
  ['a longer word', '[nullx]', 'Line 1, column 6: expected a comma or ].'],
  ['undefined', 'undefined', 'Line 1, column 1: expected a value.'],
  [
    'seventeen levels of arrays',
    nested(17, '[', '', ']'),
    'Line 1, column 17: objects and arrays are nested more than 16 deep.',
  ],
  [
    'seventeen levels of objects',
    nested(17, '{"a":', '1', '}'),
    'Line 1, column 81: objects and arrays are nested more than 16 deep.',
  ],
]

describe('refuses and says where', () => {
  it.each(REFUSED)('%s', (_, text, detail) => {
    expect(read(text)).toEqual({ ok: false, detail })
  })

  const INVALID_BYTES: readonly (readonly [name: string, hex: string, detail: string])[] = [
    ['a stray continuation byte', '7b 22 61 80 22', 'Line 1, column 4'],
    ['an overlong slash', '5b 22 c0 af 22 5d', 'Line 1, column 3'],
    ['half of a pair, encoded', '22 ed a0 80 22', 'Line 1, column 2'],
    ['a code point beyond U+10FFFF', '22 f4 90 80 80 22', 'Line 1, column 2'],
    ['Latin-1', '22 63 61 66 e9 22', 'Line 1, column 5'],
    ['a text that ends inside a character', '22 e2 82', 'Line 1, column 2'],
    ['a character whose beginning is that of the replacement character', '22 ef bf 41 22', 'Line 1, column 2'],
    ['UTF-16', 'ff fe 7b 00 7d 00', 'Line 1, column 1'],
    ['a bad byte on the third line', '5b 0a 22 c3 a9 22 2c 0a 20 ff', 'Line 3, column 2'],
    ['a bad byte after a replacement character', '22 ef bf bd ff 22', 'Line 1, column 3'],
  ]
  it.each(INVALID_BYTES)('%s', (_, hex, place) => {
    const body = Buffer.from(hex.replaceAll(' ', ''), 'hex')
    expect(parseStrictJson(body, LIMIT)).toEqual({ ok: false, detail: `${place}: the body is not valid UTF-8.` })
  })

  it('a key without flooding or upsetting the reader of the detail', () => {
    const long = `{"${'k'.repeat(60_000)}":1,"${'k'.repeat(60_000)}":1}`
    expect(read(long)).toMatchObject({ detail: expect.stringMatching(/^.{1,120}$/) })
    const odd = '"\\n\\u001b[31m\u202e\u0085\u2028"'
    expect(read(`{${odd}:1,${odd}:1}`)).toEqual({
      ok: false,
      detail: 'Line 1, column 22: the key "\\n\\u001b[31m\\u{202e}\\u{85}\\u{2028}" is repeated.',
    })
  })
})

describe('stays safe', () => {
  it('makes plain objects with own data properties alone', () => {
    const result = read('{"toString":1,"a":{"valueOf":null}}')
    if (!result.ok) throw new Error(result.detail)
    const value = result.value as Record<string, object>
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.getOwnPropertyDescriptor(value, 'toString')).toEqual({
      value: 1,
      writable: true,
      enumerable: true,
      configurable: true,
    })
    expect(Object.keys(value.a!)).toEqual(['valueOf'])
  })

  it('follows the limit of depth that it is given', () => {
    expect(parseStrictJson(bytes(nested(32, '[', '', ']')), { maxDepth: 32 }).ok).toBe(true)
    expect(parseStrictJson(bytes(nested(33, '[', '', ']')), { maxDepth: 32 }).ok).toBe(false)
  })

  it('does not follow nesting of any depth', () => {
    for (const open of ['[', '{"a":']) {
      expect(read(open.repeat(262_144 / open.length)).ok).toBe(false)
    }
  })

  it('takes any bytes at all', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (body) => {
        const result = parseStrictJson(body, LIMIT)
        if (!result.ok) expect(result.detail).toMatch(/^Line \d+, column \d+: [ -~]+\.$/)
      }),
      { numRuns: 2000 },
    )
  })
})
