import { createHash } from 'node:crypto'
import { atOnce, textOfData } from '@countersign/client/kernel'
import type { GatedCall } from './gated-call.js'
import type { CallOfState } from './request-state.js'

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
  if (typeof given !== 'string' || given === '') throw new TypeError('idempotencyKey has to return a non-empty string')
  return JSON.stringify([agent_id ?? null, call.name, given])
}

/** Names a tool with the very same arguments, all of them: what a person has approved is for those alone. */
export function variantOf({ call, args }: CallOfState): string {
  return createHash('sha256')
    .update(`${JSON.stringify(call.name)} ${textOfData(args)}`)
    .digest('hex')
}
