import { z } from 'zod'
import { IdSchema } from '../id.js'
import { LIMITS } from '../limits.js'
import { NameSchema } from '../names.js'
import { PolicyDocumentSchema, PolicySchema, PolicyValidationSchema } from '../policy.js'
import { SimulateRequestSchema, SimulateResponseSchema } from '../simulate.js'
import { bodyOf, operation, page } from './operation.js'

const READ = { all: ['policies:read'] } as const
const WRITE = { all: ['policies:write'] } as const
const params = { id: IdSchema('pol') }
const body = { ...bodyOf(PolicyDocumentSchema), maxDepth: LIMITS.policyBodyDepth }
const answer = {
  status: 200,
  description: 'The policy.',
  schema: PolicySchema,
  headers: { ETag: z.string().meta({ description: 'The revision in double quotes.' }) },
} as const

export const POLICY_OPERATIONS = {
  'policies.create': operation('POST', '/v1/policies', {
    summary: 'Create a policy. It applies from the next request.',
    scopes: WRITE,
    takesKey: true,
    body,
    answer: { ...answer, status: 201 },
    problems: ['policy_name_taken', 'limit_reached', 'store_unavailable'],
  }),
  'policies.list': page('/v1/policies', [PolicySchema, 'A page of policies.'], {
    summary: 'List policies, newest first.',
    scopes: READ,
    problems: ['store_unavailable'],
  }),
  'policies.validate': operation('POST', '/v1/policies/validate', {
    summary: 'Check a policy without writing it.',
    scopes: READ,
    // Accepts any object: the answer says what is wrong with the policy.
    body: { ...body, schema: z.looseObject({}).meta({ title: 'Policy' }) },
    answer: { status: 200, description: 'The errors and warnings.', schema: PolicyValidationSchema },
    problems: [],
  }),
  'policies.get': operation('GET', '/v1/policies/{id}', {
    summary: 'Read a policy.',
    scopes: READ,
    params,
    answer,
    problems: ['not_found'],
  }),
  'policies.replace': operation('PUT', '/v1/policies/{id}', {
    summary: 'Replace a whole policy. The new revision applies from the next request.',
    scopes: WRITE,
    params,
    body,
    answer,
    problems: ['not_found', 'policy_name_taken', 'revision_mismatch', 'limit_reached', 'store_unavailable'],
  }),
  'policies.delete': operation('DELETE', '/v1/policies/{id}', {
    summary: 'Delete a policy. It no longer decides any request.',
    scopes: WRITE,
    params,
    answer: { status: 204, description: 'Deleted.' },
    problems: ['not_found', 'revision_mismatch', 'store_unavailable'],
  }),
  'policies.getByName': operation('GET', '/v1/policies/by-name/{name}', {
    summary: 'Read the policy that has this name.',
    scopes: READ,
    params: { name: NameSchema },
    answer,
    problems: ['not_found'],
  }),
  'policies.putByName': operation('PUT', '/v1/policies/by-name/{name}', {
    summary: 'Create the policy that has this name, or replace it completely. The body must have the same name.',
    scopes: WRITE,
    params: { name: NameSchema },
    body,
    answer: { ...answer, mayCreate: true },
    problems: ['revision_mismatch', 'limit_reached', 'store_unavailable'],
  }),
  'policies.revisions': page('/v1/policies/{id}/revisions', [PolicySchema, 'A page of revisions.'], {
    summary: 'List every revision of a policy, newest first. Works for a deleted policy.',
    scopes: READ,
    params,
    problems: ['not_found', 'store_unavailable'],
  }),
  'policies.simulate': operation('POST', '/v1/simulate', {
    summary: 'Evaluate a request without storing anything, with the stored policies or with given policies.',
    scopes: READ,
    body: { ...body, schema: SimulateRequestSchema, memberDepth: { request: LIMITS.decisionBodyDepth } },
    answer: { status: 200, description: 'The decision that would be made.', schema: SimulateResponseSchema },
    problems: ['agent_not_allowed', 'store_unavailable'],
  }),
}
