import type { Policy } from '@countersign/contract'
import { useQuery } from '@tanstack/react-query'
import { useMay } from '../session'
import { call } from './client'
import { listPolicies } from './policies'

const STALE_MS = 30_000

/** Returns the policies by id. Null while they load, and for a key that cannot read them. */
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

/** Returns the last name of a deleted policy. @throws ApiError */
export async function lastNameOf(policyId: string): Promise<string | null> {
  const { data } = await call('policies.revisions', { params: { id: policyId }, query: { limit: 1 } })
  return data[0]?.name ?? null
}
