import type { ActionOutcome, EnforcementOptions, EnforcementPoint, GuardRequest } from '@countersign/client'
import { ENFORCEMENT_OPTIONS } from '@countersign/client/kernel'
import type { Request, Response } from 'express'
import { appName } from './app-name.js'
import type { FromRequest } from './from-request.js'
import { fromTemplate } from './name-template.js'
import { checkFromRequest, checkKnown, checkOne, isFunctionOrNone } from './option-checks.js'

type Context = GuardRequest['context']

/** How a guard asks: with a client and options of its enforcement point, or with an existing point. */
type Asking =
  | (Omit<EnforcementOptions, 'unmapped'> & {
      /** A route must name its action; a call whose function returns none is refused. */
      readonly unmapped?: 'deny' | undefined
      readonly client: { enforcement(options?: EnforcementOptions): EnforcementPoint }
      readonly point?: undefined
    })
  | ({ readonly [Option in keyof EnforcementOptions]?: undefined } & {
      readonly point: EnforcementPoint
      readonly client?: undefined
    })

/** The question that a route asks, and how it is settled. */
export interface RouteOptions<Req = Request> {
  /** Default: the agent that the verified access token in `req.auth` names. Without an agent the answer is 401. */
  readonly agent_id?: FromRequest<string | null | undefined, Req> | undefined
  readonly action: FromRequest<string, Req>
  /** Default: none. */
  readonly resource?: FromRequest<string | null | undefined, Req> | undefined
  /** Default: none. Plain JSON. */
  readonly context?: FromRequest<Context, Req> | undefined
  /**
   * Names the call, so that a repeated one gets the same decision and runs nothing twice. Default: the header
   * `Idempotency-Key`. It applies only to this route and this agent. False: every call is new. Each call is its own
   * holder: an action that had begun when the process died does not run again for its key, but may for a new one.
   */
  readonly idempotencyKey?: false | ((req: Req) => string | null | undefined) | undefined
  /**
   * The service in which the key is valid, the same in all of its replicas: when a gateway forwards a caller's key, it
   * is another key in the service after it. Default: the `name` in the package.json of the running program.
   */
  readonly scope?: string | undefined
  /** Freezes `body`, `query` and `params` as they were in the question. Default true. */
  readonly freeze?: boolean | undefined
  /**
   * `outcome` (default): the end of the response settles the decision. `manual`: only the handler settles it, with
   * `req.permit`; an unsettled decision counts as spent once it expires.
   */
  readonly settle?: 'outcome' | 'manual' | undefined
  /**
   * Returns the outcome that a response of the handler shows. Undefined uses the default, the status: below 400 the
   * action succeeded, otherwise it failed; with 408, 502 or 504, or after an error with an unknown outcome, the outcome
   * is unknown. If the function throws, or returns a promise or an invalid outcome, the decision stays unsettled, and
   * `onEvent` gets `settlement_failed`.
   */
  readonly outcome?: ((req: Req, res: Response) => ActionOutcome | undefined) | undefined
  /** How long a handler may continue after its caller has disconnected, in milliseconds. Default 30,000. */
  readonly graceMs?: number | undefined
}

export type RouteGuardOptions<Req = Request> = RouteOptions<Req> & Asking

/** Options with which nothing runs unless it is permitted. */
export type EnforcingGuardOptions<Req = Request> = RouteGuardOptions<Req> & {
  readonly mode?: 'enforce' | undefined
  readonly point?: undefined
}

/** The options with defaults filled in. */
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
  } = checkKnown('guard', options, KNOWN_OPTIONS)
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
      `${String(stranger)} cannot be combined with point: pass it to client.enforcement() when you create the point`,
    )
  return point as EnforcementPoint
}
