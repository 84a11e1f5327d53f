import {
  compilePolicies,
  type EnginePolicy,
  type EngineRequest,
  evaluate,
  type Facts,
  type PolicySet,
  withPolicy,
} from '@countersign/engine'
import { chance, type Random, shuffled } from './random.js'
import { randomFacts, randomPolicies, randomRequest } from './random-case.js'

/** Policies and a request that meets them. */
export interface Pair {
  readonly policies: readonly EnginePolicy[]
  readonly request: EngineRequest
  readonly facts: Facts
}

const REQUESTS_PER_SET = 4

/** Pairs of which each few share their policies, as requests to one server do. */
export function* randomPairs(random: Random, count: number): Generator<Pair> {
  let policies: EnginePolicy[] = []
  for (let made = 0; made < count; made += 1) {
    if (made % REQUESTS_PER_SET === 0) policies = randomPolicies(random)
    yield { policies, request: randomRequest(random), facts: randomFacts(random) }
  }
}

/** The policies as a server may come to hold them: loaded at once, or written one after the other in some order. */
export function loadSomehow(random: Random, policies: readonly EnginePolicy[]): PolicySet {
  if (chance(random, 50)) return compilePolicies(shuffled(random, policies))
  return shuffled(random, policies).reduce(withPolicy, compilePolicies([]))
}

/** What the compiled and the naive evaluator have to agree on. */
export function answerOf(set: PolicySet, { request, facts }: Pair, maxSteps?: number) {
  const { effect, policy_id, rule, reason_code, shadow } = evaluate(set, request, facts, maxSteps)
  return { effect, policy_id, rule, reason_code, shadow }
}
