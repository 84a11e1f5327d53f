import type { Conditions, Effect, Json, JsonObject, Rule } from '@countersign/contract'
import type { EnginePolicy, EngineRequest, Facts } from '@countersign/engine'
import { chance, listOf, pick, type Random } from './random.js'
import { randomBudget } from './random-budget.js'

/** Few words of each kind, so that policies and requests meet often. */
const AGENTS = ['agent:support-1', 'agent:support-2', 'agent:billing', 'Agent:Support-1', 'bot/run@eu', '10.1.2.3']
const ACTIONS = ['payment.refund', 'payment.refund.create', 'payment.create', 'email.send', 'Email.send']
const RESOURCES = ['order:1', 'order:12', 'order:a:b', 'file:x*y', 'file:ünï ☃', 'Order:1']
const TEXTS = ['EUR', 'USD', 'eur', '', 'a', 'ab', 'aab', 'aaab', 'x*y', '😀', '\ufb01', '10', 'admin', 'order:1', '1']
/** Patterns whose pieces begin again inside themselves. */
const LIKES = ['*aab*', '*a*ab*', '*pay*refund*', '**', '*a*a*a*']
const NUMBERS = [0, -0, 1, 2, 9, 10, 100, 100.5, 1000, -5, 1e308, 5e-324]
const ADDRESSES = ['10.1.2.3', '10.1.2.4', '10.1.130.3', '192.168.0.1', '::1', '2001:db8::5', '2001:DB8:0:8000::5']
const ODD_ADDRESSES = [
  '::ffff:10.1.2.3',
  '::ffff:a01:203',
  '010.1.2.3',
  'fe80::1%eth0',
  '10.1.2',
  '1::2::3',
  '::10.1.2.3',
]
const NETWORKS = ['10.0.0.0/8', '10.1.2.3/32', '10.1.2.2/31', '10.1.128.9/17', '0.0.0.0/0', '::/0', '2001:db8::/32']
const MORE_NETWORKS = ['2001:db8:0:8000::/49', '::1/128', '192.168.0.0/15']
/** `toString` and `length` are on every object, array or text, and own to few. */
const FIELDS = ['amount', 'limit', 'currency', 'ip', 'tags', 'flag', 'user', 'user.role', 'user.level', 'nothing']
const ODD_FIELDS = ['tags.0', 'tags.length', 'toString', 'currency.length', 'user.toString', 'user.role.name']
const SERVER_PATHS = ['agent_id', 'action', 'resource', 'resource.type', 'resource.id', 'now.hour', 'now.weekday']
const INSTANTS = [
  '2026-11-21T10:00:00.000Z',
  '2026-11-22T23:59:59.999Z',
  '2026-11-23T00:00:00.000Z',
  '2027-01-01T09:30:00Z',
]
const EFFECTS: readonly Effect[] = ['allow', 'deny', 'review', 'log']

export function randomPolicies(random: Random): EnginePolicy[] {
  const ids = listOf(random, 1, 5, () => `pol_${pick(random, ['a', 'b', 'c', 'B', '1', 'aa'])}${random.below(4)}`)
  return [...new Set(ids)].map((id) => randomPolicy(random, id))
}

export function randomPolicy(random: Random, id: string): EnginePolicy {
  return {
    id,
    revision: 1 + random.below(9),
    name: `the policy ${id}`,
    ...(chance(random, 60) && { priority: pick(random, [0, 0, 1, -1, 1_000_000]) }),
    ...(chance(random, 25) && { enabled: chance(random, 70) }),
    ...(chance(random, 35) && { mode: chance(random, 50) ? 'shadow' : 'enforce' }),
    ...(chance(random, 40) && { agents: randomAgents(random) }),
    rules: listOf(random, 1, 4, () => randomRule(random)),
    ...(chance(random, 30) && { budget: randomBudget(random) }),
  }
}

export function randomRequest(random: Random): EngineRequest {
  return {
    agent_id: pick(random, AGENTS),
    action: pick(random, ACTIONS),
    resource: chance(random, 75) ? pick(random, RESOURCES) : null,
    context: chance(random, 95) ? randomFields(random) : null,
  }
}

export function randomFacts(random: Random): Facts {
  return {
    now: new Date(pick(random, INSTANTS)),
    suspended: chance(random, 2),
    metadata: chance(random, 80) ? randomFields(random) : null,
  }
}

function randomAgents(random: Random): string[] {
  const agents = listOf(random, 1, 3, () => randomPattern(random, AGENTS))
  // Policies with many agents are indexed in another way.
  return chance(random, 10) ? [...agents, ...listOf(random, 20, 20, () => `agent:extra-${random.below(99)}`)] : agents
}

export function randomRule(random: Random): Rule {
  const effect = pick(random, EFFECTS)
  const canSkip = effect === 'deny' || effect === 'review'
  return {
    action: chance(random, 30) ? '*' : randomPattern(random, ACTIONS),
    effect,
    ...(chance(random, 25) && { resource: chance(random, 10) ? '**' : randomPattern(random, RESOURCES) }),
    ...(chance(random, 70) && { conditions: randomConditions(random, 0) }),
    ...(canSkip && chance(random, 40) && { on_unknown: chance(random, 75) ? 'skip' : 'deny' }),
  }
}

/** One of the texts, with some of its runs of characters replaced by stars. */
function randomPattern(random: Random, texts: readonly string[]): string {
  let pattern = pick(random, texts)
  for (let stars = pick(random, [0, 0, 1, 1, 2, 3]); stars > 0; stars -= 1) {
    const from = random.below(pattern.length + 1)
    pattern = `${pattern.slice(0, from)}*${pattern.slice(from + random.below(pattern.length - from + 1))}`
  }
  return pattern
}

