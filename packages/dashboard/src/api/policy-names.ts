import type { Page, Policy } from '@countersign/contract'
import { useQuery } from '@tanstack/react-query'
import { useMay } from '../session'
import { get } from './client'
import { listPolicies } from './policies'

const STALE_MS = 30_000

/** The policies by id. Null while they are read, and for a key that may not. */
export function usePoliciesById(): ReadonlyMap<string, Policy> | null {
  const mayRead = useMay()('policies:read')
  const { data } = useQuery({
    queryKey: ['policies'],
    queryFn: ({ signal }) => listPolicies(signal),
    select: byId,
    enabled: mayRead,
    staleTime: STALE_MS,
  })
  return data ?? null
}

function byId(policies: readonly Policy[]): ReadonlyMap<string, Policy> {
  return new Map(policies.map((policy) => [policy.id, policy]))
}

/** The name that a deleted policy had last. @throws ApiError */
export async function lastNameOf(policyId: string): Promise<string | null> {
  const path = `/policies/${encodeURIComponent(policyId)}/revisions`
  const { data } = await get<Page<Policy>>(path, { query: { limit: 1 } })
  return data[0]?.name ?? null
}
