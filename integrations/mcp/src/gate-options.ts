import type { CountersignClient } from '@countersign/client'
import { HiddenTools, type ToolGuard, type ToolGuardOptions, toolGuard } from '@countersign/client/kernel'
import type { AgentId, GatedCall, ToolMapping } from './calls/call.js'
import type { IdempotencyKey } from './calls/call-key.js'
import { assertStateKey, RequestStates } from './calls/request-state.js'
import { type PinnedTools, pinnedTools } from './lists/tool-definitions.js'
import { type MethodOptions, MethodRules } from './rules/method-rules.js'
import { PermittedTasks } from './tasks/permitted-tasks.js'
import { OpenTasks } from './tasks/tasks.js'

/** The option `review` of a gate, with the option of the enforcement point that it sets. */
const REVIEWS = { pending: 'throw', wait: 'wait', elicit: 'pause' } as const

type Review = keyof typeof REVIEWS

export interface GateOptions extends ToolGuardOptions<GatedCall, Review>, MethodOptions {
  /**
   * The agent. Default: `clientId` of the authenticated caller, or the client's own `agentId` if the transport does not authenticate
   * callers. If a function returns anything but a string, the call is denied.
   */
  readonly agentId?: AgentId | undefined
  /**
   * How a call that needs a review is answered. `pending` (default): refused at once, with the id of the decision; the same call runs
   * after the approval. `wait`: held open until the review is answered. `elicit`: the gate asks the user at the client, and the
   * `reviewer` passes the answer to the decision point; a client that cannot ask its user gets the `pending` refusal.
   */
  readonly review?: Review | undefined
  /**
   * For `review: 'elicit'`: a Countersign client whose API key has the scope `reviews:write`. It may be neither the asking key nor
   * one made by the same key. The author of the MCP client controls the answers: do not use this where the agent is the client.
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
   * Returns a key for a call, for example from `_meta`. Calls with the same key and the same arguments share one decision and run
   * once. The key counts within one agent and one tool. A call for which the function throws is denied. If the process died during a
   * run, the call does not run again under its key. Default: every call is new.
   */
  readonly idempotencyKey?: IdempotencyKey | undefined
  /**
   * How a call is refused: with a `result` that the model reads (default), or with a JSON-RPC `error`, which most hosts hide from it.
   */
  readonly denyAs?: 'result' | 'error' | undefined
  /**
   * What lists of tools, resources, resource templates and prompts show: `all` (default), or with `hide` neither what is not mapped
   * nor what the policies deny to the agent in every case. Hiding enforces nothing: the gate asks about every call.
   */
  readonly list?: 'all' | 'hide' | undefined
  /**
   * Pinned definitions by tool name: `sha256-` and 64 hexadecimal digits, as `definitionHash` returns and `countersign-mcp init`
   * writes. A pinned tool is denied and hidden if the server shows it differently, twice or not at all.
   */
  readonly definitions?: Readonly<Record<string, string>> | undefined
}

/** The parts of every gate. */
export interface ToolGate extends ToolGuard<GatedCall, Review>, PinnedTools {
  readonly idempotencyKey: IdempotencyKey | undefined
  readonly denyAs: 'result' | 'error'
  /** Undefined unless users of clients answer reviews. */
  readonly reviewer: CountersignClient | undefined
  /** How long the gate waits for the user of a client, in milliseconds. */
  readonly reviewTimeoutMs: number
  readonly states: RequestStates
  /** Tasks of calls on connections. `gate(server)` watches the task store of each tool instead. */
  readonly tasks: OpenTasks
  /** The rules for all methods except `tools/call`. */
  readonly rules: MethodRules
  readonly permittedTasks: PermittedTasks
  /** Null if all tools are shown. */
  readonly hidden: HiddenTools<GatedCall> | null
  /** The same for other lists, by the action of each entry. */
  readonly hiddenActions: HiddenTools<GatedCall> | null
}

const GATE_OPTIONS = [
  'reviewer',
  'stateKey',
  'idempotencyKey',
  'denyAs',
  'list',
  'definitions',
  'resources',
  'prompts',
  'methods',
  'others',
  'pass',
]

/** The client's call stays open for that time. Few clients wait longer. */
const ELICIT_MS = 300_000

/** By kind of gate. Two kinds that gate the same call share one decision. */
const gates = new WeakMap<GateOptions, Map<string, ToolGate>>()

/**
 * The same options object and kind return the same gate, so servers that are created for each request share its state.
 *
 * @throws TypeError that names the faulty option
 */
export function toolGate(name: string, options: GateOptions): ToolGate {
  const kinds = gates.get(options) ?? new Map<string, ToolGate>()
  const known = kinds.get(name)
  if (known !== undefined) return known
  const guard = toolGuard(name, options, REVIEWS, GATE_OPTIONS)
  const { idempotencyKey, denyAs = 'result', list = 'all', definitions, reviewer, stateKey } = options
  const { resources, prompts, methods, others, pass } = options
  const rules = new MethodRules({ resources, prompts, methods, others, pass })
  if (denyAs !== 'result' && denyAs !== 'error') throw new TypeError("denyAs must be 'result' or 'error'")
  if (list !== 'all' && list !== 'hide') throw new TypeError("list must be 'all' or 'hide'")
  if (idempotencyKey !== undefined && typeof idempotencyKey !== 'function')
    throw new TypeError('idempotencyKey must be a function')
  if (stateKey !== undefined) assertStateKey(stateKey)
  assertReviewer(options.review, reviewer)
  const pinned = pinnedTools(definitions)
  const actionOf = (tool: string, mapped?: string): string => guard.point.actionOf(tool, mapped, 'mcp')
  const hidden = list === 'hide' ? new HiddenTools({ ...guard, actionOf }) : null
  const asItself = { mappingOf: () => undefined, actionOf: (action: string) => action }
  const hiddenActions = hidden && new HiddenTools<GatedCall>({ ...guard, ...asItself })
  const { reviewTimeoutMs = ELICIT_MS } = options
  const settings = { actionOf, idempotencyKey, denyAs, reviewer, reviewTimeoutMs, rules, pinned }
  const state = { states: new RequestStates(stateKey), tasks: new OpenTasks(), permittedTasks: new PermittedTasks() }
  const gate = { ...guard, ...settings, ...state, hidden, hiddenActions }
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
