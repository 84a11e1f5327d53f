/** A permit runs one action: it is used up before the action runs, in the memory of this process or at the decision point. */
import {
  ApiError,
  type CountersignClient,
  type Decision,
  isPermitted,
  type ShownDecision,
  UnavailableError,
} from '@countersign/client'
import { type PermitClaims, PermitError, type SeenPermits } from '@countersign/permit'
import { challenge, isOurFault, retryAfter } from './denial-of.js'
import { RouteDeniedError } from './route-denied-error.js'

/** Redeems permits; a client does. */
export interface Redeemer {
  readonly permits: Pick<CountersignClient['permits'], 'redeem'>
}

/** Resolves when this very call has used up the permit; with its decision if it was redeemed. */
export type UseUp = (claims: PermitClaims, token: string) => Promise<ShownDecision | null>

const NOT_TAKEN = 'The decision point does not accept this permit. Ask for a new decision, and show its permit.'
/** How long a caller waits for a remote memory. */
const MEMORY_TIMEOUT_MS = 5_000

/** @throws PermitError `already_seen`, `replay_check_failed` */
export function useUpInMemory(seen: SeenPermits): UseUp {
  return async ({ jti, exp }) => {
    let isFirst: boolean
    try {
      isFirst = await inTime(seen.add(jti, exp))
    } catch (cause) {
      throw new PermitError('replay_check_failed', 'It is not known whether the permit was seen before.', { cause })
    }
    if (isFirst !== true) throw new PermitError('already_seen', 'The permit was seen before.')
    return null
  }
}

/** @throws Error when a memory does not answer in time */
async function inTime(seen: boolean | Promise<boolean>): Promise<boolean> {
  if (typeof seen === 'boolean') return seen
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const error = new Error(`The memory of permits did not answer within ${MEMORY_TIMEOUT_MS} ms.`)
    timer = setTimeout(() => reject(error), MEMORY_TIMEOUT_MS)
  })
  return Promise.race([seen, late]).finally(() => clearTimeout(timer))
}

/** Redeems at the decision point. Accepts only a decision about the agent, action and resource of the permit. */
export function useUpByRedeeming(redeemer: Redeemer, scheme: string): UseUp {
  return async (claims, token) => {
    let decision: Decision
    try {
      decision = await redeemer.permits.redeem(token)
    } catch (error) {
      throw refusalOf(error, claims, scheme)
    }
    const { sub: agent_id, action, resource, jti } = claims
    const { permit_token: _usedUp, ...shown } = decision
    if (decision.id === jti && isPermitted(decision, { agent_id, action, resource })) return shown
    throw new RouteDeniedError({ code: 'unavailable', status: 503, headers: retryAfter(null), decision_id: jti })
  }
}

function refusalOf(error: unknown, { jti }: PermitClaims, scheme: string): unknown {
  const fields = { decision_id: jti, cause: error }
  const away = { ...fields, code: 'unavailable', status: 503 } as const
  if (UnavailableError.isInstance(error)) return new RouteDeniedError({ ...away, headers: retryAfter(null) })
  if (!ApiError.isInstance(error)) return error
  switch (error.code) {
    case 'permit_already_used':
      return refusedPermit({ ...fields, code: 'permit_already_used' }, scheme)
    case 'invalid_transition':
      return refusedPermit({ ...fields, code: 'settled' }, scheme)
    case 'permit_invalid':
      return refusedPermit({ ...fields, code: 'refused', detail: NOT_TAKEN }, scheme)
    case 'agent_suspended':
      return new RouteDeniedError({ ...fields, code: 'agent_suspended', status: 403 })
    default:
      // Any other error is about this service and its key, not about the permit: some are temporary, a faulty key is
      // not.
      if (isOurFault(error)) return new RouteDeniedError({ ...fields, code: 'refused', status: 503 })
      return new RouteDeniedError({ ...away, headers: retryAfter(error.retryAfterSeconds) })
  }
}

type Refusal = Omit<ConstructorParameters<typeof RouteDeniedError>[0], 'status' | 'headers'>

function refusedPermit(fields: Refusal, scheme: string): RouteDeniedError {
  return new RouteDeniedError({ ...fields, status: 401, headers: challenge(scheme, 'invalid_token', fields.code) })
}
