import { readFileSync } from 'node:fs'
import type { Effect, PolicyDocument } from '@countersign/contract'
import type { CapableAgent, compilePolicies, EnginePolicy } from '@countersign/engine'

type Engine = typeof import('@countersign/engine')

/** What an agent can get for an action, as data. */
interface CapabilityCase {
  readonly id: string
  /** What a newcomer learns from it. */
  readonly description: string
  readonly case: {
    readonly policies: readonly Omit<PolicyDocument, 'name'>[]
    /** A registered agent; absent for one that is not. */
    readonly agent?: Pick<CapableAgent, 'suspended' | 'metadata'>
    readonly steps?: number
  }
  /** Just what can occur. */
  readonly expect: readonly Effect[]
}

const ACTION = 'payment.refund'
const MANY_STEPS = 200_000

export function readCapabilityCases(): CapabilityCase[] {
  const lines = readFileSync(new URL('../cases/capabilities.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line) as CapabilityCase)
}

export function policiesOf({ case: { policies } }: CapabilityCase): EnginePolicy[] {
  return policies.map((policy, at) => ({ id: `pol_${at}`, revision: 1, name: `policy ${at}`, ...policy }))
}

export function capabilitiesOfCase(engine: Engine, given: CapabilityCase): readonly Effect[] {
  const { agent = { suspended: false, metadata: null }, steps = MANY_STEPS } = given.case
  const set = engine.compilePolicies(policiesOf(given))
  return possibleEffects(engine, set, { agent_id: 'agent:support-7', ...agent }, ACTION, steps)
}

/** The effects that an engine, perhaps a mutant, names for one action; another one is asked about before. */
export function possibleEffects(
  { capabilitiesInParts }: Engine,
  set: ReturnType<typeof compilePolicies>,
  agent: CapableAgent,
  action: string,
  steps = MANY_STEPS,
): readonly Effect[] {
  const parts = capabilitiesInParts(set, agent, ['email.send', action], steps)
  for (let part = parts.next(); ; part = parts.next()) {
    if (part.done === true) return part.value[1]?.effects ?? []
  }
}
