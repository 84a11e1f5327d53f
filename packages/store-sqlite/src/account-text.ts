import type { AccountKey } from '@countersign/contract'

/** Names an account by one text, as the key of a map. */
export function accountText({ policy_id, unit, period, agent_id, starts_at }: AccountKey): string {
  return JSON.stringify([policy_id, unit, period, agent_id, starts_at])
}
