import { z } from 'zod'

/** An integer in a query: text on the wire, an integer in the OpenAPI document, a number for the handler. */
export function queryNumber(
  minimum: number,
  maximum: number,
  about: { error: string; description: string; default: number },
) {
  return z
    .string()
    .regex(/^(0|[1-9][0-9]{0,2})$/, { error: about.error })
    .transform(Number)
    .refine((number) => number >= minimum && number <= maximum, { error: about.error })
    .meta({
      description: about.description,
      override: { type: 'integer', minimum, maximum, default: about.default, pattern: undefined },
    })
}
