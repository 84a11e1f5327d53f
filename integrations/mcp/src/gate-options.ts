import type { CountersignClient, EnforcementPoint } from '@countersign/client'
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
import { assertStateKey, RequestStates } from './request-state.js'
import { OpenTasks } from './tasks.js'
import { pinnedTools } from './tool-definitions.js'

/** What becomes of a review, by what it is for the enforcement point. */
const REVIEWS = { pending: 'throw', wait: 'wait', elicit: 'pause' } as const

type Review = keyof typeof REVIEWS

export interface GateOptions extends ToolGuardOptions<GatedCall, Review> {
  /**
   * Who acts. Default: `clientId` of the authenticated caller, and where nobody is authenticated the client's own `agentId`. A
   * function that gives no string is a deny.
   */
  readonly agentId?: AgentId | undefined
  /**
   * What awaits a review: answered at once as `pending` (default), with the id of the decision, and taken up by the same call
   * once a person has approved it; `wait` until then; or `elicit`: the user at the client is asked, and the `reviewer` answers at
   * the decision point as that user says. A client that cannot ask its user gets what is `pending`.
   */
  readonly review?: Review | undefined
  /**
   * With `review: 'elicit'`: a client of Countersign whose API key has the scope `reviews:write`. It is not the key that asks, nor made
   * by the same key. Whoever writes the client writes the answers of its user: give it to no agent that reviews are to hold.
   */
  readonly reviewer?: CountersignClient | undefined
  /**
   * Signs what clients bring back where a tool or a review asks them first (protocol 2026-07-28): a secret of at least 32 bytes, the
   * same in all processes that serve the same clients. Default: random, so that only the process that asked goes on.
   */
  readonly stateKey?: Uint8Array | string | undefined
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
   * tools that nobody mapped. It enforces nothing: every call is asked about.
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
  /** Undefined unless users at clients answer reviews. */
  readonly reviewer: CountersignClient | undefined
  /** How long a user at a client is waited for, in milliseconds. */
  readonly reviewTimeoutMs: number
  readonly states: RequestStates
  /** Of messages: a server that was written has the store of its own tools watched. */
  readonly tasks: OpenTasks
  /** Null where all tools are shown. */
  readonly hidden: HiddenTools<GatedCall> | null
  /** Hashes of definitions, by the name of the tool. */
  readonly pinned: ReadonlyMap<string, string>
}

const GATE_OPTIONS = [
  ...TOOL_GUARD_OPTIONS,
  'reviewer',
  'stateKey',
  'map',
  'idempotencyKey',
  'denyAs',
  'list',
  'definitions',
]

/** The call of the client is open as long: few wait for longer. */
const ELICIT_MS = 300_000

/** By the kind of gate: one of another kind is another place where a call is asked about, and shares the decision. */
const gates = new WeakMap<GateOptions, Map<string, ToolGate>>()

/**
 * The same options are the same gate of a kind: what a server makes anew for each request shares what is known.
 *
 * @throws TypeError naming the faulty option
 */
export function toolGate(name: string, options: GateOptions): ToolGate {
  assertOptions(name, options, GATE_OPTIONS)
  const kinds = gates.get(options) ?? new Map<string, ToolGate>()
  const known = kinds.get(name)
  if (known !== undefined) return known
  const { map, idempotencyKey, denyAs = 'result', list = 'all', definitions, ...more } = options
  const { reviewer, stateKey, ...rest } = more
  if (denyAs !== 'result' && denyAs !== 'error') throw new TypeError("denyAs has to be 'result' or 'error'")
  if (list !== 'all' && list !== 'hide') throw new TypeError("list has to be 'all' or 'hide'")
  if (idempotencyKey !== undefined && typeof idempotencyKey !== 'function')
    throw new TypeError('idempotencyKey has to be a function')
  if (stateKey !== undefined) assertStateKey(stateKey)
  assertReviewer(rest.review, reviewer)
  const pinned = pinnedTools(definitions)
  const guard = toolGuard(rest, REVIEWS)
  const { point } = guard
  const naming = {
    mode: point.mode,
    actionOf: (tool: string, mapped?: string) => point.actionOf(tool, mapped, 'mcp'),
  }
  const mappingOf = mappingIn(map)
  const hidden = list === 'hide' ? new HiddenTools({ ...guard, point: naming }, mappingOf) : null
  const { reviewTimeoutMs = ELICIT_MS } = rest
  const asks = { reviewer, reviewTimeoutMs, states: new RequestStates(stateKey), tasks: new OpenTasks() }
  const gate = { ...guard, ...asks, naming, mappingOf, idempotencyKey, denyAs, hidden, pinned }
  gates.set(options, kinds.set(name, gate))
  return gate
}

/** @throws TypeError */
function assertReviewer(review: unknown, reviewer: unknown): void {
  const isReviewer = typeof Object(Object(reviewer).decisions).approve === 'function'
  if (review === 'elicit' && !isReviewer)
    throw new TypeError(
      "review: 'elicit' needs a reviewer: a Countersign client whose API key has the scope reviews:write",
    )
  if (review !== 'elicit' && reviewer !== undefined) throw new TypeError("reviewer needs review: 'elicit'")
}
