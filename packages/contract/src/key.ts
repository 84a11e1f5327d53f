import { z } from 'zod'
import { countedItem } from './fault-count.js'
import { IdSchema } from './id.js'
import type { Immutable } from './immutable.js'
import { isJsonObject } from './json.js'
import { LIMITS } from './limits.js'
import { NameSchema } from './names.js'
import { AgentPatternSchema } from './pattern.js'
import { SCOPES, UNBINDABLE_SCOPES } from './scopes.js'
import { TimestampSchema } from './timestamp.js'

/** What an API key may do. */
export const ScopeSchema = z.enum(SCOPES)

function isNotEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}

/**
 * Creates an API key. A key bound to agents acts only for these, so it cannot have a scope that goes beyond a single
 * agent.
 */
export const KeyCreateSchema = z
  .strictObject({
    name: NameSchema,
    scopes: z.array(countedItem(ScopeSchema)).min(1),
    agents: z
      .array(countedItem(AgentPatternSchema))
      .min(1)
      .nullish()
      .meta({ description: 'Binds the key to the matching agents. Default: any agent.' }),
    expires_at: TimestampSchema.nullish(),
  })
  .superRefine(
    ({ scopes }, ctx) => {
      for (const [index, scope] of scopes.entries()) {
        if (UNBINDABLE_SCOPES.includes(scope))
          ctx.addIssue({
            code: 'custom',
            path: ['scopes', index],
            message: 'cannot be held by a key that is bound to agents',
          })
      }
    },
    // Reported next to the faults of other members, whenever there are scopes and agents to compare.
    { when: ({ value }) => isJsonObject(value) && Array.isArray(value.scopes) && isNotEmptyList(value.agents) },
  )
  .meta({ id: 'KeyCreate', title: 'Key' })
export type KeyCreate = Immutable<z.infer<typeof KeyCreateSchema>>

/** Gives a key a new secret. */
export const KeyRotateSchema = z
  .strictObject({
    grace_seconds: z
      .int()
      .min(0)
      .max(LIMITS.rotateGraceSeconds)
      .nullish()
      .meta({
        description: `How long the old secret stays valid, in seconds. Default: ${LIMITS.rotateGraceSecondsDefault}.`,
      }),
  })
  .meta({ id: 'KeyRotate', title: 'Rotation' })
export type KeyRotate = Immutable<z.infer<typeof KeyRotateSchema>>

const keyShape = {
  id: IdSchema('key'),
  name: z.string(),
  scopes: z.array(ScopeSchema),
  agents: z.array(z.string()).nullable(),
  created_at: TimestampSchema,
  created_by: z.string().nullable(),
  expires_at: TimestampSchema.nullable(),
  revoked_at: TimestampSchema.nullable(),
  last_used_at: TimestampSchema.nullable(),
  hint: z.string().meta({ description: 'Enough of the secret to recognize it.', examples: ['cs_sk_…9fQ2'] }),
}

/** An API key as the server shows it, without its secret. */
export const KeySchema = z.strictObject(keyShape).meta({ id: 'Key' })
export type ApiKey = Immutable<z.infer<typeof KeySchema>>

/** A key with its secret, which only the first answer of create and rotate contains. */
export const KeyWithSecretSchema = z
  .strictObject({ ...keyShape, key: z.string().meta({ description: 'The secret. It is shown only once.' }) })
  .meta({ id: 'KeyWithSecret' })
export type ApiKeyWithSecret = Immutable<z.infer<typeof KeyWithSecretSchema>>
