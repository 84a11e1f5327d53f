import type { Page, Policy, PolicyRevision, PolicyValidation, SimulateResponse } from '@countersign/contract'
import { call } from './client'
import { everyPage } from './every-page'
import { once } from './once'

const LIMIT = 200

/** Reads every policy. There are few enough to show, sort and search them at once. */
export function listPolicies(signal?: AbortSignal): Promise<Policy[]> {
  return all((query) => call('policies.list', { query, signal }))
}

export const getPolicy = (id: string): Promise<Policy> => call('policies.get', { params: { id } })

/** Reads every revision, newest first, even of a deleted policy. */
export function listRevisions(id: string, signal?: AbortSignal): Promise<PolicyRevision[]> {
  return all((query) => call('policies.revisions', { params: { id }, query, signal }))
}

/**
 * Sends the text unchanged: the server reports what is not strict JSON.
 *
 * @param key the same for every attempt with this text: see `once`
 */
export const createPolicy = (text: string, key: string): Promise<Policy> =>
  call('policies.create', { json: text, ...once(key) })

/** @param revision the one to replace; the server refuses any other with `revision_mismatch` */
export const replacePolicy = (id: string, text: string, revision: number): Promise<Policy> =>
  call('policies.replace', { params: { id }, json: text, ifMatch: revision })

export const deletePolicy = (id: string, revision: number): Promise<void> =>
  call('policies.delete', { params: { id }, ifMatch: revision })

export const checkPolicy = (text: string, signal?: AbortSignal): Promise<PolicyValidation> =>
  call('policies.validate', { json: text, signal })

/**
 * Decides a request without storing anything.
 *
 * @param request as JSON
 * @param policies each as JSON; null for the stored policies
 */
export function simulate(request: string, policies: readonly string[] | null = null): Promise<SimulateResponse> {
  const instead = policies === null ? '' : `, "policies": [${policies.join(', ')}]`
  return call('policies.simulate', { json: `{"request": ${request}${instead}}` })
}

type PageQuery = { readonly limit: number; readonly cursor: string | undefined }

async function all<Item>(read: (query: PageQuery) => Promise<Page<Item>>): Promise<Item[]> {
  const { items } = await everyPage((cursor) => read({ limit: LIMIT, cursor }), Number.POSITIVE_INFINITY)
  return [...items]
}
