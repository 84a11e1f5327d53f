import {
  LIMITS,
  type Policy,
  PolicyDocumentSchema,
  PolicySchema,
  PolicyValidationSchema,
  pageOf,
  SimulateRequestSchema,
  SimulateResponseSchema,
} from '@countersign/contract'
import type { StoredPolicy } from '@countersign/store-port/documents'
import type { Store } from '@countersign/store-port/store'
import { z } from 'zod'
import { invalid } from '../../domain-error.js'
import type { Ids } from '../../ports/ids.js'
import { createPolicy } from '../../use-cases/policies/create.js'
import { deletePolicy } from '../../use-cases/policies/delete.js'
import { getPolicy } from '../../use-cases/policies/get.js'
import { listPolicies, listPolicyRevisions } from '../../use-cases/policies/list.js'
import { replacePolicy } from '../../use-cases/policies/replace.js'
import { type SimulateDeps, simulate } from '../../use-cases/policies/simulate.js'
import { validatePolicy } from '../../use-cases/policies/validate.js'
import { viewPolicy } from '../../use-cases/policies/view.js'
import type { WriteLintedDeps } from '../../use-cases/policies/write-linted.js'
import type { Cursors } from '../cursor.js'
import { pageQuery, replyPage } from '../pages.js'
import { type Route, route } from '../route.js'

export type PolicyRouteDeps = WriteLintedDeps &
  SimulateDeps & {
    readonly ids: Ids
    readonly store: Pick<Store, 'listPolicies' | 'listPolicyRevisions'>
    readonly cursors: Cursors
  }

const ETAG = { ETag: z.string().meta({ description: 'The revision in double quotes.' }) }

const policyBody = {
  schema: PolicyDocumentSchema,
  maxBytes: LIMITS.bodyBytes,
  maxDepth: LIMITS.policyBodyDepth,
}

