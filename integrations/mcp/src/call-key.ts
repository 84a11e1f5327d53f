import { createHash } from 'node:crypto'
import { atOnce, textOfData } from '@countersign/client/kernel'
import type { GatedCall } from './gated-call.js'
import type { CallOfState } from './request-state.js'

/** Returns a key for a call. Calls with the same key and the same arguments get the same decision. */
export type IdempotencyKey = (call: GatedCall) => string | null | undefined

/**
 * The idempotency key of a call, limited to this agent, this tool and these arguments: what is approved for one call never runs
 * another. Undefined for a call without a key.
 *
 * @throws TypeError for a value that is not a string, and for an empty one
 */
export function callKey(
  name: IdempotencyKey | undefined,
  of: CallOfState,
  agent_id: string | undefined,
): string | undefined {
  const given = atOnce('idempotencyKey', name?.(of.call))
  if (given === undefined || given === null) return undefined
  if (typeof given !== 'string' || given === '') throw new TypeError('idempotencyKey has to return a non-empty string')
  return JSON.stringify([agent_id ?? null, given, variantOf(of)])
}

/** Identifies a tool with all of its arguments: an approval is for exactly these. */
export function variantOf({ call, args }: CallOfState): string {
  return createHash('sha256')
    .update(`${JSON.stringify(call.name)} ${textOfData(args)}`)
    .digest('hex')
}
