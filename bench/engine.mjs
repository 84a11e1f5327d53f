/**
 * Evaluation in this process: N policies of 5 rules, 2 agents a policy, every 50th for all agents on actions of its own,
 * `$lte` on an amount and `$in` on a currency, `admin.*` and `email.*`; 2,048 different requests over all agents. Then what an
 * agent can get for 1,000 actions, by the same 1,000 policies and by 1,000 that all count for each action. Sizes take turns in each round, and ratios are taken inside a round, so that a busy machine slows all of them alike.
 * Run: node bench/engine.mjs
 */
import { capabilitiesInParts, compilePolicies, evaluate, withPolicy } from '@countersign/engine'

const REQUESTS = 2048
const ROUNDS = 15
const PASSES = 20
const GOALS = { p99Microseconds: 100, growth: 3 }
const FACTS = { now: new Date('2026-11-21T10:00:00.000Z'), suspended: false, metadata: null }
const VERBS = ['create', 'refund', 'read', 'update', 'cancel']

const allow = (action, limit) => ({
  action,
  effect: 'allow',
  conditions: { 'context.amount': { $lte: limit }, 'context.currency': { $in: ['EUR', 'USD', 'CHF'] } },
})

function policy(at) {
  const isGlobal = at % 50 === 0
  const domain = isGlobal ? `tool${at}` : 'payment'
  return {
    id: `pol_${String(at).padStart(6, '0')}`,
    revision: 1,
    name: `policy ${at}`,
    ...(!isGlobal && { agents: [`agent:${2 * at}`, `agent:${2 * at + 1}`] }),
    rules: [
      allow(`${domain}.create`, 100 + (at % 7)),
      allow(`${domain}.refund`, 50),
      { ...allow(`${domain}.cancel`, 1000), effect: 'review' },
      isGlobal ? allow(`${domain}.*`, 10) : { action: 'admin.*', effect: 'deny' },
      isGlobal ? allow(`${domain}.read`, 10) : allow('email.*', 5),
    ],
  }
}

const policiesOf = (count) => Array.from({ length: count }, (_, at) => policy(at))

/**
 * Requests spread over all agents and actions. With `fresh` each has an agent and an action that were never seen before,
 * for which a pattern of a policy for all agents is found and its conditions are tested.
 */
function requestsOf(count, fresh = null) {
  return Array.from({ length: REQUESTS }, (_, at) => {
    const owner = Math.floor((at * count) / REQUESTS)
    const isGlobal = fresh !== null || owner % 50 === 0
    const domain = isGlobal ? `tool${owner - (owner % 50)}` : ['payment', 'payment', 'admin', 'email'][at % 4]
    const suffix = fresh === null ? '' : `-${fresh}-${at}`
    return {
      agent_id: `agent:${2 * owner + (at % 2)}${suffix}`,
      action: `${domain}.${VERBS[at % 5]}${suffix}`,
      resource: null,
      context: { amount: (at * 37) % 200, currency: at % 10 === 0 ? 'GBP' : 'EUR' },
    }
  })
}

/** Nanoseconds for one evaluation, over some passes through the requests. */
function timePass(set, requests, passes) {
  const started = process.hrtime.bigint()
  for (let pass = 0; pass < passes; pass += 1) for (const request of requests) evaluate(set, request, FACTS)
  return Number(process.hrtime.bigint() - started) / (passes * requests.length)
}

