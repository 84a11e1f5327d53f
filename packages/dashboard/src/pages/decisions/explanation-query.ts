import { queryOptions } from '@tanstack/react-query'
import { explainDecision } from '../../api/decisions'
import { EXPLANATION } from '../../api/query-client'

/** An explanation describes the time of the decision, so it never changes. Events that refresh the decision do not refresh it. */
export const explanationQuery = (id: string) =>
  queryOptions({
    queryKey: [EXPLANATION, id],
    queryFn: () => explainDecision(id),
    staleTime: Number.POSITIVE_INFINITY,
  })
