import { queryOptions } from '@tanstack/react-query'
import { explainDecision } from '../../api/decisions'

/** It tells of the moment of the decision, so it never changes: events that refresh the decision leave it alone. */
export const explanationQuery = (id: string) =>
  queryOptions({
    queryKey: ['explanation', id],
    queryFn: () => explainDecision(id),
    staleTime: Number.POSITIVE_INFINITY,
  })
