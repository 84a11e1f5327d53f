import { z } from 'zod'

/** RFC 3339 in UTC with milliseconds, `2026-11-21T10:00:00.000Z`: text order is time order. */
export const TimestampSchema = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
