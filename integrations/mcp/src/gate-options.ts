import type { EnforcementPoint } from '@countersign/client'
import {
  assertOptions,
  HiddenTools,
  mappingIn,
  TOOL_GUARD_OPTIONS,
  type ToolGuard,
  type ToolGuardOptions,
  toolGuard,
} from '@countersign/client/kernel'
import type { IdempotencyKey } from './call-key.js'
import type { AgentId, GatedCall, ToolMapping } from './gated-call.js'
import { pinnedTools } from './tool-definitions.js'

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
  /**
   * What `tools/list` shows: `all` (default), or with `hide` no tools whose action is denied to the agent whatever it is about, nor
   * tools that nobody mapped. The key needs the scope `policies:read` for it. It enforces nothing: every call is asked about.
   */
  readonly list?: 'all' | 'hide' | undefined
  /**
   * Tools as they were when they were mapped, by name: `sha256-` and 64 hexadecimal digits, as `definitionHash` gives and
   * `countersign-mcp init` writes. A tool that is shown otherwise, twice or not at all is denied, and not shown.
   */
  readonly definitions?: Readonly<Record<string, string>> | undefined
}

/** What every gate is made of. */
export interface ToolGate extends ToolGuard<GatedCall, Review> {
  /** The point as calls are mapped by it: a tool without an action is `mcp.<tool>`, if it is one at all. */
  readonly naming: Pick<EnforcementPoint, 'mode' | 'actionOf'>
  readonly mappingOf: (tool: string) => ToolMapping | undefined
  readonly idempotencyKey: IdempotencyKey | undefined
  readonly denyAs: 'result' | 'error'
  /** Null where all tools are shown. */
  readonly hidden: HiddenTools<GatedCall> | null
  /** Hashes of definitions, by the name of the tool. */
  readonly pinned: ReadonlyMap<string, string>
}

const GATE_OPTIONS = [...TOOL_GUARD_OPTIONS, 'map', 'idempotencyKey', 'denyAs', 'list', 'definitions']

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
  const { map, idempotencyKey, denyAs = 'result', list = 'all', definitions, ...rest } = options
  if (denyAs !== 'result' && denyAs !== 'error') throw new TypeError("denyAs has to be 'result' or 'error'")
  if (list !== 'all' && list !== 'hide') throw new TypeError("list has to be 'all' or 'hide'")
  if (idempotencyKey !== undefined && typeof idempotencyKey !== 'function')
    throw new TypeError('idempotencyKey has to be a function')
  const pinned = pinnedTools(definitions)
  const guard = toolGuard(rest, REVIEWS)
  const { point } = guard
  const naming = {
    mode: point.mode,
    actionOf: (tool: string, mapped?: string) => point.actionOf(tool, mapped, 'mcp'),
  }
  const mappingOf = mappingIn(map)
  const hidden = list === 'hide' ? new HiddenTools({ ...guard, point: naming }, mappingOf) : null
  const gate = { ...guard, naming, mappingOf, idempotencyKey, denyAs, hidden, pinned }
  gates.set(options, gate)
  return gate
}
