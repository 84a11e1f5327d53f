/**
 * The evaluation alone, without the server around it: 1,000 policies of 5 rules, and the same questions for each engine, of which
 * every answer is checked. Our engine, Cedar (as wasm, with policies parsed before) and casbin run in this process, and their time is
 * taken around the call. OPA, where it is on the PATH, answers over HTTP and tells itself how long the evaluation took
 * (`timer_rego_query_eval_ns`). OpenFGA tells that in whole milliseconds only, so one evaluation is what its process uses more of
 * the CPU for each further check of a batch. Slow engines get fewer of the questions in a round. The engines take turns, and ratios
 * are taken inside a round, so that a busy machine slows all of them alike.
 * Run: node bench/evaluation.mjs (ROUNDS=1 for a look)
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { preparsePolicySet, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs'
import { compilePolicies, evaluate } from '@countersign/engine'
import { newEnforcer, newModel, StringAdapter } from 'casbin'
import { cpuOf } from './parts/cpu.mjs'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { openPeers } from './parts/peers.mjs'
import { CURRENCIES, HIGHEST_AMOUNT, POLICIES, policies } from './parts/question.mjs'
import { KEY } from './parts/server.mjs'
import { printTable } from './parts/table.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 5)
const OURS = 'Countersign'
const PASSES = 50
/** Each number of questions is a multiple of the kinds, so that every round has all of them. */
const [EVERY, SOME] = [256, 16]
const BATCH = 48
const BATCHES = 20
const FACTS = { now: new Date('2026-11-21T10:00:00.000Z'), suspended: false, metadata: null }

const shared = policies()
const questions = Array.from({ length: EVERY }, (_, at) => question(at))

/** Half are allowed; the others have too high an amount, another currency, an action that is denied, or an agent of no policy. */
function question(at) {
  const kind = at % 8
  const owner = (at * 37) % (2 * POLICIES)
  return {
    request: {
      agent_id: kind === 7 ? `agent:${owner}-unknown` : `agent:${owner}`,
      action: kind === 6 ? 'admin.delete' : ['payment.refund', 'email.send'][at % 2],
      resource: `order:${at}`,
      context: {
        amount: ((at * 13) % HIGHEST_AMOUNT) + (kind === 4 ? HIGHEST_AMOUNT + 1 : 0),
        currency: kind === 5 ? 'GBP' : CURRENCIES[at % CURRENCIES.length],
      },
    },
    isAllowed: kind < 4,
  }
}

let asked = 0
const nextQuestions = (count) => Array.from({ length: count }, () => questions[asked++ % EVERY])

function check(name, { request, isAllowed }, answer) {
  if (answer !== isAllowed) throw new Error(`${name} answered ${answer} to ${JSON.stringify(request)}.`)
}

/** Microseconds a question, of an engine in this process. */
function timed(name, of, isAllowed) {
  const started = performance.now()
  for (const one of of) check(name, one, isAllowed(one))
  return ((performance.now() - started) * 1000) / of.length
}

function countersign() {
  const set = compilePolicies(shared.map((policy, at) => ({ id: `pol_${at}`, revision: 1, ...policy })))
  const of = Array.from({ length: PASSES }, () => questions).flat()
  return () => timed(OURS, of, ({ request }) => evaluate(set, request, FACTS).effect === 'allow')
}

/** An agent is in the group of its policy, and an action in that of its domain: what Cedar finds without conditions. */
function cedar() {
  const uid = (type, id) => ({ type, id })
  const actionsOf = (action) =>
    action.endsWith('.*') ? `action in Action::"${action.slice(0, -2)}"` : `action == Action::"${action}"`
  const limits = `context.amount <= ${HIGHEST_AMOUNT} && ${JSON.stringify(CURRENCIES)}.contains(context.currency)`
  const texts = shared.flatMap(({ name, rules }) =>
    rules.map(({ action, effect, conditions }) => {
      const verb = effect === 'allow' ? 'permit' : 'forbid'
      const when = conditions === undefined || effect !== 'allow' ? '' : ` when { ${limits} }`
      return `${verb}(principal in Policy::"${name}", ${actionsOf(action)}, resource)${when};`
    }),
  )
  const parsed = preparsePolicySet('bench', { staticPolicies: texts.join('\n') })
  if (parsed.type !== 'success') throw new Error(JSON.stringify(parsed.errors))
  const policyOf = new Map(shared.flatMap(({ name, agents }) => agents.map((agent) => [agent, name])))
  const callOf = ({ agent_id, action, resource, context }) => {
    const name = policyOf.get(agent_id)
    return {
      principal: uid('Agent', agent_id),
      action: uid('Action', action),
      resource: uid('Order', resource),
      context,
      preparsedPolicySetId: 'bench',
      entities: [
        { uid: uid('Agent', agent_id), attrs: {}, parents: name === undefined ? [] : [uid('Policy', name)] },
        { uid: uid('Action', action), attrs: {}, parents: [uid('Action', action.split('.')[0])] },
      ],
    }
  }
  const calls = new Map(questions.map(({ request }) => [request, callOf(request)]))
  return () =>
    timed('Cedar', nextQuestions(SOME), ({ request }) => {
      const answer = statefulIsAuthorized(calls.get(request))
      if (answer.type !== 'success' || answer.response.diagnostics.errors.length > 0)
        throw new Error(JSON.stringify(answer))
      return answer.response.decision === 'allow'
    })
}

