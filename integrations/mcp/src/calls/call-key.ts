import { atOnce, variantOf } from '@countersign/client/kernel'
import { TOOL_CALL } from '../rules/methods.js'
import type { GatedCall } from './call.js'

/** A call with its arguments. Idempotency keys, states and approvals count for exactly one of these. */
export interface CallWithArgs {
  readonly call: GatedCall
  readonly args: unknown
}

/** Returns a key for a call. Calls with the same key and the same arguments get the same decision. */
export type IdempotencyKey = (call: GatedCall) => string | null | undefined

/**
 * The idempotency key of a call. It includes the agent, the tool and the arguments, so an approval of one call never runs another.
 * Undefined for a call without a key.
 *
 * @throws TypeError for a key that is empty or not a string
 */
export function callKey(
  name: IdempotencyKey | undefined,
  of: CallWithArgs,
  agent_id: string | undefined,
): string | undefined {
  const given = atOnce('idempotencyKey', name?.(of.call))
  if (given === undefined || given === null) return undefined
  if (typeof given !== 'string' || given === '') throw new TypeError('idempotencyKey has to return a non-empty string')
  return JSON.stringify([agent_id ?? null, given, variantOfCall(of)])
}

/** Identifies a call together with all its arguments. */
export function variantOfCall({ call, args }: CallWithArgs): string {
  return variantOf(calledName(call), args)
}

/** Distinguishes what can be called. The name alone identifies a tool. */
function calledName({ method, name, ref }: GatedCall): string | readonly string[] {
  return method === TOOL_CALL ? name : [method, name, ref ?? '']
}
