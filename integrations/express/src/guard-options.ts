import type { ActionOutcome, EnforcementOptions, EnforcementPoint, GuardRequest } from '@countersign/client'
import { ENFORCEMENT_OPTIONS, ownMembers } from '@countersign/client/kernel'
import type { Request, Response } from 'express'
import { appName } from './app-name.js'
import type { FromRequest } from './from-request.js'
import { fromTemplate } from './name-template.js'
import { checkFromRequest, checkKnown, checkOne, isFunctionOrNone } from './option-checks.js'

type Context = GuardRequest['context']

/** Where a guard asks: the client, and how its enforcement point behaves; or a point that was made before. */
type Asking =
  | (Omit<EnforcementOptions, 'unmapped'> & {
      /** A route names its action; one whose function gives none is refused. */
      readonly unmapped?: 'deny' | undefined
      readonly client: { enforcement(options?: EnforcementOptions): EnforcementPoint }
      readonly point?: undefined
    })
  | ({ readonly [Option in keyof EnforcementOptions]?: undefined } & {
      readonly point: EnforcementPoint
      readonly client?: undefined
    })

/** What a route does, and how it is settled. */
export interface RouteOptions<Req = Request> {
  /** Default: who the verified access token in `req.auth` names. Without an agent the answer is 401. */
  readonly agent_id?: FromRequest<string | null | undefined, Req> | undefined
  readonly action: FromRequest<string, Req>
  /** Default: none. */
  readonly resource?: FromRequest<string | null | undefined, Req> | undefined
  /** Default: none. Plain JSON. */
  readonly context?: FromRequest<Context, Req> | undefined
  /**
   * Names the call, so that a repeated one gets the same decision and runs nothing twice. Default: the header
   * `Idempotency-Key`. It counts for this route and this agent alone. False: every call is a new one. Each call is a holder of
   * its own: what had begun when the process died does not run again for its key, and may for a new one.
   */
  readonly idempotencyKey?: false | ((req: Req) => string | null | undefined) | undefined
  /**
   * The service that the key counts in, the same in all of its replicas: a caller's key that a gateway forwards is another one
   * in the service behind it. Default: the `name` in the package.json of the running program.
   */
  readonly scope?: string | undefined
  /** Holds `body`, `query` and `params` as they were asked about. Default true. */
  readonly freeze?: boolean | undefined
  /**
   * `outcome` (default): by how the response ends. `manual`: by the handler alone, with `req.permit`; a decision that it
   * never settles counts as spent once it expires.
   */
  readonly settle?: 'outcome' | 'manual' | undefined
  /**
   * What a response that the handler has ended says about the action; undefined for the default, which is by its status:
   * below 400 it succeeded, else it failed. Nobody knows with 408, 502 or 504, or when what the handler threw says so. What it throws, a
   * promise, and what is no outcome leave the decision, and `onEvent` is told `settlement_failed`.
   */
  readonly outcome?: ((req: Req, res: Response) => ActionOutcome | undefined) | undefined
  /** How long a handler may go on after its caller has left, in milliseconds. Default 30,000. */
  readonly graceMs?: number | undefined
}

export type RouteGuardOptions<Req = Request> = RouteOptions<Req> & Asking

/** Those by which nothing runs unless it is permitted. */
export type EnforcingGuardOptions<Req = Request> = RouteGuardOptions<Req> & {
  readonly mode?: 'enforce' | undefined
  readonly point?: undefined
}

/** The options, whole. */
export interface GuardSettings extends RouteOptions {
  readonly point: EnforcementPoint
  readonly scope: string
  readonly freeze: boolean
  readonly settle: 'outcome' | 'manual'
  readonly graceMs: number
}

const KNOWN_OPTIONS: readonly string[] = [
  'client',
  'point',
  'agent_id',
  'action',
  'resource',
  'context',
  'idempotencyKey',
  'scope',
  'freeze',
  'settle',
  'outcome',
  'graceMs',
  ...ENFORCEMENT_OPTIONS,
]
const DEFAULT_GRACE_MS = 30_000
const MAX_TIMER_MS = 2 ** 31 - 1

/** @throws TypeError naming the faulty option */
export function readGuardOptions(options: RouteGuardOptions): GuardSettings {
  checkKnown('guard', options, KNOWN_OPTIONS)
  const {
    client,
    point,
    agent_id,
    action,
    resource,
    context,
    idempotencyKey,
    scope,
    freeze,
    settle,
    outcome,
    graceMs,
    unmapped,
    ...rest
  } = ownMembers(options)
  checkFromRequest('action', action, ['string'])
  checkFromRequest('agent_id', agent_id, ['string', 'undefined'])
  checkFromRequest('resource', resource, ['string', 'undefined'])
  checkFromRequest('context', context, ['object', 'undefined'])
  checkOne('idempotencyKey', idempotencyKey === false || isFunctionOrNone(idempotencyKey), 'false or a function')
  checkOne('scope', scope === undefined || (typeof scope === 'string' && scope !== ''), 'a text, not empty')
  checkOne('freeze', freeze === undefined || typeof freeze === 'boolean', 'true or false')
  checkOne('settle', settle === undefined || settle === 'outcome' || settle === 'manual', "'outcome' or 'manual'")
  checkOne('outcome', isFunctionOrNone(outcome), 'a function')
  checkOne('outcome', outcome === undefined || settle !== 'manual', "left out with settle: 'manual'")
  checkOne('graceMs', graceMs === undefined || (graceMs > 0 && graceMs <= MAX_TIMER_MS), 'milliseconds above 0')
  checkOne('unmapped', unmapped === undefined || unmapped === 'deny', "'deny': a route names its action")
  return {
    point: pointOf(client, point, rest),
    agent_id: fromTemplate('agent_id', agent_id),
    action: fromTemplate('action', action),
    resource: fromTemplate('resource', resource),
    context,
    idempotencyKey,
    scope: scope ?? appName(),
    freeze: freeze ?? true,
    settle: settle ?? 'outcome',
    outcome,
    graceMs: graceMs ?? DEFAULT_GRACE_MS,
  }
}

function pointOf(
  client: RouteGuardOptions['client'],
  point: RouteGuardOptions['point'],
  rest: EnforcementOptions,
): EnforcementPoint {
  checkOne('client', (client === undefined) !== (point === undefined), 'given, or point in its place')
  if (client !== undefined) return client.enforcement(rest)
  const [stranger] = Reflect.ownKeys(rest)
  if (stranger !== undefined)
    throw new TypeError(
      `${String(stranger)} is no option beside point: give it where the point is made, to enforcement`,
    )
  return point as EnforcementPoint
}