/** Microseconds of single evaluations, in order. */
function latencies(set, requests, passes) {
  const times = []
  for (let pass = 0; pass < passes; pass += 1) {
    for (const request of requests) {
      const started = performance.now()
      evaluate(set, request, FACTS)
      times.push((performance.now() - started) * 1000)
    }
  }
  return times.sort((one, other) => one - other)
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
const median = (values) =>
  quantile(
    [...values].sort((one, other) => one - other),
    0.5,
  )
const round = (value, digits = 2) => Number(value.toFixed(digits))

function effectsOf(set, requests) {
  const counts = {}
  for (const request of requests) {
    const { effect } = evaluate(set, request, FACTS)
    counts[effect] = (counts[effect] ?? 0) + 1
  }
  return counts
}

const sizes = [100, 1_000, 10_000].map((count) => {
  const policies = policiesOf(count)
  const started = performance.now()
  const set = compilePolicies(policies)
  return { count, set, loadMs: performance.now() - started, requests: requestsOf(count), known: [], fresh: [] }
})
for (const { set, requests } of sizes) timePass(set, requests, PASSES)

for (let at = 0; at < ROUNDS; at += 1) {
  for (const size of sizes) {
    size.known.push(timePass(size.set, size.requests, PASSES))
    size.fresh.push(timePass(size.set, requestsOf(size.count, at), 1))
  }
}
const growthOf = (kind) => median(sizes[2][kind].map((time, at) => time / sizes[0][kind][at]))

const thousand = sizes[1]
const known = latencies(thousand.set, thousand.requests, 50)
const fresh = Array.from({ length: 20 }, (_, at) => latencies(thousand.set, requestsOf(1_000, `l${at}`), 1))
  .flat()
  .sort((one, other) => one - other)

const global = compilePolicies(
  Array.from({ length: 200 }, (_, at) => ({
    ...policy(0),
    id: `pol_${at}`,
    rules: Array.from({ length: 5 }, () => allow('payment.refund', -1)),
  })),
)
const worst = Array.from({ length: 5 }, () =>
  timePass(global, [{ ...thousand.requests[1], action: 'payment.refund' }], 500),
)

/** Milliseconds to tell what an agent can get for 1,000 actions, and the longest part without a pause. */
function timeCapabilities(set) {
  const actions = Array.from({ length: 1_000 }, (_, at) => (at % 2 === 0 ? `tool${at}.read` : `payment.n${at}`))
  const started = performance.now()
  let [before, longest] = [started, 0]
  for (const _ of capabilitiesInParts(set, { agent_id: 'agent:3', ...FACTS }, actions, 200_000)) {
    const now = performance.now()
    longest = Math.max(longest, now - before)
    before = now
  }
  return { all: performance.now() - started, longest }
}
function medianCapabilities(set) {
  const times = Array.from({ length: 7 }, () => timeCapabilities(set))
  return {
    all: round(median(times.map(({ all }) => all))),
    longest: round(median(times.map(({ longest }) => longest))),
  }
}
const everywhere = compilePolicies(
  Array.from({ length: 1_000 }, (_, at) => ({
    id: `pol_${at}`,
    revision: 1,
    name: `policy ${at}`,
    priority: at % 10,
    rules: [allow('*', at)],
  })),
)

const changes = Array.from({ length: 200 }, (_, at) => {
  const started = performance.now()
  withPolicy(sizes[2].set, policy(20_000 + at * 7 + 1))
  return (performance.now() - started) * 1000
})

console.table(
  sizes.map(({ count, set, loadMs, requests, ...times }) => ({
    policies: count,
    'load ms': round(loadMs, 0),
    'known agent + action, ns': round(median(times.known), 0),
    'never seen before, ns': round(median(times.fresh), 0),
    'effects, known': JSON.stringify(effectsOf(set, requests)),
    'effects, never seen': JSON.stringify(effectsOf(set, requestsOf(count, 'effects'))),
  })),
)
const result = {
  bench: 'engine',
  evaluate_1000_us: {
    known: { p50: round(quantile(known, 0.5)), p99: round(quantile(known, 0.99)) },
    never_seen: { p50: round(quantile(fresh, 0.5)), p99: round(quantile(fresh, 0.99)) },
  },
  growth_100_to_10000: { known: round(growthOf('known')), never_seen: round(growthOf('fresh')) },
  thousand_global_rules_tested_us: round(median(worst) / 1000),
  capabilities_of_1000_actions_ms: {
    by_1000_policies: medianCapabilities(thousand.set),
    by_1000_that_all_count: medianCapabilities(everywhere),
  },
  with_policy_10000_us: {
    p50: round(median(changes)),
    p99: round(
      quantile(
        [...changes].sort((a, b) => a - b),
        0.99,
      ),
    ),
  },
}
const isMet =
  Math.max(result.evaluate_1000_us.known.p99, result.evaluate_1000_us.never_seen.p99) < GOALS.p99Microseconds &&
  Math.max(result.growth_100_to_10000.known, result.growth_100_to_10000.never_seen) <= GOALS.growth
console.log(`goals: p99 at 1,000 policies below 0.1 ms, 10,000 policies at most 3x of 100: ${isMet ? 'met' : 'MISSED'}`)
console.log(JSON.stringify(result))
