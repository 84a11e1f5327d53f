import { z } from 'zod'

/** The id of a distributed trace, as W3C Trace Context spells it. */
export const TraceIdSchema = z
  .string()
  .regex(/^(?!0{32})[0-9a-f]{32}$/, { error: 'must be 32 lowercase hexadecimal digits, not all of them 0' })
  .meta({ examples: ['4bf92f3577b34da6a3ce929d0e0e4736'] })
