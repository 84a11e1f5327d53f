import fc from 'fast-check'
import pino from 'pino'
import { expect, test } from 'vitest'
import { jsonLog } from './json-log.js'

const lines: string[] = []
const output = { write: (line: string) => void lines.push(line.replace(/"time":"[^"]+"/, '"time":"now"')) }

test('no line differs from that of a log that redacts every line', () => {
  const log = jsonLog('info', output)
  const redact = ['authorization', 'key', '*.authorization', '*.key']
  const formatters = { level: (level: string) => ({ level }) }
  const careful = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters, redact }, output)
  const name = fc.constantFrom('authorization', 'key', 'key_id', 'err', 'a')
  const scalar = fc.constantFrom('secret', 7, true, null, undefined)
  const below = fc.dictionary(name, scalar)
  const error = below.map((members) => Object.assign(new Error('failed'), { stack: '' }, members))
  fc.assert(
    fc.property(fc.dictionary(name, fc.oneof(scalar, below, error, fc.array(below))), (fields) => {
      lines.length = 0
      log.warn(fields, 'answered')
      careful.warn(fields, 'answered')
      expect(lines[0]).toBe(lines[1])
    }),
  )
})

test.each([
  { key: 'secret' },
  { authorization: 'secret' },
  { caller: { key: 'secret' } },
  { headers: { authorization: 'secret' } },
  { err: Object.assign(new Error('failed'), { key: 'secret' }) },
])('a line shows no secret: %j', (fields) => {
  lines.length = 0
  const log = jsonLog('info', output)
  for (const level of ['info', 'warn', 'error'] as const) log[level](fields, 'answered')
  expect(lines).toHaveLength(3)
  for (const line of lines) expect(line).toContain('[Redacted]')
  expect(lines.join('')).not.toContain('secret')
})
