import { CapabilitiesRequestSchema, CapabilitiesSchema } from '../capabilities.js'
import { bodyOf, operation } from './operation.js'

export const CAPABILITY_OPERATIONS = {
  'decisions.capabilities': operation('POST', '/v1/capabilities', {
    summary: 'List the effects that an agent can get for each of the given actions.',
    scopes: { all: ['decisions:write'] },
    body: bodyOf(CapabilitiesRequestSchema),
    answer: {
      status: 200,
      description:
        'The effects that requests of the agent can get under the current policies, for any resource, context, time and budget. Nothing is decided or recorded.',
      schema: CapabilitiesSchema,
    },
    problems: ['agent_not_allowed'],
  }),
}
