import type { Policy } from '@countersign/contract'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { call } from '../../api/client'
import { useMay } from '../../session'
import { useLatestDecisions } from './latest-decisions'

/** One page. With more policies than this, the user can add missing actions by hand. */
const POLICIES_READ = 200

/** Returns the actions that an agent has requested or that policies name. Null while they load. */
export function useKnownActions(agentId: string): readonly string[] | null {
  const decisions = useLatestDecisions(agentId)
  const policies = useQuery({
    queryKey: ['policies', 'for-actions'],
    queryFn: () => call('policies.list', { query: { limit: POLICIES_READ } }),
    enabled: useMay()('policies:read'),
  })
  return useMemo(() => {
    if (decisions.isLoading || policies.isLoading) return null
    const asked = (decisions.data ?? []).map(({ action }) => action)
    return [...new Set([...asked, ...literalActionsOf(policies.data?.data ?? [])])].sort()
  }, [decisions.isLoading, decisions.data, policies.isLoading, policies.data])
}

/** Returns the actions that rules name without a `*`. */
function literalActionsOf(policies: readonly Pick<Policy, 'rules'>[]): string[] {
  return policies.flatMap(({ rules }) => rules.map(({ action }) => action)).filter((action) => !action.includes('*'))
}