function randomConditions(random: Random, depth: number): Conditions {
  const members = listOf(random, 1, 2, (): [string, Conditions[string]] => {
    if (depth < 3 && chance(random, 25)) return randomGroup(random, depth + 1)
    return randomComparison(random)
  })
  return Object.fromEntries(members)
}

function randomGroup(random: Random, depth: number): [string, Conditions[string]] {
  const group = pick(random, ['$or', '$and', '$not'])
  if (group === '$not') return [group, randomConditions(random, depth)]
  return [group, listOf(random, 1, 3, () => randomConditions(random, depth))]
}

/** Mostly a path with the type that the operator takes, and now and then any. */
function randomComparison(random: Random): [string, Conditions[string]] {
  const operator = pick(random, OPERATORS)
  const { paths, operand } = COMPARISONS[operator]
  const path = chance(random, 85) ? pick(random, paths) : randomPath(random)
  const members: [string, Json][] = [[operator, operand(random)]]
  if (chance(random, 10)) members.push(['$exists', chance(random, 70)])
  return [path, Object.fromEntries(members)]
}

interface Comparison {
  readonly paths: readonly string[]
  readonly operand: (random: Random) => Json
}
const NUMBER_PATHS = ['context.amount', 'context.limit', 'agent.limit', 'context.user.level', 'now.hour', 'now.weekday']
const TEXT_PATHS = ['context.currency', 'context.user.role', 'agent.currency', 'action', 'agent_id', 'resource.type']
const SCALAR: Comparison = {
  paths: [...NUMBER_PATHS, ...TEXT_PATHS, 'context.flag', 'resource', 'resource.id'],
  operand: (random) => (chance(random, 25) ? reference(random) : randomScalar(random)),
}
const ORDER: Comparison = {
  paths: [...NUMBER_PATHS, ...NUMBER_PATHS, ...TEXT_PATHS],
  operand: (random) => {
    if (chance(random, 25)) return reference(random)
    return chance(random, 75) ? pick(random, NUMBERS) : pick(random, TEXTS)
  },
}
const MEMBER: Comparison = {
  paths: [...NUMBER_PATHS, ...TEXT_PATHS],
  operand: (random) => {
    if (chance(random, 25)) return { $ref: `agent.${pick(random, ['tags', 'tags', 'amount', 'nothing'])}` }
    return listOf(random, 1, chance(random, 20) ? 14 : 4, () => randomScalar(random))
  },
}
const COMPARISONS = {
  $eq: SCALAR,
  $ne: SCALAR,
  $lt: ORDER,
  $lte: ORDER,
  $gt: ORDER,
  $gte: ORDER,
  $in: MEMBER,
  $nin: MEMBER,
  $contains: {
    paths: ['context.tags', 'agent.tags'],
    operand: (random) => (chance(random, 20) ? { $ref: `agent.${pick(random, FIELDS)}` } : randomScalar(random)),
  },
  $exists: {
    paths: [...FIELDS, ...ODD_FIELDS].map((field) => `context.${field}`),
    operand: (random) => chance(random, 60),
  },
  $like: {
    paths: TEXT_PATHS,
    operand: (random) =>
      chance(random, 25) ? pick(random, LIKES) : randomPattern(random, [...TEXTS.filter(Boolean), ...ACTIONS]),
  },
  $cidr: {
    paths: ['context.ip', 'context.ip', 'agent.ip', 'agent_id'],
    operand: (random) =>
      chance(random, 70) ? randomNetwork(random) : listOf(random, 1, 3, () => randomNetwork(random)),
  },
} satisfies Record<string, Comparison>
export const OPERATORS = Object.keys(COMPARISONS) as (keyof typeof COMPARISONS)[]

function randomPath(random: Random): string {
  if (chance(random, 30)) return pick(random, SERVER_PATHS)
  return `${pick(random, ['context', 'agent'])}.${pick(random, [...FIELDS, ...ODD_FIELDS])}`
}

function reference(random: Random): Json {
  return { $ref: chance(random, 75) ? pick(random, [...NUMBER_PATHS, ...TEXT_PATHS]) : randomPath(random) }
}

function randomNetwork(random: Random): string {
  return pick(random, [...NETWORKS, ...MORE_NETWORKS])
}

function randomScalar(random: Random): string | number | boolean {
  if (chance(random, 50)) return pick(random, NUMBERS)
  return chance(random, 80) ? pick(random, TEXTS) : chance(random, 50)
}

/** The fields of a context or of metadata, each mostly of its usual type. */
function randomFields(random: Random): JsonObject {
  const usual: [string, () => Json][] = [
    ['amount', () => pick(random, NUMBERS)],
    ['limit', () => pick(random, NUMBERS)],
    ['currency', () => pick(random, TEXTS)],
    ['ip', () => pick(random, chance(random, 70) ? ADDRESSES : ODD_ADDRESSES)],
    ['tags', () => listOf(random, 0, 3, () => (chance(random, 90) ? randomScalar(random) : randomJson(random)))],
    ['flag', () => chance(random, 50)],
    ['user', () => ({ role: pick(random, TEXTS), level: pick(random, NUMBERS) })],
    ['toString', () => pick(random, TEXTS)],
  ]
  const present = usual.filter(([field]) => chance(random, field === 'toString' ? 10 : 88))
  return Object.fromEntries(present.map(([field, make]) => [field, chance(random, 88) ? make() : randomJson(random)]))
}

function randomJson(random: Random): Json {
  return pick<() => Json>(random, [
    () => null,
    () => [],
    () => ({}),
    () => [null, 'a'],
    () => ({ role: null, 0: 'zero' }),
    () => randomScalar(random),
  ])()
}
