import type { Page, Policy } from '@countersign/contract'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { get } from '../../api/client'
import { useMay } from '../../session'
import { useLatestDecisions } from './latest-decisions'

/** Of one page. Whoever has more policies adds the actions that are missing. */
const POLICIES_READ = 200

/** Actions that an agent has asked for, or that policies name. Null while they are read. */
export function useKnownActions(agentId: string): readonly string[] | null {
  const decisions = useLatestDecisions(agentId)
  const policies = useQuery({
    queryKey: ['policies', 'for-actions'],
    queryFn: () => get<Page<Policy>>('/policies', { query: { limit: POLICIES_READ } }),
    enabled: useMay()('policies:read'),
  })
  return useMemo(() => {
    if (decisions.isLoading || policies.isLoading) return null
    const asked = (decisions.data ?? []).map(({ action }) => action)
    return [...new Set([...asked, ...literalActionsOf(policies.data?.data ?? [])])].sort()
  }, [decisions.isLoading, decisions.data, policies.isLoading, policies.data])
}

/** The actions that rules name without a `*`. */
function literalActionsOf(policies: readonly Pick<Policy, 'rules'>[]): string[] {
  return policies.flatMap(({ rules }) => rules.map(({ action }) => action)).filter((action) => !action.includes('*'))
}
