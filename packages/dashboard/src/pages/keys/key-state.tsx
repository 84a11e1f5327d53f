import type { ApiKey } from '@countersign/contract'
import { Badge } from '../../components/badges'
import { useNow } from '../../components/time'

const SOON_MS = 7 * 86_400_000

const TONES = { live: 'allow', 'expires soon': 'review', expired: 'deny', revoked: 'quiet' } as const
export type KeyState = keyof typeof TONES

export function stateOf(
  { expires_at, revoked_at }: Pick<ApiKey, 'expires_at' | 'revoked_at'>,
  nowMs: number,
): KeyState {
  if (revoked_at !== null) return 'revoked'
  const leftMs = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - nowMs
  return leftMs <= 0 ? 'expired' : leftMs <= SOON_MS ? 'expires soon' : 'live'
}

export function KeyStateBadge({ apiKey }: { readonly apiKey: ApiKey }) {
  const state = stateOf(apiKey, useNow())
  return <Badge tone={TONES[state]}>{state}</Badge>
}
