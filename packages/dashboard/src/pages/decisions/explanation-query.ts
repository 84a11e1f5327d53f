import { queryOptions } from '@tanstack/react-query'
import { explainDecision } from '../../api/decisions'
import { EXPLANATION } from '../../api/query-client'

/** It tells of the moment of the decision, so it never changes: events that refresh the decision leave it alone. */
export const explanationQuery = (id: string) =>
  queryOptions({
    queryKey: [EXPLANATION, id],
    queryFn: () => explainDecision(id),
    staleTime: Number.POSITIVE_INFINITY,
  })
