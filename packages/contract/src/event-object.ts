/** Policies, agents and API keys as events show them: as of the event, and smaller than 64 KiB. */
import { z } from 'zod'
import { AgentSchema } from './agent.js'
import type { Immutable } from './immutable.js'
import { KeySchema } from './key.js'
import { PolicySchema, RuleSchema } from './policy.js'

const omitted = (member: string) =>
  z
    .int()
    .positive()
    .optional()
    .meta({ description: `How many ${member} are omitted. Present only if the object is too large for an event.` })

/** A policy with as many of its first rules, agents and warnings as fit. */
export const EventPolicySchema = PolicySchema.extend({
  rules: z.array(RuleSchema),
  rules_omitted: omitted('`rules`'),
  agents_omitted: omitted('`agents`'),
  warnings_omitted: omitted('`warnings`'),
}).meta({ id: 'EventPolicy' })
export type EventPolicy = Immutable<z.infer<typeof EventPolicySchema>>

/** An agent with as many of the first members of its metadata as fit. */
export const EventAgentSchema = AgentSchema.extend({ metadata_omitted: omitted('members of `metadata`') }).meta({
  id: 'EventAgent',
})
export type EventAgent = Immutable<z.infer<typeof EventAgentSchema>>

/** A key with as many of its first agents as fit. */
export const EventKeySchema = KeySchema.extend({ agents_omitted: omitted('`agents`') }).meta({ id: 'EventKey' })
export type EventKey = Immutable<z.infer<typeof EventKeySchema>>
