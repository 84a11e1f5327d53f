import { z } from 'zod'
import { ERRORS, type ErrorCode } from './errors.js'
import type { Immutable } from './immutable.js'

/** A faulty place of a request, and the fault. */
export const FieldErrorSchema = z
  .strictObject({
    pointer: z.string().meta({ description: 'JSON Pointer (RFC 6901) of the faulty value in the request.' }),
    detail: z.string(),
  })
  .meta({ id: 'FieldError' })
export type FieldError = Immutable<z.infer<typeof FieldErrorSchema>>

/**
 * `application/problem+json` (RFC 9457). Has `errors` only with `validation_failed`, `current_status` only with
 * `invalid_transition`.
 */
export const ProblemSchema = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    request_id: z.string(),
    errors: z.array(FieldErrorSchema).optional(),
    current_status: z.string().optional(),
  })
  .meta({ id: 'Problem' })
export type Problem = Immutable<z.infer<typeof ProblemSchema>>
