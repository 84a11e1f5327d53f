/** Builds the starter mapping and policy of `init` from a server's tools. */
import { actionOfTool } from '@countersign/client/kernel'
import { actionOfMethod } from '../../rules/method-rules.js'
import type { ProxyConfig } from '../config.js'
import type { OtherOffers } from './server-tools.js'
import { NO_NAMES, type ShownTools } from './shown-tools.js'

/** The body of `POST /v1/policies`. */
interface StarterPolicy {
  readonly name: string
  readonly description: string
  readonly agents: readonly [string]
  readonly rules: readonly { readonly action: string; readonly effect: 'allow' | 'review'; readonly reason: string }[]
}

export interface Starter {
  readonly config: ProxyConfig
  /** Null if there is no tool to decide on: a policy needs at least one rule. */
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

/**
 * @param others what the server has besides tools. It is mapped, but no rule allows it: the server does not say what reading it does
 */
export function starterOf({ sound }: ShownTools, others: OtherOffers, agent: string): Starter {
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
    // Unmapped tools cannot run, so their descriptions do not need to reach a model.
    config: { agent_id: agent, list: 'hide', tools: Object.fromEntries(tools), ...otherMappings(others) },
    policy: rules.length === 0 ? null : policyOf(agent, rules),
    ...{ allowed, reviewed, unmapped },
  }
}

function otherMappings({ resources, resourceTemplates, prompts, completes }: OtherOffers): Partial<ProxyConfig> {
  const uris = [...namesIn(resources, 'uri'), ...namesIn(resourceTemplates, 'uriTemplate')]
  const patterns = new Set(uris.flatMap(patternOf))
  const mapped = (names: Iterable<string>, method: string) =>
    Object.fromEntries([...names].map((name) => [name, { action: actionOfMethod(method) }]))
  const named = new Set(namesIn(prompts, 'name'))
  return {
    ...(patterns.size > 0 && { resources: mapped(patterns, 'resources/read') }),
    ...(named.size > 0 && { prompts: mapped(named, 'prompts/get') }),
    ...(completes && { methods: mapped(['completion/complete'], 'completion/complete') }),
  }
}

/** The pattern of all URIs of the same scheme. None for a URI that can never be asked about. */
function patternOf(uri: string): string[] {
  const [beginning] = /^[a-z][a-z0-9+.-]*:(\/\/)?/.exec(uri) ?? []
  return beginning === undefined ? [] : [`${beginning}*`]
}

function namesIn(entries: readonly unknown[], member: string): string[] {
  return entries
    .map((entry) => Object(entry ?? {})[member])
    .filter((name) => typeof name === 'string' && !NO_NAMES.has(name))
}

function policyOf(agent: string, rules: StarterPolicy['rules']): StarterPolicy {
  return {
    name: `MCP tools of ${agent}`.slice(0, MAX_NAME),
    description: 'Written by countersign-mcp init from what the server says about its tools.',
    agents: [agent],
    rules,
  }
}

/** The action of an unmapped tool, so that patterns match it before and after it is mapped. */
function actionOf(name: string): string {
  return actionOfTool(name, 'mcp')
}

/** Uses only hints that the server gives. The protocol's defaults are not the server's statements. */
function effectOf(tool: unknown): 'allow' | 'review' | undefined {
  const { annotations } = tool as { annotations?: unknown }
  const { readOnlyHint, destructiveHint } = Object(annotations ?? {})
  if (destructiveHint === true) return 'review'
  return readOnlyHint === true ? 'allow' : undefined
}
