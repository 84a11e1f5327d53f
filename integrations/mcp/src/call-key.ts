import { atOnce } from '@countersign/client/kernel'
import type { GatedCall } from './gated-call.js'

/** How the developer names a call, so that a repeated one gets the same decision. */
export type IdempotencyKey = (call: GatedCall) => string | null | undefined

/**
 * The key of a call for the decision point: it counts for this agent and this tool alone. Undefined for a call without a name.
 *
 * @throws TypeError for what is no string, and for an empty one
 */
export function callKey(
  name: IdempotencyKey | undefined,
  call: GatedCall,
  agent_id: string | undefined,
): string | undefined {
  const given = atOnce('an idempotencyKey', name?.(call))
  if (given === undefined || given === null) return undefined
  if (typeof given !== 'string' || given === '') throw new TypeError('idempotencyKey has to give a string, not empty')
  return JSON.stringify([agent_id ?? null, call.name, given])
}
