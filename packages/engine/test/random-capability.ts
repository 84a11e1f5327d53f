import type { CapableAgent, EnginePolicy } from '@countersign/engine'
import { chance, type Random } from './random.js'
import { type BudgetPair, randomBalance, randomOpenPolicies, randomPayment } from './random-budget.js'
import { randomFacts, randomPolicies, randomRequest } from './random-case.js'

/** What an agent can get for an action, and requests that show some of it. */
interface CapabilityQuestion {
  readonly policies: readonly EnginePolicy[]
  readonly agent: CapableAgent
  readonly action: string
  /** Requests of the agent for the action. */
  readonly pairs: readonly BudgetPair[]
}

export function* randomQuestions(random: Random, count: number, pairsOfEach: number): Generator<CapabilityQuestion> {
  for (let made = 0; made < count; made += 1) {
    const policies = chance(random, 70) ? randomPolicies(random) : randomOpenPolicies(random)
    const { agent_id, action } = chance(random, 70) ? randomRequest(random) : randomPayment(random)
    const { suspended, metadata } = randomFacts(random)
    const pairs = Array.from({ length: pairsOfEach }, (): BudgetPair => {
      const { resource, context } = chance(random, 70) ? randomRequest(random) : randomPayment(random)
      return {
        policies,
        request: { agent_id, action, resource, context },
        facts: { ...randomFacts(random), suspended, metadata },
        phase: 'decision',
        balances: policies.map(() => randomBalance(random)),
      }
    })
    yield { policies, agent: { agent_id, suspended, metadata }, action, pairs }
  }
}