export function policyRoutes(deps: PolicyRouteDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/policies',
      name: 'policies.create',
      isChange: true,
      summary: 'Create a policy. It applies from the next request on.',
      scopes: { all: ['policies:write'] },
      body: policyBody,
      answer: { status: 201, description: 'The policy.', schema: PolicySchema, headers: ETAG },
      problems: ['policy_name_taken', 'limit_reached', 'store_unavailable'],
      replay: { present: async (_call, id) => withETag(await latestRevision(deps.store, id)) },
      handle: async (call) => withETag(await createPolicy(deps, call, call.body)),
    }),
    route({
      method: 'GET',
      path: '/v1/policies',
      name: 'policies.list',
      isLong: true,
      summary: 'List policies, newest first.',
      scopes: { all: ['policies:read'] },
      query: z.strictObject(pageQuery),
      answer: { status: 200, description: 'A page of policies.', schema: pageOf(PolicySchema) },
      problems: ['invalid_cursor', 'store_unavailable'],
      handle: (call) => replyPage(deps.cursors, '/v1/policies', call, (page) => listPolicies(deps, page)),
    }),
    route({
      method: 'POST',
      path: '/v1/policies/validate',
      name: 'policies.validate',
      isLong: true,
      summary: 'Check a policy without writing it.',
      scopes: { all: ['policies:read'] },
      // Any object is a question here; what is wrong with the policy is the answer.
      body: { ...policyBody, schema: z.looseObject({}).meta({ title: 'Policy' }) },
      answer: { status: 200, description: 'The errors and warnings.', schema: PolicyValidationSchema },
      problems: [],
      handle: async ({ body, pause }) => ({ body: await validatePolicy(deps, body, pause) }),
    }),
    route({
      method: 'GET',
      path: '/v1/policies/{id}',
      name: 'policies.get',
      summary: 'Read a policy.',
      scopes: { all: ['policies:read'] },
      answer: { status: 200, description: 'The policy.', schema: PolicySchema, headers: ETAG },
      problems: ['not_found'],
      handle: async ({ params }) => withETag(getPolicy(deps, params.id as string)),
    }),
    route({
      method: 'PUT',
      path: '/v1/policies/{id}',
      name: 'policies.replace',
      isChange: true,
      summary: 'Replace a whole policy. The new revision applies from the next request on.',
      scopes: { all: ['policies:write'] },
      body: policyBody,
      answer: { status: 200, description: 'The policy.', schema: PolicySchema, headers: ETAG },
      problems: ['not_found', 'policy_name_taken', 'revision_mismatch', 'limit_reached', 'store_unavailable'],
      handle: async (call) => {
        const expected = revisionsOf(call.ifMatch)
        return withETag(await replacePolicy(deps, call, call.params.id as string, call.body, expected))
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/policies/{id}',
      name: 'policies.delete',
      isChange: true,
      summary: 'Delete a policy. It no longer decides any request.',
      scopes: { all: ['policies:write'] },
      answer: { status: 204, description: 'Deleted.' },
      problems: ['not_found', 'revision_mismatch', 'store_unavailable'],
      handle: async (call) => {
        await deletePolicy(deps, call, call.params.id as string, revisionsOf(call.ifMatch))
        return {}
      },
    }),
    route({
      method: 'GET',
      path: '/v1/policies/{id}/revisions',
      name: 'policies.revisions',
      isLong: true,
      summary: 'List every revision of a policy, newest first. Works for a deleted policy.',
      scopes: { all: ['policies:read'] },
      query: z.strictObject(pageQuery),
      answer: { status: 200, description: 'A page of revisions.', schema: pageOf(PolicySchema) },
      problems: ['invalid_cursor', 'not_found', 'store_unavailable'],
      handle: (call) =>
        replyPage(deps.cursors, '/v1/policies/{id}/revisions', call, (page) =>
          listPolicyRevisions(deps, call.params.id as string, page),
        ),
    }),
    route({
      method: 'POST',
      path: '/v1/simulate',
      name: 'policies.simulate',
      isLong: true,
      summary: 'Evaluate a request without storing anything, with the stored policies or with given policies.',
      scopes: { all: ['policies:read'] },
      body: {
        schema: SimulateRequestSchema,
        maxBytes: LIMITS.bodyBytes,
        maxDepth: LIMITS.policyBodyDepth,
        memberDepth: { request: LIMITS.decisionBodyDepth },
      },
      answer: { status: 200, description: 'The decision that would be made.', schema: SimulateResponseSchema },
      problems: ['agent_not_allowed', 'store_unavailable'],
      handle: async ({ caller, body, requestId, pause }) => ({
        body: await simulate(deps, caller, body.request, body.policies ?? undefined, requestId, pause),
      }),
    }),
  ]
}

/** The policy as it was last, also when it is deleted since. */
async function latestRevision(store: PolicyRouteDeps['store'], id: string): Promise<Policy> {
  const { items } = await store.listPolicyRevisions(id, { limit: 1, after: null })
  return viewPolicy(items[0] as StoredPolicy)
}

function withETag(policy: Policy) {
  return { headers: { ETag: `"${policy.revision}"` }, body: policy }
}

/**
 * The revisions that `If-Match` names; null for any (`*` or no header). A weak tag never matches (RFC 9110, 13.1.1).
 *
 * @throws DomainError validation_failed
 */
function revisionsOf(ifMatch: string | undefined): string[] | null {
  if (ifMatch === undefined || ifMatch.trim() === '*') return null
  const tags = ifMatch.split(',').map((tag) => tag.trim())
  if (!tags.every((tag) => /^(W\/)?"[^"]*"$/.test(tag)))
    throw invalid([{ pointer: '/If-Match', detail: 'must be the ETag of a policy, such as "3" with its quotes' }])
  return tags.filter((tag) => !tag.startsWith('W/')).map((tag) => tag.slice(1, -1))
}
