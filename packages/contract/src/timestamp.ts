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
