import { createHash } from 'node:crypto'
import type { JsonObject } from '@countersign/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { requestHash } from './request-hash.js'

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')
const hashOfContext = (canonicalContext: string) =>
  sha256(`{"action":"payment.refund","agent_id":"agent:a","context":${canonicalContext},"resource":null}`)
const requestWith = (context: JsonObject | null) =>
  requestHash({ agent_id: 'agent:a', action: 'payment.refund', context })

/** RFC 8785 appendix B: the bits of a double and how it is written. */
const NUMBERS: [string, string][] = [
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
]

describe('the request hash', () => {
  test('is the one that anyone can compute', () => {
    const request = {
      agent_id: 'agent:support-7',
      action: 'payment.refund',
      resource: 'order:8812',
      context: { amount: 42.5 },
    }
    // printf '%s' '{"action":"payment.refund","agent_id":"agent:support-7","context":{"amount":42.5},"resource":"order:8812"}' | openssl sha256 -binary | basenc --base64url | tr -d =
    expect(requestHash(request)).toBe('yl6ewHp4903ibZ0q6MZEJ59Scxn27eMc3YIIj1u-xL8')
  })

  test('takes absent, undefined and null for the same', () => {
    const named = { agent_id: 'agent:a', action: 'payment.refund' }
    expect(requestHash(named)).toBe(hashOfContext('null'))
    expect(requestHash({ ...named, resource: undefined, context: undefined })).toBe(hashOfContext('null'))
    expect(requestHash({ ...named, resource: null, context: null })).toBe(hashOfContext('null'))
  })

  test('tells an empty context from none', () => {
    expect(requestWith({})).toBe(hashOfContext('{}'))
    expect(requestWith({})).not.toBe(requestWith(null))
  })

  test('sees nothing but its four members', () => {
    const request = { agent_id: 'agent:a', action: 'payment.refund', holder: 'run-77' }
    expect(requestHash(request)).toBe(hashOfContext('null'))
  })
})

describe('the canonical form (RFC 8785)', () => {
  test.each(NUMBERS)('writes the double %s as %s', (bits, text) => {
    const number = Buffer.from(bits, 'hex').readDoubleBE()
    expect(requestWith({ number })).toBe(hashOfContext(`{"number":${text}}`))
  })

  test.each(['7fffffffffffffff', '7ff0000000000000', 'fff0000000000000'])('refuses the double %s', (bits) => {
    const number = Buffer.from(bits, 'hex').readDoubleBE()
    expect(() => requestWith({ number })).toThrow()
  })

  test('writes the sample of section 3.2.2', () => {
    const sample = JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    )
    expect(requestWith(sample)).toBe(
      hashOfContext(
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
          '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
      ),
    )
  })

  test('sorts names by UTF-16 code units, as the sample of section 3.2.3', () => {
    const sample = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\u{1f600}': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      ö: 'Latin Small Letter O With Diaeresis',
    }
    expect(requestWith(sample)).toBe(
      hashOfContext(
        '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis",' +
          '"€":"Euro Sign","\u{1f600}":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
      ),
    )
  })

  test('escapes control characters, quote and backslash, and nothing else', () => {
    const text = Array.from({ length: 0x21 }, (_, code) => String.fromCharCode(code)).join('')
    expect(requestWith({ text: `${text}"\\/\u007f\u2028é` })).toBe(
      hashOfContext(
        '{"text":"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f' +
          '\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f' +
          ' \\"\\\\/\u007f\u2028é"}',
      ),
    )
  })

  test('refuses a lone surrogate', () => {
    expect(() => requestWith({ text: '\ud800' })).toThrow()
    expect(() => requestWith({ '\udc00': 1 })).toThrow()
  })

  test('does not depend on the order of members', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const one = requestWith({ a, nested: { a, b }, b } as JsonObject)
        expect(requestWith({ b, nested: { b, a }, a } as JsonObject)).toBe(one)
      }),
    )
  })

  test('depends on the order of items', () => {
    expect(requestWith({ list: [1, 2] })).not.toBe(requestWith({ list: [2, 1] }))
  })
})
