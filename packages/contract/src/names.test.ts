import {
  ActionSchema,
  AgentIdSchema,
  HolderSchema,
  IdSchema,
  QueryTimeSchema,
  ResourceSchema,
  TimestampSchema,
} from '@countersign/contract'
import { describe, expect, it } from 'vitest'

describe('agent_id', () => {
  it.each(['a', '7', 'agent:support-7', 'A.b_c:d@e/f+g-h', 'a'.repeat(256)])('takes %s', (text) => {
    expect(AgentIdSchema.safeParse(text).success).toBe(true)
  })
  it.each(['', '-a', '.a', ':a', 'a b', 'a*', 'ä', 'a\n', 'a'.repeat(257)])('refuses %j', (text) => {
    expect(AgentIdSchema.safeParse(text).success).toBe(false)
  })
})

describe('action', () => {
  it.each(['read', 'payment.refund', 'a.b.c', '-', '_._', '0.1', 'a'.repeat(128)])('takes %s', (text) => {
    expect(ActionSchema.safeParse(text).success).toBe(true)
  })
  it.each(['', '.', 'a.', '.a', 'a..b', 'a b', 'a:b', 'a*', 'ä', 'a\n', 'a'.repeat(129)])('refuses %j', (text) => {
    expect(ActionSchema.safeParse(text).success).toBe(false)
  })
})

describe('resource', () => {
  it.each([
    'order:8812',
    'a.b_c-d:x',
    'order: ',
    'a:b:c',
    'a:*',
    'a::',
    'file:/ü/注文/😀',
    'a:\u00e9',
    `a:${'b'.repeat(510)}`,
    `a:${'😀'.repeat(255)}`,
  ])('takes %s', (text) => expect(ResourceSchema.safeParse(text).success).toBe(true))
  it.each([
    ['no id', 'order:'],
    ['no type', ':1'],
    ['no colon', 'order'],
    ['a type of other characters', 'ördner:1'],
    ['nothing', ''],
    ['513 code units', `a:${'b'.repeat(511)}`],
    ['514 code units of emoji', `a:${'😀'.repeat(256)}`],
    ['not NFC', 'a:e\u0301'],
    ['a control character', 'a:b\u0007'],
    ['a C1 control character', 'a:b\u0085'],
    ['a line break at the end', 'a:b\n'],
    ['a zero-width space', 'a:\u200b'],
    ['a soft hyphen', 'a:b\u00adc'],
    ['a right-to-left override', 'a:\u202eb'],
    ['a byte order mark', 'a:\ufeff'],
    ['a tag character', 'a:b\u{e0041}'],
    ['a private-use character', 'a:\ue000'],
    ['a private-use character beyond the BMP', 'a:\u{f0000}'],
    ['a line separator', 'a:b\u2028'],
    ['a paragraph separator', 'a:b\u2029'],
  ])('refuses %s', (_, text) => {
    expect(ResourceSchema.safeParse(text).success).toBe(false)
  })
})

describe('holder', () => {
  it.each([
    ['h', true],
    ['h'.repeat(64), true],
    ['😀'.repeat(32), true],
    ['😀'.repeat(33), false],
    ['h'.repeat(65), false],
    ['', false],
  ])('%s: %s', (text, expected) => {
    expect(HolderSchema.safeParse(text).success).toBe(expected)
  })
})

describe('ids', () => {
  it.each([
    ['dec_01kagx3v5ne8sr6w1y6gqk4t2h', true],
    ['dec_7zzzzzzzzzzzzzzzzzzzzzzzzz', true],
    ['dec_8zzzzzzzzzzzzzzzzzzzzzzzzz', false],
    ['pol_01kagx3v5ne8sr6w1y6gqk4t2h', false],
    ['dec_01kagx3v5ne8sr6w1y6gqk4t2', false],
    ['dec_01kagx3v5ne8sr6w1y6gqk4t2hh', false],
    ['dec_01KAGX3V5NE8SR6W1Y6GQK4T2H', false],
    ['dec_01kagx3v5ne8sr6w1y6gqk4t2i', false],
    ['dec_01kagx3v5ne8sr6w1y6gqk4t2h\n', false],
    ['dec-01kagx3v5ne8sr6w1y6gqk4t2h', false],
  ])('%j: %s', (text, expected) => {
    expect(IdSchema('dec').safeParse(text).success).toBe(expected)
  })
})

describe('timestamps', () => {
  it.each([
    ['2026-11-21T10:00:00.000Z', true],
    ['2024-02-29T23:59:59.999Z', true],
    ['2026-02-29T00:00:00.000Z', false],
    ['2026-13-01T00:00:00.000Z', false],
    ['2026-11-21T24:00:00.000Z', false],
    ['2026-11-21T23:59:60.000Z', false],
    ['2026-11-21T10:00:00Z', false],
    ['2026-11-21T10:00:00.000+00:00', false],
    ['2026-11-21 10:00:00.000Z', false],
    ['', false],
  ])('%j: %s', (text, expected) => {
    expect(TimestampSchema.safeParse(text).success).toBe(expected)
  })
})

describe('times in queries', () => {
  it.each([
    ['2026-11-21T10:00:00.000Z', '2026-11-21T10:00:00.000Z'],
    ['2026-11-21t10:00:00z', '2026-11-21T10:00:00.000Z'],
    ['2026-11-21T10:00:00+02:00', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21T10:00:00 02:00', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21T22:30:00.5-05:30', '2026-11-22T04:00:00.500Z'],
    ['2026-11-21T10:00:00-00:00', '2026-11-21T10:00:00.000Z'],
    ['2026-11-21T10:00:00.1Z', '2026-11-21T10:00:00.100Z'],
    ['2026-11-21T10:00:00.123000000000Z', '2026-11-21T10:00:00.123Z'],
    ['2026-11-21T10:00:00.123000001Z', '2026-11-21T10:00:00.124Z'],
    ['2026-11-21T10:00:00.9999Z', '2026-11-21T10:00:01.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2016-12-31T15:59:60.5-08:00', '2017-01-01T00:00:00.000Z'],
    ['2024-02-29T00:00:00+23:59', '2024-02-28T00:01:00.000Z'],
    // In UTC they are of a year that has no four digits.
    ['0000-01-01T00:00:00+14:00', '0000-01-01T00:00:00.000Z'],
    ['0000-01-01T00:00:00+00:01', '0000-01-01T00:00:00.000Z'],
    ['0000-01-01T14:00:00+14:00', '0000-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59-14:00', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:59.9999Z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:60Z', '9999-12-31T23:59:59.999Z'],
  ])('%s is %s', (text, expected) => {
    expect(QueryTimeSchema.parse(text)).toBe(expected)
  })

  it.each([
    '2026-02-29T00:00:00Z',
    '2026-11-21T24:00:00Z',
    '2026-11-21T10:60:00Z',
    '2026-11-21T10:00:60Z',
    '2026-11-21T23:59:60Z',
    '2026-11-21T10:00:61Z',
    '2026-11-21T10:00:00',
    '2026-11-21T10:00Z',
    '2026-11-21 10:00:00Z',
    '2026-11-21T10:00:00.Z',
    '2026-11-21T10:00:00+24:00',
    '2026-11-21T10:00:00+0200',
    '+002026-11-21T10:00:00Z',
    '1795255205',
    '',
  ])('%j is none', (text) => {
    expect(QueryTimeSchema.safeParse(text).success).toBe(false)
  })
})