/** An agent has the role of its policy. */
async function casbin() {
  const model = newModel(`
[request_definition]
r = sub, act, amount, currency

[policy_definition]
p = sub, act, highest, currencies, eft

[role_definition]
g = _, _

[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))

[matchers]
m = g(r.sub, p.sub) && keyMatch(r.act, p.act) && r.amount <= p.highest && within(r.currency, p.currencies)
`)
  const lines = shared.flatMap(({ name, agents, rules }) => [
    ...rules.map(({ action, effect }) =>
      effect === 'allow'
        ? `p, ${name}, ${action}, ${HIGHEST_AMOUNT}, ${CURRENCIES.join(' ')}, allow`
        : `p, ${name}, ${action}, ${Number.MAX_SAFE_INTEGER}, any, deny`,
    ),
    ...agents.map((agent) => `g, ${agent}, ${name}`),
  ])
  const enforcer = await newEnforcer(model, new StringAdapter(lines.join('\n')))
  await enforcer.addFunction('within', (currency, list) => list === 'any' || list.split(' ').includes(currency))
  return () =>
    timed('casbin', nextQuestions(SOME), ({ request: { agent_id, action, context } }) =>
      enforcer.enforceSync(agent_id, action, context.amount, context.currency),
    )
}

async function post({ server }, path, body) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const res = await fetch(`http://127.0.0.1:${server.port}${path}`, init)
  if (!res.ok) throw new Error(await res.text())
  return res.json()
}

const opa = (peer) => async () => {
  let ns = 0
  for (const one of questions) {
    const { path, body } = peer.callOf(one.request)
    const { result, metrics } = await post(peer, `${path}?metrics=true`, body)
    check('OPA', one, result)
    ns += metrics.timer_rego_query_eval_ns
  }
  return ns / 1000 / EVERY
}

function openFga(peer) {
  const cpuOfBatches = async (size) => {
    const before = cpuOf(peer.server.pid).all
    for (let batch = 0; batch < BATCHES; batch += 1) await askBatch(peer, nextQuestions(size))
    return (cpuOf(peer.server.pid).all - before) / 1000 / BATCHES
  }
  return async () => {
    const alone = await cpuOfBatches(1)
    return ((await cpuOfBatches(BATCH)) - alone) / (BATCH - 1)
  }
}

async function askBatch(peer, batch) {
  const calls = batch.map(({ request }) => peer.callOf(request))
  const { authorization_model_id } = calls[0].body
  const checks = calls.map(({ body: { tuple_key, context } }, at) => ({ tuple_key, context, correlation_id: `c${at}` }))
  const path = calls[0].path.replace(/check$/, 'batch-check')
  const { result } = await post(peer, path, { checks, authorization_model_id })
  for (const [at, one] of batch.entries()) check('OpenFGA', one, result[`c${at}`]?.allowed ?? false)
}

/** How each is measured, for those who read the table. */
const HOW = {
  [OURS]: 'in this process',
  'Cedar 4 (wasm)': 'in this process',
  casbin: 'in this process',
  OPA: 'its own timer',
  OpenFGA: 'CPU of a further check',
}
const PEERS = { 'OPA, no decision log': ['OPA', opa], OpenFGA: ['OpenFGA', openFga] }

const children = []
const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
try {
  const peers = await openPeers(directory, children, Object.keys(PEERS))
  const cases = { [OURS]: countersign(), 'Cedar 4 (wasm)': cedar(), casbin: await casbin() }
  for (const peer of peers.open) {
    const [name, measure] = PEERS[peer.name]
    cases[name] = measure(peer)
  }
  const figures = await inTurns(ROUNDS, cases)
  console.log(`medians of ${ROUNDS} rounds; ${POLICIES} policies of 5 rules; every answer was right\n`)
  printTable(
    ['engine', 'us an evaluation', `x ${OURS}`, 'measured by'],
    Object.entries(figures).map(([name, of]) => [
      name,
      median(of).toFixed(median(of) < 10 ? 2 : 0),
      ratioOf(of, figures[OURS]).toFixed(0),
      HOW[name],
    ]),
  )
  for (const name of peers.absent) console.log(`${PEERS[name][0]}: not installed on this machine`)
} finally {
  for (const child of children) child.kill()
  await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  rmSync(directory, { recursive: true })
}
