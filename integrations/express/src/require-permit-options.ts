import type { JsonObject } from '@countersign/client'
import { eventReporter } from '@countersign/client/kernel'
import {
  type any,
  createPermitVerifier,
  createSeenPermits,
  type KeySetInput,
  type PermitClaims,
  type PermitVerifier,
  type SeenPermits,
} from '@countersign/permit'
import type { Request } from 'express'
import type { FromRequest } from './from-request.js'
import { fromTemplate } from './name-template.js'
import { checkFromRequest, checkKnown, checkOne, isFunctionOrNone } from './option-checks.js'
import { type PermitEvent, warnOfPermitFaults } from './permit-event.js'
import { schemeOf } from './shown-token.js'
import { type Redeemer, type UseUp, useUpByRedeeming, useUpInMemory } from './single-use.js'

export type PermitEffect = 'allow' | 'review' | 'log'

/** The permits that a service accepts, and what a permit must be for. */
export interface RequirePermitOptions<Req = Request> {
  /** The decision point's `ISSUER`, exactly. */
  readonly issuer: string
  /** The decision point's `PERMIT_AUDIENCE`, exactly. */
  readonly audience: string
  /** The public keys: the URL of the key set, which is read when needed and cached, a function that reads it, or the set. */
  readonly jwks: KeySetInput
  /** The action of the route; the constant `any` of `@countersign/permit` accepts the permit's action. */
  readonly action: FromRequest<string, Req> | typeof any
  /** The resource of the action; null demands a permit without a resource. */
  readonly resource: FromRequest<string | null, Req> | typeof any
  /** When omitted: any agent. */
  readonly agent_id?: FromRequest<string, Req>
  /** The exact facts that the permit was requested for: they are compared by the request hash. When omitted: any. */
  readonly context?: FromRequest<JsonObject | null, Req>
  /** The request hash itself, instead of `context`. */
  readonly requestHash?: (req: Req, claims: PermitClaims) => string
  /** Default `['allow', 'review']`: a permit of a policy that only records does not let the route run. */
  readonly effects?: readonly PermitEffect[] | undefined
  /**
   * How a permit is used up before the handler runs: `memory` (default) of this process, which all routes share; your
   * own memory; redeemed at the decision point, which covers all machines and later changes; or not at all.
   */
  readonly singleUse?: 'memory' | SeenPermits | { readonly redeem: Redeemer } | false | undefined
  /** How many permits this route remembers, in a memory for this route only. */
  readonly maxSeen?: number | undefined
  /**
   * The header that contains the permit. Default `authorization`, as a Bearer token; any other header contains the
   * permit alone.
   */
  readonly header?: string | undefined
  /** Freezes `body`, `query` and `params` as they were compared. Default true. */
  readonly freeze?: boolean | undefined
  /**
   * Called for every accepted permit and every refusal; errors that it throws are ignored. Without it, faults that only
   * the operator can fix become process warnings, once per process and kind.
   */
  readonly onEvent?: ((event: PermitEvent) => unknown) | undefined
  /** The clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: (() => number) | undefined
}

/** The options with defaults filled in. */
export interface PermitSettings extends Pick<RequirePermitOptions, 'action' | 'resource'> {
  readonly agent_id: RequirePermitOptions['agent_id']
  readonly context: RequirePermitOptions['context']
  readonly requestHash: RequirePermitOptions['requestHash']
  readonly verifier: PermitVerifier
  readonly effects: ReadonlySet<string>
  /** Null when a permit may be shown again. */
  readonly useUp: UseUp | null
  readonly header: string
  readonly freeze: boolean
  /** Never throws. */
  readonly report: (event: PermitEvent) => void
}

const KNOWN_OPTIONS = [
  'issuer',
  'audience',
  'jwks',
  'action',
  'resource',
  'agent_id',
  'context',
  'requestHash',
  'effects',
  'singleUse',
  'maxSeen',
  'header',
  'freeze',
  'onEvent',
  'now',
] as const satisfies readonly (keyof RequirePermitOptions)[]
const EFFECTS: readonly PermitEffect[] = ['allow', 'review', 'log']
/** Options that are not compared when they are omitted. */
const COMPARED = ['agent_id', 'context', 'requestHash'] as const
const HEADER_NAME = /^[a-z0-9-]+$/

/** One for the process: a permit that one route has used is used for all others. */
const seenHere = createSeenPermits()

/** @throws TypeError naming the faulty option */
export function readPermitOptions(options: RequirePermitOptions): PermitSettings {
  const given = checkKnown('requirePermit', options, KNOWN_OPTIONS)
  for (const name of COMPARED) {
    // An explicit undefined, such as from an unset variable, was not meant to accept any value.
    if (name in given && given[name] === undefined)
      throw new TypeError(`${name} is undefined: leave it out to take any`)
  }
  const {
    issuer,
    audience,
    jwks,
    action,
    resource,
    agent_id,
    context,
    requestHash,
    now,
    effects = ['allow', 'review'],
    singleUse,
    maxSeen,
    header = 'authorization',
    freeze = true,
    onEvent,
  } = given
  checkFromRequest('action', action, ['string', 'symbol'])
  checkOne(
    'resource',
    resource === null || isFromRequest(resource, ['string', 'symbol']),
    'a string, null or a function',
  )
  checkFromRequest('agent_id', agent_id, ['string', 'undefined'])
  checkFromRequest('context', context, ['object', 'undefined'])
  checkFromRequest('requestHash', requestHash, ['undefined'])
  checkOne('context', context === undefined || requestHash === undefined, 'given, or requestHash in its place')
  checkOne('jwks', jwks !== undefined, 'the URL of the key set, a function or the key set')
  checkOne(
    'effects',
    Array.isArray(effects) && effects.every((one) => EFFECTS.includes(one)),
    `of ${EFFECTS.join(', ')}`,
  )
  checkOne('header', typeof header === 'string' && HEADER_NAME.test(header.toLowerCase()), 'the name of a header')
  checkOne('freeze', typeof freeze === 'boolean', 'true or false')
  checkOne('onEvent', isFunctionOrNone(onEvent), 'a function')
  const name = header.toLowerCase()
  // Used up only after everything else was compared.
  const verifier = createPermitVerifier({ issuer, audience, jwks, seen: false, ...(now && { now }) })
  return {
    action: fromTemplate('action', action),
    resource: fromTemplate('resource', resource),
    agent_id: fromTemplate('agent_id', agent_id),
    context,
    requestHash,
    verifier,
    effects: new Set(effects),
    useUp: useUpBy(singleUse, { maxSeen, now }, schemeOf(name)),
    header: name,
    freeze,
    report: eventReporter(onEvent ?? warnOfPermitFaults()),
  }
}

function useUpBy(
  given: RequirePermitOptions['singleUse'],
  { maxSeen, now }: Pick<RequirePermitOptions, 'maxSeen' | 'now'>,
  scheme: string,
): UseUp | null {
  const isOwnMemory = maxSeen !== undefined || now !== undefined
  checkOne('maxSeen', maxSeen === undefined || (Number.isInteger(maxSeen) && maxSeen > 0), 'a whole number above 0')
  if (given === undefined || given === 'memory') {
    const options = { ...(maxSeen !== undefined && { max: maxSeen }), ...(now && { now }) }
    return useUpInMemory(isOwnMemory ? createSeenPermits(options) : seenHere)
  }
  checkOne('maxSeen', maxSeen === undefined, "left out, unless singleUse is 'memory'")
  if (given === false) return null
  if (typeof given === 'object' && given !== null && 'redeem' in given) {
    checkOne('singleUse.redeem', typeof given.redeem?.permits?.redeem === 'function', 'a client')
    return useUpByRedeeming(given.redeem, scheme)
  }
  checkOne('singleUse', typeof given?.add === 'function', "'memory', a memory, { redeem: client } or false")
  return useUpInMemory(given)
}

function isFromRequest(given: unknown, types: readonly string[]): boolean {
  return typeof given === 'function' || types.includes(typeof given)
}
