import { z } from 'zod'
import { LIMITS } from './limits.js'

/** Decision, policy, agent record, key, webhook, delivery, event, audit entry. */
export const ID_PREFIXES = ['dec', 'pol', 'agt', 'key', 'whk', 'dlv', 'evt', 'aud'] as const
export type IdPrefix = (typeof ID_PREFIXES)[number]

/** `<prefix>_` and 26 characters (TypeID over UUIDv7): text order is time order. */
export type Id<Prefix extends IdPrefix = IdPrefix> = `${Prefix}_${string}`

/** The ids of one kind of object, as the server generates them. */
export function IdSchema<Prefix extends IdPrefix>(prefix: Prefix) {
  return z
    .string()
    .regex(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`), {
      error: `must be an id that starts with ${prefix}_`,
    })
    .meta({ examples: [`${prefix}_01kagx3v5ne8sr6w1y6gqk4t2h`] })
}

/** The policy of a decision: an id, `pol_default`, or the id that the caller of a simulation gave it. */
export const PolicyIdSchema = z
  .string()
  .min(1)
  .max(LIMITS.policyIdLength)
  .meta({ description: 'Id of a policy; `pol_default` if no policy decided.' })
