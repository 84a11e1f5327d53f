import type { DecisionDetail, Session } from '@countersign/contract'

type Key = Pick<Session['key'], 'id' | 'scopes'>

/** Whether a review can be approved: the approval evaluates the request, so it must not be erased. */
export const isApprovable = ({ request_erased_at }: Pick<DecisionDetail, 'request_erased_at'>): boolean =>
  request_erased_at === undefined

/** Says why this key cannot answer a review, as far as the page knows. Null when it may try. */
export function whyNotAnswer({ id, scopes }: Key, { key_id }: Pick<DecisionDetail, 'key_id'>): string | null {
  if (scopes.includes('*')) return null
  if (!scopes.includes('reviews:write')) return 'Your key is missing the scope reviews:write.'
  return key_id === id ? 'Your own key made this request, so someone else must review it.' : null
}
