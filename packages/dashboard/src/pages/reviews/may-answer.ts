import type { DecisionDetail, Session } from '@countersign/contract'

type Key = Pick<Session['key'], 'id' | 'scopes'>

/** Whether an approval could be evaluated: what was asked is needed for that. */
export const isApprovable = ({ request_erased_at }: Pick<DecisionDetail, 'request_erased_at'>): boolean =>
  request_erased_at === undefined

/** Why this key cannot answer a review, as far as the page knows. Null when it may try. */
export function whyNotAnswer({ id, scopes }: Key, { key_id }: Pick<DecisionDetail, 'key_id'>): string | null {
  if (scopes.includes('*')) return null
  if (!scopes.includes('reviews:write')) return 'Your key lacks the scope reviews:write.'
  return key_id === id ? 'Your own key asked this: somebody else has to answer.' : null
}
