/** Builds the starter mapping and policy of `init` from a server's tools. */
import { actionOfTool } from '@countersign/client/kernel'
import type { ProxyConfig } from './config.js'
import type { ShownTools } from './shown-tools.js'

/** The body of `POST /v1/policies`. */
interface StarterPolicy {
  readonly name: string
  readonly description: string
  readonly agents: readonly [string]
  readonly rules: readonly { readonly action: string; readonly effect: 'allow' | 'review'; readonly reason: string }[]
}

export interface Starter {
  readonly config: ProxyConfig
  /** Null where there is nothing to decide: a policy has at least one rule. */
  readonly policy: StarterPolicy | null
  readonly allowed: readonly string[]
  readonly reviewed: readonly string[]
  /** Tools that say neither that they only read nor that they destroy. */
  readonly unmapped: readonly string[]
}

/** The contract's limit of the name of a policy. */
const MAX_NAME = 128

const REASONS = {
  allow: 'The server calls this tool read-only.',
  review: 'The server calls this tool destructive.',
} as const

export function starterOf({ sound }: ShownTools, agent: string): Starter {
  const effects = new Map([...sound].map(([name, { tool }]) => [name, effectOf(tool)]))
  const withEffect = (effect: 'allow' | 'review' | undefined): string[] =>
    [...effects].filter(([, one]) => one === effect).map(([name]) => name)
  const [allowed, reviewed, unmapped] = [withEffect('allow'), withEffect('review'), withEffect(undefined)]
  const rulesOf = (names: readonly string[], effect: 'allow' | 'review') =>
    names.map((name) => ({ action: actionOf(name), effect, reason: REASONS[effect] }))
  const rules = [...rulesOf(reviewed, 'review'), ...rulesOf(allowed, 'allow')]
  const tools = [...sound].flatMap(([name, { hash }]) => {
    if (effects.get(name) === undefined) return []
    return [[name, { action: actionOf(name), resource: null, context: 'arguments' as const, definition: hash }]]
  })
  return {
    // What nobody has mapped may not run: then its words need not reach a model either.
    config: { agent_id: agent, list: 'hide', tools: Object.fromEntries(tools) },
    policy: rules.length === 0 ? null : policyOf(agent, rules),
    ...{ allowed, reviewed, unmapped },
  }
}

function policyOf(agent: string, rules: StarterPolicy['rules']): StarterPolicy {
  return {
    name: `MCP tools of ${agent}`.slice(0, MAX_NAME),
    description: 'Written by countersign-mcp init from what the server says about its tools.',
    agents: [agent],
    rules,
  }
}

/** As a tool is called that nobody has mapped, so that patterns hold for both. */
function actionOf(name: string): string {
  return actionOfTool(name, 'mcp')
}

/** By hints alone that are given: what the protocol takes for granted without them is nobody's word. */
function effectOf(tool: unknown): 'allow' | 'review' | undefined {
  const { annotations } = tool as { annotations?: unknown }
  const { readOnlyHint, destructiveHint } = Object(annotations ?? {})
  if (destructiveHint === true) return 'review'
  return readOnlyHint === true ? 'allow' : undefined
}
