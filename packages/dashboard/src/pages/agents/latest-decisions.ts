import { useQuery } from '@tanstack/react-query'
import { listDecisions } from '../../api/decisions'
import { useMay } from '../../session'

const READ = 50

export function useLatestDecisions(agentId: string) {
  return useQuery({
    queryKey: ['decisions', 'of-agent', agentId],
    queryFn: async ({ signal }) => (await listDecisions({ agent_id: agentId, limit: READ }, signal)).data,
    enabled: useMay()('decisions:read'),
  })
}
