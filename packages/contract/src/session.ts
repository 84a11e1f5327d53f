/** Signing in to the dashboard: `/dashboard/session`. */
import { z } from 'zod'
import type { Immutable } from './immutable.js'
import { KeySchema } from './key.js'
import { TimestampSchema } from './timestamp.js'

const SecretSchema = z.string().min(1).max(256).nullish()

/** Signs in with one of the two: an API key, or the code of the one-time link that the server prints at a terminal. */
export const SignInSchema = z
  .strictObject({ key: SecretSchema, code: SecretSchema })
  .refine(({ key, code }) => (key == null) !== (code == null), {
    error: 'must have either key or code',
    // A faulty member already has its own error.
    when: ({ issues }) => issues.length === 0,
  })
export type SignIn = Immutable<z.infer<typeof SignInSchema>>

/** The session of a signed-in browser, with the rights of its key. */
export const SessionSchema = z
  .strictObject({
    key: KeySchema,
    expires_at: TimestampSchema,
    csrf_token: z.string().meta({ description: 'Send it as `X-CSRF-Token` with every request that is not a GET.' }),
  })
  .meta({ id: 'Session' })
export type Session = Immutable<z.infer<typeof SessionSchema>>
