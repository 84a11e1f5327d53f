import { HolderSchema } from '@countersign/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CallNames } from './call-names.js'
import { HASHED_NAMES } from './hashed-names.js'

const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 400 }),
  fc.string({ minLength: 1, maxLength: 90, unit: 'binary' }),
  fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom('a', '\ud800', '\udc00', '\n') }),
)

const idempotencyKeyOf = (given: unknown) => HASHED_NAMES.idempotencyKeyOf(given)
const exact = new CallNames()
const holderOf = (given: unknown) => HASHED_NAMES.holderOf(given)

describe('the names of a call', () => {
  it.each(['run-77/refund-1', '!'.repeat(255), 'a'])('leave the key %s as it is', (key) => {
    expect(idempotencyKeyOf(key)).toBe(key)
  })

  it.each(['run 77', 'Bestellung Nr. 8', 'ä'.repeat(64), '\n', '😀'.repeat(32)])(
    'leave the holder %j as it is',
    (holder) => {
      expect(holderOf(holder)).toBe(holder)
    },
  )

  it.each(['a b', 'ä', 'a\r\nb', '!'.repeat(256), 'a'.repeat(100_000)])('hash the key %j', (key) => {
    expect(idempotencyKeyOf(key)).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each(['a'.repeat(65), '😀'.repeat(33), '\ud800'])('hash the holder %j', (holder) => {
    expect(holderOf(holder)).toMatch(/^[0-9a-f]{64}$/)
  })

  it('are such as the wire takes, the same each time, and differ where texts do', () => {
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(idempotencyKeyOf(one)).toMatch(/^[\x21-\x7e]{1,255}$/)
        expect(HolderSchema.safeParse(holderOf(one)).success && !/\p{Cs}/u.test(holderOf(one))).toBe(true)
        for (const name of [idempotencyKeyOf, holderOf]) {
          expect(name(name(one))).toBe(name(one))
          expect(name(one) === name(other)).toBe(one === other)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it.each(['', 5, null, {}])('are no text that is missing: %j', (given) => {
    expect(() => idempotencyKeyOf(given)).toThrow('idempotencyKey must be a text that is not empty')
    expect(() => holderOf(given)).toThrow('holder must be a text that is not empty')
  })

  it('are exact or refused where no hash is sent instead', () => {
    fc.assert(
      fc.property(text, (one) => {
        const [key, holder] = [idempotencyKeyOf(one), holderOf(one)]
        if (key === one) expect(exact.idempotencyKeyOf(one)).toBe(one)
        else expect(() => exact.idempotencyKeyOf(one)).toThrow('idempotencyKey must be 1 to 255 visible ASCII')
        if (holder === one) expect(exact.holderOf(one)).toBe(one)
        else expect(() => exact.holderOf(one)).toThrow('holder must be 1 to 64 characters')
      }),
    )
  })
})
