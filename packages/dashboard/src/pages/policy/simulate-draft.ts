import type { SimulateResponse } from '@countersign/contract'
import type { QueryClient } from '@tanstack/react-query'
import { listPolicies, simulate } from '../../api/policies'
import { type RequestDraft, requestText } from '../../components/simulation/request-form'
import { setMember } from './edit-text'

/** The id of a policy that is not stored yet. It sorts after every other id, as a new policy does. */
export const NEW_ID = 'pol_draft'

export interface AskedDraft {
  /** The text of the draft. */
  readonly text: string
  /** The id of the stored policy that the draft replaces; null for a new one. */
  readonly policyId: string | null
  readonly request: RequestDraft
}

/** Decides the request as if the draft were saved now. Nothing is stored. @throws ApiError */
export async function simulateDraft(
  client: QueryClient,
  { text, policyId, request }: AskedDraft,
): Promise<SimulateResponse> {
  const queryFn = ({ signal }: { readonly signal: AbortSignal }) => listPolicies(signal)
  const stored = await client.fetchQuery({ queryKey: ['policies'], queryFn, staleTime: 0 })
  const draftId = policyId ?? NEW_ID
  const others = stored.filter(({ id }) => id !== draftId).map((policy) => JSON.stringify(policy))
  return simulate(requestText(request), [...others, setMember(text, [], 'id', draftId)])
}
