import type { EnforcementPoint } from '@countersign/client'
import {
  assertOptions,
  mappingIn,
  TOOL_GUARD_OPTIONS,
  type ToolGuard,
  type ToolGuardOptions,
  toolGuard,
} from '@countersign/client/kernel'
import type { IdempotencyKey } from './call-key.js'
import type { AgentId, GatedCall, ToolMapping } from './gated-call.js'

/** What becomes of a review, by what it is for the enforcement point. */
const REVIEWS = { pending: 'throw', wait: 'wait' } as const

type Review = keyof typeof REVIEWS

export interface GateOptions extends ToolGuardOptions<GatedCall, Review> {
  /**
   * Who acts. Default: `clientId` of the authenticated caller, and where nobody is authenticated the client's own `agentId`. A
   * function that gives no string is a deny.
   */
  readonly agentId?: AgentId | undefined
  /**
   * What awaits a review: answered at once as `pending` (default), with the id of the decision, and taken up by the same call
   * once a person has approved it; or `wait` until then.
   */
  readonly review?: Review | undefined
  /** What a call of each tool is about, by the name of the tool. */
  readonly map?: Readonly<Record<string, ToolMapping>> | undefined
  /**
   * Names a call, such as by a member of `_meta`, so that the same call again gets the same decision and runs nothing twice. It
   * counts for its agent and its tool alone; the same key with other arguments is a deny, and so is a function that throws. What
   * had begun when the process died does not run again for its key. Default: every call is a new one.
   */
  readonly idempotencyKey?: IdempotencyKey | undefined
  /** How a refusal is told: as a `result` that a model reads (default), or as an `error` of the protocol, which most hosts hide. */
  readonly denyAs?: 'result' | 'error' | undefined
}

/** What every gate is made of. */
export interface ToolGate extends ToolGuard<GatedCall, Review> {
  /** The point as calls are mapped by it: a tool without an action is `mcp.<tool>`, if it is one at all. */
  readonly naming: Pick<EnforcementPoint, 'mode' | 'actionOf'>
  readonly mappingOf: (tool: string) => ToolMapping | undefined
  readonly idempotencyKey: IdempotencyKey | undefined
  readonly denyAs: 'result' | 'error'
}

const GATE_OPTIONS = [...TOOL_GUARD_OPTIONS, 'map', 'idempotencyKey', 'denyAs']

const gates = new WeakMap<GateOptions, ToolGate>()

/**
 * The same options are the same gate: what a server makes anew for each request shares what is known.
 *
 * @throws TypeError naming the faulty option
 */
export function toolGate(name: string, options: GateOptions): ToolGate {
  assertOptions(name, options, GATE_OPTIONS)
  const known = gates.get(options)
  if (known !== undefined) return known
  const { map, idempotencyKey, denyAs = 'result', ...rest } = options
  if (denyAs !== 'result' && denyAs !== 'error') throw new TypeError("denyAs has to be 'result' or 'error'")
  if (idempotencyKey !== undefined && typeof idempotencyKey !== 'function')
    throw new TypeError('idempotencyKey has to be a function')
  const guard = toolGuard(rest, REVIEWS)
  const { point } = guard
  const naming = {
    mode: point.mode,
    actionOf: (tool: string, mapped?: string) => point.actionOf(tool, mapped, 'mcp'),
  }
  const gate = { ...guard, naming, mappingOf: mappingIn(map), idempotencyKey, denyAs }
  gates.set(options, gate)
  return gate
}
