import { z } from 'zod'
import { EFFECTS } from './effect.js'
import { countedItem } from './fault-count.js'
import type { Immutable } from './immutable.js'
import { LIMITS } from './limits.js'
import { ActionSchema, AgentIdSchema } from './names.js'

/** Which of these actions the agent can ever be allowed. */
export const CapabilitiesRequestSchema = z
  .strictObject({
    agent_id: AgentIdSchema,
    actions: z
      .array(countedItem(ActionSchema))
      .min(1)
      .max(LIMITS.capabilityActions)
      .meta({ examples: [['payment.refund', 'email.send']] }),
  })
  .meta({ id: 'CapabilitiesRequest', title: 'Capabilities request' })
export type CapabilitiesRequest = Immutable<z.infer<typeof CapabilitiesRequestSchema>>

/** What a request for one action can get. */
export const CapabilitySchema = z
  .strictObject({
    action: ActionSchema,
    effects: z
      .array(z.enum(EFFECTS))
      .min(1)
      .meta({
        description:
          'Every effect that a request for this action can get, sorted by name. It may name one that none can get, and never leaves one out.',
        examples: [['allow', 'deny']],
      }),
  })
  .meta({ id: 'Capability' })
export type Capability = Immutable<z.infer<typeof CapabilitySchema>>

/** Nothing is decided or recorded. */
export const CapabilitiesSchema = z
  .strictObject({
    agent_id: AgentIdSchema,
    data: z.array(CapabilitySchema).meta({ description: 'One for each action, in the order asked.' }),
  })
  .meta({ id: 'Capabilities' })
export type Capabilities = Immutable<z.infer<typeof CapabilitiesSchema>>
