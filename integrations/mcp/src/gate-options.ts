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

/** The option `review` of a gate, and the one of the enforcement point that it stands for. */
const REVIEWS = { pending: 'throw', wait: 'wait', elicit: 'pause' } as const

type Review = keyof typeof REVIEWS

export interface GateOptions extends ToolGuardOptions<GatedCall, Review> {
  /**
   * The agent. Default: `clientId` of the authenticated caller, or the client's own `agentId` if the transport authenticates nobody.
   * If a function returns anything but a string, the call is denied.
   */
  readonly agentId?: AgentId | undefined
  /**
   * How a call that needs a review is answered. `pending` (default): refused at once, with the id of the decision; the same call runs
   * after the approval. `wait`: held open until the review is answered. `elicit`: the gate asks the user at the client, and the
   * `reviewer` passes the answer to the decision point; a client that cannot ask its user gets the `pending` refusal.
   */
  readonly review?: Review | undefined
  /**
   * For `review: 'elicit'`: a Countersign client whose API key has the scope `reviews:write`. It may be neither the asking key nor one
   * made by the same key. The author of the MCP client controls the answers: do not use this where the agent is the client.
   */
  readonly reviewer?: CountersignClient | undefined
  /**
   * Signs the `requestState` that clients send back when a tool or a review asks them for input (protocol 2026-07-28): a secret of at
   * least 32 bytes, the same in all processes that serve the same clients. Default: random, so only the same process can continue.
   */
  readonly stateKey?: Uint8Array | string | undefined
  /** The action, resource and context of each tool's calls, by tool name. */
  readonly map?: Readonly<Record<string, ToolMapping>> | undefined
  /**
   * Returns a key for a call, for example from `_meta`. Calls with the same key and the same arguments share one decision and run once.
   * The key counts within one agent and one tool. A call for which the function throws is denied. If the process died during a run, the
   * call does not run again under its key. Default: every call is new.
   */
  readonly idempotencyKey?: IdempotencyKey | undefined
  /** How a call is refused: with a `result` that the model reads (default), or with a JSON-RPC `error`, which most hosts hide from it. */
  readonly denyAs?: 'result' | 'error' | undefined
  /**
   * What `tools/list` shows: `all` tools (default), or with `hide` neither unmapped tools nor tools that the policies deny to the agent
   * in every case. Hiding enforces nothing: the gate asks about every call.
   */
  readonly list?: 'all' | 'hide' | undefined
  /**
   * Pinned definitions by tool name: `sha256-` and 64 hexadecimal digits, as `definitionHash` returns and `countersign-mcp init` writes.
   * A pinned tool is denied and hidden if the server shows it differently, twice or not at all.
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

/** The client's call stays open during that time: few clients wait longer. */
const ELICIT_MS = 300_000

/** By kind of gate. If two kinds gate the same call, they are two gates that share one decision. */
const gates = new WeakMap<GateOptions, Map<string, ToolGate>>()

/**
 * The same options object gives the same gate of a kind, so servers that are created for each request share its state.
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
