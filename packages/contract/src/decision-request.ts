import { z } from 'zod'
import { factsSchema } from './context.js'
import type { Immutable } from './immutable.js'
import { LIMITS } from './limits.js'
import { ActionSchema, AgentIdSchema, ResourceSchema, textOf } from './names.js'

/** The job that runs an action, named so that the action runs once. */
export const HolderSchema = textOf(1, LIMITS.holderLength).meta({
  description:
    'Names the job that will run the action: the same after a restart of that job, different for every other job.',
})

/** The request for a decision. A null member counts as absent. */
export const DecisionRequestSchema = z
  .strictObject({
    agent_id: AgentIdSchema,
    action: ActionSchema,
    resource: ResourceSchema.nullish(),
    context: factsSchema().nullish(),
    holder: HolderSchema.nullish(),
  })
  .meta({ id: 'DecisionRequest', title: 'Decision request' })
export type DecisionRequest = Immutable<z.infer<typeof DecisionRequestSchema>>
