import { useQuery } from '@tanstack/react-query'
import { listDecisions } from '../api/decisions'
import { useMay } from '../session'

const COUNTED = 100

/** Returns the number of pending reviews as text; null for none, undefined while unknown. */
export function useWaitingReviews(): string | null | undefined {
  const mayRead = useMay()('decisions:read')
  const { data } = useQuery({
    queryKey: ['reviews', 'count'],
    queryFn: ({ signal }) => listDecisions({ status: 'awaiting_review', limit: COUNTED }, signal),
    enabled: mayRead,
    refetchInterval: 60_000,
  })
  if (data === undefined) return undefined
  if (data.data.length === 0) return null
  return data.next_cursor === null ? String(data.data.length) : `${COUNTED}+`
}
