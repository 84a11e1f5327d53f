import { z } from 'zod'

function isInstant(text: string): boolean {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString() === text
}

/** RFC 3339 in UTC with milliseconds, `2026-11-21T10:00:00.000Z`: text order is time order. */
export const TimestampSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, {
    error: 'must be a UTC time with milliseconds, such as 2026-11-21T10:00:00.000Z',
  })
  .refine(isInstant, { error: 'is not a time of the calendar' })
  .meta({
    format: 'date-time',
    description: 'RFC 3339 in UTC with milliseconds.',
    examples: ['2026-11-21T10:00:00.000Z'],
  })

const INSTANT = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+\- ])([01]\d|2[0-3]):([0-5]\d))$/
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Converts an RFC 3339 time to UTC with milliseconds; null for any other text. A time whose offset moves it before the
 * year 0 or after the year 9999 in UTC becomes the first or the last timestamp, because none lies beyond.
 */
function utcOf(text: string): string | null {
  const [, date, minute, second = '', fraction = '', sign, hours, minutes] = INSTANT.exec(text) ?? []
  const isLeap = second === '60'
  const local = `${date}T${minute}:${isLeap ? '59' : second}.000Z`
  if (!isInstant(local)) return null
  const offsetMs = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000 * (sign === '-' ? -1 : 1)
  const wholeMs = Date.parse(local) - offsetMs + (isLeap ? 1000 : 0)
  // A leap second can only follow the last second of a month in UTC. It counts as the moment after it.
  if (isLeap && !new Date(wholeMs).toISOString().endsWith('-01T00:00:00.000Z')) return null
  const finer = /[1-9]/.test(fraction.slice(3)) ? 1 : 0
  const ms = wholeMs + (isLeap ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0')) + finer)
  return new Date(Math.min(Math.max(ms, FIRST_MS), LAST_MS)).toISOString()
}

/**
 * A time in a query: any form of RFC 3339, converted to a timestamp. Fractions of a millisecond are rounded up, so that
 * `from` (inclusive) and `to` (exclusive) select the same timestamps as the exact time. A space may replace the `+` of
 * an offset, because an unencoded `+` in a query becomes one.
 */
export const QueryTimeSchema = z
  .string()
  .transform((text, { addIssue }) => {
    const time = utcOf(text)
    if (time !== null) return time
    addIssue({ code: 'custom', message: 'must be a time of RFC 3339, such as 2026-11-21T10:00:00Z' })
    return z.NEVER
  })
  .meta({ override: { type: 'string', format: 'date-time', examples: ['2026-11-21T10:00:00Z'] } })
