import { z } from 'zod'
import { factsSchema } from './context.js'
import type { Immutable } from './immutable.js'
import { jsonObject } from './json.js'
import { LIMITS } from './limits.js'
import { AgentIdSchema, NameSchema, textOf } from './names.js'
import { TimestampSchema } from './timestamp.js'

const registrationShape = {
  name: NameSchema.nullish(),
  description: textOf(0, LIMITS.descriptionLength).nullish(),
  metadata: factsSchema().nullish(),
}

/** Registers an agent. A null member counts as absent. */
export const AgentCreateSchema = z
  .strictObject({ id: AgentIdSchema, ...registrationShape })
  .meta({ id: 'AgentCreate', title: 'Agent' })
export type AgentCreate = Immutable<z.infer<typeof AgentCreateSchema>>

/** The whole registration: absent members become empty. */
export const AgentUpdateSchema = z.strictObject(registrationShape).meta({ id: 'AgentUpdate', title: 'Agent' })
export type AgentUpdate = Immutable<z.infer<typeof AgentUpdateSchema>>

/** Suspends an agent; `reason` is stored with it. */
export const SuspendSchema = z
  .strictObject({ reason: textOf(0, LIMITS.reasonLength).nullish() })
  .meta({ id: 'Suspend', title: 'Suspension' })
export type Suspend = Immutable<z.infer<typeof SuspendSchema>>

/** An agent as the server knows it: registered, seen, suspended, or several of these. */
export const AgentSchema = z
  .strictObject({
    id: z.string(),
    name: z.string().nullable(),
    description: z.string().nullable(),
    metadata: jsonObject('Values for policy conditions; `{}` for an agent that is not registered.'),
    registered: z.boolean().meta({
      description:
        'Whether POST /v1/agents registered the agent. An agent that has only been seen or suspended is not registered.',
    }),
    suspended: z
      .strictObject({ at: TimestampSchema, by: z.string(), reason: z.string().nullable() })
      .nullable()
      .meta({ description: 'Null for an agent that is not suspended.' }),
    first_seen: TimestampSchema.nullable(),
    last_seen: TimestampSchema.nullable(),
    created_at: TimestampSchema.nullable(),
  })
  .meta({ id: 'Agent' })
export type Agent = Immutable<z.infer<typeof AgentSchema>>
