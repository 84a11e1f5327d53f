import { z } from 'zod'
import type { Immutable } from './immutable.js'
import { LIMITS } from './limits.js'

/** Uses a permit up. */
export const RedeemSchema = z.strictObject({ permit_token: z.string() }).meta({ id: 'Redeem', title: 'Redemption' })
export type Redeem = Immutable<z.infer<typeof RedeemSchema>>

/** The claims of a permit. `iat` and `exp` are seconds since 1970. */
export const PermitClaimsSchema = z
  .strictObject({
    iss: z.string(),
    sub: z.string().meta({ description: 'agent_id' }),
    aud: z.string(),
    iat: z.int(),
    exp: z.int(),
    jti: z.string().meta({ description: 'Id of the decision.' }),
    action: z.string(),
    resource: z.string().nullable(),
    effect: z.enum(['allow', 'log', 'review']),
    policy_id: z.string(),
    policy_revision: z.int(),
    amount: z.number().min(0).max(LIMITS.amount).optional(),
    unit: z.string().optional(),
    request_hash: z.string(),
    audit: z.strictObject({ log: z.string(), index: z.int().min(0), leaf: z.string() }),
  })
  .meta({ id: 'PermitClaims' })
export type PermitClaims = Immutable<z.infer<typeof PermitClaimsSchema>>

/** The public keys that verify permits (RFC 7517), each an Ed25519 key. */
export const JwksSchema = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        alg: z.literal('EdDSA'),
        use: z.literal('sig'),
        kid: z.string(),
        x: z.string(),
      }),
    ),
  })
  .meta({ id: 'Jwks' })
export type Jwks = Immutable<z.infer<typeof JwksSchema>>
