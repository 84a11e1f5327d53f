import { BUDGET_PERIODS, type Budget, type JsonObject } from '@countersign/contract'
import type { Balance, EnginePolicy, EngineRequest, Facts } from '@countersign/engine'
import { chance, listOf, pick, type Random } from './random.js'
import type { Pair } from './random-pair.js'

/** A pair with what budgets need. */
export interface BudgetPair extends Pair {
  readonly phase: 'decision' | 'approval'
  /** Of the first, second, … budget that is asked. */
  readonly balances: readonly Balance[]
}

const LIMITS = [0, 1, 10, 100, 100.5, 1000, 1e12]
const AMOUNTS = [0, -0, 1, 2, 9, 10, 90, 99.5, 100, 100.5, 1000, 4e-7, 2.0000005, 1.0000015, 0.1 + 0.2, 1e12]
const ODD_AMOUNTS = [-1, -1e-9, 1e12 + 1, 1e308, '10', null, true, [10], { amount: 10 }]
/** In units of 1e-6. */
const USED = [0, 0, 0, 1, 500_000, 1_000_000, 8_000_000, 10_000_000, 90_000_000, 99_500_000, 1e15]
const UNITS = ['EUR', 'EUR', 'EUR', 'eur', 'USD', 'kWh']
const CURRENCIES = ['EUR', 'EUR', 'eur', 'eUR', 'usd', 'kwh']
const ODD_CURRENCIES = ['\u212awh', 'EURO', 'EUR ', '', null, 978, ['EUR'], false]
const MOMENTS = [
  '2026-11-21T10:59:59.999Z',
  '2026-11-22T23:59:59.999Z',
  '2026-11-23T00:00:00.000Z',
  '2026-12-31T23:59:59.999Z',
  '2027-01-01T00:00:00.000Z',
  '2028-02-29T12:00:00.000Z',
]
const ACTIONS = ['payment.create', 'payment.refund', 'email.send']
const AMOUNT_PATHS = ['context.amount', 'context.order.total', 'context.items.length']

export function randomBudget(random: Random): Budget {
  return {
    limit: pick(random, LIMITS),
    unit: pick(random, UNITS),
    period: pick(random, BUDGET_PERIODS),
    ...(chance(random, 25) && { actions: listOf(random, 1, 2, () => pick(random, [...ACTIONS, 'payment.*', '*'])) }),
    ...(chance(random, 40) && {
      amount: chance(random, 60) ? pick(random, [0.5, 1, 99.5]) : pick(random, AMOUNT_PATHS),
    }),
    ...(chance(random, 25) && { currency: pick(random, ['context.currency', 'context.order.currency']) }),
    ...(chance(random, 40) && { scope: pick(random, ['agent', 'agent', 'policy']) }),
    ...(chance(random, 60) && { on_exceed: pick(random, ['review', 'review', 'deny']) }),
  }
}

/** Pairs in which most requests come as far as the budgets. */
export function* randomBudgetPairs(random: Random, count: number): Generator<BudgetPair> {
  for (let made = 0; made < count; made += 1) {
    const policies = randomOpenPolicies(random)
    yield {
      policies,
      request: randomPayment(random),
      facts: randomWorld(random),
      phase: chance(random, 70) ? 'decision' : 'approval',
      balances: policies.map(() => randomBalance(random)),
    }
  }
}

/** Policies by which most requests come as far as the budgets. */
export function randomOpenPolicies(random: Random): EnginePolicy[] {
  const ids = new Set(listOf(random, 1, 4, () => `pol_${pick(random, ['a', 'b', 'c', 'B', '1', 'aa'])}`))
  return [...ids].map((id) => randomOpenPolicy(random, id))
}

export function randomBalance(random: Random): Balance {
  return { spent: BigInt(pick(random, USED)), reserved: BigInt(pick(random, USED)) }
}

function randomOpenPolicy(random: Random, id: string): EnginePolicy {
  return {
    id,
    revision: 1,
    name: id,
    ...(chance(random, 15) && { priority: pick(random, [-1, 1]) }),
    ...(chance(random, 5) && { enabled: false }),
    ...(chance(random, 5) && { mode: 'shadow' }),
    rules: [
      {
        action: pick(random, ['email.*', 'payment.refund']),
        effect: pick(random, ['allow', 'allow', 'review', 'log', 'deny']),
      },
      { action: '*', effect: pick(random, ['allow', 'allow', 'allow', 'allow', 'review', 'log']) },
    ],
    ...(chance(random, 90) && { budget: randomBudget(random) }),
  }
}

export function randomPayment(random: Random): EngineRequest {
  const amount = chance(random, 85) ? pick(random, AMOUNTS) : pick(random, ODD_AMOUNTS)
  const currency = chance(random, 85) ? pick(random, CURRENCIES) : pick(random, ODD_CURRENCIES)
  const context: JsonObject = {
    ...(chance(random, 95) && { amount }),
    ...(chance(random, 60) && { currency }),
    ...(chance(random, 80) && { order: { total: pick(random, AMOUNTS), currency: pick(random, CURRENCIES) } }),
    items: [1, 2],
  }
  return {
    agent_id: 'agent:support-1',
    action: pick(random, ACTIONS),
    resource: null,
    context: chance(random, 97) ? context : null,
  }
}

function randomWorld(random: Random): Facts {
  return {
    now: new Date(pick(random, MOMENTS)),
    suspended: chance(random, 1),
    metadata: chance(random, 75) ? {} : null,
  }
}
