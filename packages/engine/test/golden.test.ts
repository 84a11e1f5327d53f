import { readFileSync } from 'node:fs'
import type { JsonObject, Shadow } from '@countersign/contract'
import { compilePolicies, type EnginePolicy, type EngineRequest, evaluate } from '@countersign/engine'
import { describe, expect, it } from 'vitest'

interface GoldenCase {
  readonly id: string
  readonly case: {
    readonly now: string
    readonly agents: Readonly<Record<string, { suspended: boolean; metadata: JsonObject }>>
    readonly policies: EnginePolicy[]
    readonly request: EngineRequest
  }
  readonly expect: {
    readonly effect: string
    readonly policy_id: string
    readonly rule: number | null
    readonly reason_code: string
    readonly shadow: Shadow[]
  }
}

const cases = readFileSync(new URL('../cases/evaluate.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as GoldenCase)

describe('golden cases agreed on by independent models of the contract', () => {
  it.each(cases)('$id', ({ case: given, expect: expected }) => {
    const { effect, policy_id, rule, reason_code, shadow } = evaluate(
      compilePolicies(given.policies),
      {
        agent_id: given.request.agent_id,
        action: given.request.action,
        resource: given.request.resource ?? null,
        context: given.request.context ?? null,
      },
      factsOf(given),
    )
    expect({ effect, policy_id, rule, reason_code, shadow }).toEqual(expected)
  })
})

function factsOf(given: GoldenCase['case']) {
  const agent = Object.hasOwn(given.agents, given.request.agent_id) ? given.agents[given.request.agent_id] : undefined
  return { now: new Date(given.now), suspended: agent?.suspended ?? false, metadata: agent?.metadata ?? null }
}
