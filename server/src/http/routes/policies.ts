import type { Policy, PolicyDocument } from '@countersign/contract'
import { invalid } from '../../domain-error.js'
import type { Ids } from '../../ports/ids.js'
import type { StoredPolicy } from '../../ports/store/documents.js'
import type { Store } from '../../ports/store/store.js'
import { createPolicy } from '../../use-cases/policies/create.js'
import { deletePolicy } from '../../use-cases/policies/delete.js'
import { getPolicy, getPolicyByName } from '../../use-cases/policies/get.js'
import { listPolicies, listPolicyRevisions } from '../../use-cases/policies/list.js'
import { putPolicyByName } from '../../use-cases/policies/put-by-name.js'
import { replacePolicy } from '../../use-cases/policies/replace.js'
import { type SimulateDeps, simulate } from '../../use-cases/policies/simulate.js'
import { validatePolicy } from '../../use-cases/policies/validate.js'
import { viewPolicy } from '../../use-cases/policies/view.js'
import type { WriteLintedDeps } from '../../use-cases/policies/write-linted.js'
import type { Cursors } from '../cursor.js'
import { replyPage } from '../pages.js'
import { routesOf } from '../route.js'

export type PolicyRouteDeps = WriteLintedDeps &
  SimulateDeps & {
    readonly ids: Ids
    readonly store: Pick<Store, 'policies'>
    readonly cursors: Cursors
  }

export function policyRoutes(deps: PolicyRouteDeps) {
  return routesOf({
    'policies.create': {
      isChange: true,
      replay: { present: async (_call, id) => withETag(await latestRevision(deps.store, id)) },
      handle: async (call) => withETag(await createPolicy(deps, call, call.body)),
    },
    'policies.list': { handle: (call) => replyPage(deps.cursors, call, (page) => listPolicies(deps, page)) },
    'policies.validate': {
      isLong: true,
      handle: async ({ body, pause }) => ({ body: await validatePolicy(deps, body, pause) }),
    },
    'policies.get': { handle: async ({ params }) => withETag(getPolicy(deps, params.id)) },
    'policies.replace': {
      isChange: true,
      handle: async (call) => {
        const expected = revisionsOf(call.ifMatch)
        return withETag(await replacePolicy(deps, call, call.params.id, call.body, expected))
      },
    },
    'policies.delete': {
      isChange: true,
      handle: async (call) => {
        await deletePolicy(deps, call, call.params.id, revisionsOf(call.ifMatch))
        return {}
      },
    },
    'policies.getByName': { handle: async ({ params }) => withETag(getPolicyByName(deps, params.name)) },
    'policies.putByName': {
      isChange: true,
      handle: async (call) => {
        assertNamed(call.body, call.params.name)
        const { policy, isNew } = await putPolicyByName(deps, call, call.body, {
          ...(call.ifMatch !== undefined && { revisions: revisionsOf(call.ifMatch) }),
          mustBeNew: mustBeNew(call.ifNoneMatch),
        })
        return { ...withETag(policy), ...(isNew && { status: 201 }) }
      },
    },
    'policies.revisions': {
      handle: (call) => replyPage(deps.cursors, call, (page) => listPolicyRevisions(deps, call.params.id, page)),
    },
    'policies.simulate': {
      isLong: true,
      handle: async ({ caller, body, requestId, pause }) => ({
        body: await simulate(deps, caller, body.request, body.policies ?? undefined, requestId, pause),
      }),
    },
  })
}

/** Returns the latest revision of a policy, also when it was deleted since. */
async function latestRevision(store: PolicyRouteDeps['store'], id: string): Promise<Policy> {
  const { items } = await store.policies.listRevisions(id, { limit: 1, after: null })
  return viewPolicy(items[0] as StoredPolicy)
}

function withETag(policy: Policy) {
  return { headers: { ETag: `"${policy.revision}"` }, body: policy }
}

/**
 * Returns the revisions that `If-Match` names; null for any (`*` or no header). A weak tag never matches (RFC 9110,
 * 13.1.1).
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

/** @throws DomainError validation_failed */
function assertNamed({ name }: PolicyDocument, expected: string): void {
  if (name !== expected) throw invalid([{ pointer: '/name', detail: 'must be the name in the path' }])
}

/** @throws DomainError validation_failed */
function mustBeNew(ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch !== undefined && ifNoneMatch.trim() !== '*')
    throw invalid([{ pointer: '/If-None-Match', detail: 'must be *: only create, never replace' }])
  return ifNoneMatch !== undefined
}
