import type { Page, Policy, PolicyRevision, PolicyValidation, SimulateResponse } from '@countersign/contract'
import { call, get } from './client'
import { everyPage } from './every-page'
import { once } from './once'

const LIMIT = 200

const pathOf = (id: string) => `/policies/${encodeURIComponent(id)}`

/** Every policy: there are few enough to show, sort and search them at once. */
export function listPolicies(signal?: AbortSignal): Promise<Policy[]> {
  return all('/policies', signal)
}

export const getPolicy = (id: string): Promise<Policy> => get(pathOf(id))

/** Every revision, newest first, also of a policy that was deleted. */
export function listRevisions(id: string, signal?: AbortSignal): Promise<PolicyRevision[]> {
  return all(`${pathOf(id)}/revisions`, signal)
}

/**
 * The text is sent as it was written: what is no strict JSON, the server says.
 *
 * @param key of all tries with this text, as `once` takes it
 */
export const createPolicy = (text: string, key: string): Promise<Policy> =>
  call('POST', '/policies', { json: text, ...once(key) })

/** @param revision the one that is replaced; any other is `revision_mismatch` */
export const replacePolicy = (id: string, text: string, revision: number): Promise<Policy> =>
  call('PUT', pathOf(id), { json: text, ifMatch: revision })

export const deletePolicy = (id: string, revision: number): Promise<void> =>
  call('DELETE', pathOf(id), { ifMatch: revision })

export const checkPolicy = (text: string, signal?: AbortSignal): Promise<PolicyValidation> =>
  call('POST', '/policies/validate', { json: text, ...(signal && { signal }) })

/**
 * What a request would be answered. Nothing is stored.
 *
 * @param request as JSON
 * @param policies each as JSON; null for the stored ones
 */
export function simulate(request: string, policies: readonly string[] | null = null): Promise<SimulateResponse> {
  const instead = policies === null ? '' : `, "policies": [${policies.join(', ')}]`
  return call('POST', '/simulate', { json: `{"request": ${request}${instead}}` })
}

async function all<Item>(path: string, signal?: AbortSignal): Promise<Item[]> {
  const read = (cursor: string | undefined) =>
    get<Page<Item>>(path, { query: { limit: LIMIT, cursor }, ...(signal && { signal }) })
  return [...(await everyPage(read, Number.POSITIVE_INFINITY)).items]
}
