import { z } from 'zod'
import { EFFECTS } from './effect.js'
import { countedItem } from './fault-count.js'
import type { Immutable } from './immutable.js'
import { LIMITS } from './limits.js'
import { ActionSchema, AgentIdSchema } from './names.js'

/** Asks which effects an agent can ever get for these actions. */
export const CapabilitiesRequestSchema = z
  .strictObject({
    agent_id: AgentIdSchema,
    actions: z
      .array(countedItem(ActionSchema))
      .min(1)
      .max(LIMITS.capabilityActions)
      .meta({ description: 'The actions to list.' }),
  })
  .meta({
    id: 'CapabilitiesRequest',
    title: 'Capabilities request',
    examples: [{ agent_id: 'agent:support-7', actions: ['payment.refund', 'payment.delete'] }],
  })
export type CapabilitiesRequest = Immutable<z.infer<typeof CapabilitiesRequestSchema>>

/** The effects that a request for one action can get. */
export const CapabilitySchema = z
  .strictObject({
    action: ActionSchema,
    effects: z.array(z.enum(EFFECTS)).min(1).meta({
      description:
        'The effects that a request for this action can get, sorted by name. The list is never incomplete, but may contain an effect that no request gets.',
    }),
  })
  .meta({ id: 'Capability' })
export type Capability = Immutable<z.infer<typeof CapabilitySchema>>

/** The answer about an agent's capabilities. Nothing is decided or recorded. */
export const CapabilitiesSchema = z
  .strictObject({
    agent_id: AgentIdSchema,
    data: z.array(CapabilitySchema).meta({ description: 'One item for each action, in the order of the request.' }),
  })
  .meta({
    id: 'Capabilities',
    examples: [
      {
        agent_id: 'agent:support-7',
        data: [
          { action: 'payment.refund', effects: ['allow', 'deny', 'review'] },
          { action: 'payment.delete', effects: ['deny'] },
        ],
      },
    ],
  })
export type Capabilities = Immutable<z.infer<typeof CapabilitiesSchema>>
