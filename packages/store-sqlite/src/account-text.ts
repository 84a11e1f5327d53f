import type { AccountKey } from '@countersign/contract'

/** One text an account, to find it by in memory. */
export function accountText({ policy_id, unit, period, agent_id, starts_at }: AccountKey): string {
  return JSON.stringify([policy_id, unit, period, agent_id, starts_at])
}
