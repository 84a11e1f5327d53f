/**
 * Decisions of the shipped server on MongoDB over HTTP, each with an idempotency key, with and without a budget, on 64
 * connections and on one: how many a second, and how much CPU our process uses for each (all threads, and the main one
 * alone). Then the same through a relay that counts: how many commands a decision takes, and which ones wait for one
 * another. The cases take turns, so that a busy machine slows all of them alike. Callers and server have a process of their own.
 * Run: node bench/http-mongodb.mjs (MONGODB_URL, else the server for tests)
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commandRelay } from './parts/command-relay.mjs'
import { cpuOf } from './parts/cpu.mjs'
import { inTurns, median } from './parts/figures.mjs'
import { benchDatabase } from './parts/mongodb.mjs'
import { KEY, startServer } from './parts/server.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 5)
const ROUND_MS = 2000
const COUNTED_MS = 1000
/** Policies without a budget, and as many with one. Each has two agents. */
const POLICIES = 50
/** Milliseconds of CPU for a decision without a budget. */
const GOALS = { 64: 1, 1: 3 }

const CALLERS = fileURLToPath(new URL('parts/decision-callers.mjs', import.meta.url))
const KINDS = ['no budget', 'budget']
const CASES = Object.keys(GOALS)
  .toReversed()
  .flatMap((connections) => KINDS.map((kind) => ({ kind, connections: Number(connections) })))
const nameOf = ({ kind, connections }) => `${connections} of ${kind}`

const agentsOf = (kind) => Array.from({ length: 2 * POLICIES }, (_, at) => `agent:${kind.replace(' ', '-')}-${at}`)

async function writePolicies(port) {
  for (const kind of KINDS) {
    const agents = agentsOf(kind)
    for (let at = 0; at < POLICIES; at += 1) {
      const conditions = { 'context.amount': { $lte: 100 }, 'context.currency': { $in: ['EUR', 'USD', 'CHF'] } }
      const policy = {
        name: `${kind} ${at}`,
        agents: agents.slice(2 * at, 2 * at + 2),
        rules: [{ action: 'payment.refund', effect: 'allow', conditions }],
        ...(kind === 'budget' && { budget: { limit: 1e9, unit: 'EUR', period: 'total' } }),
      }
      const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
      const res = await fetch(`http://127.0.0.1:${port}/v1/policies`, {
        method: 'POST',
        headers,
        body: JSON.stringify(policy),
      })
      if (res.status !== 201) throw new Error(await res.text())
      await res.arrayBuffer()
    }
  }
}

async function call(callers, port, { kind, connections }, forMs) {
  callers.send({ port, connections, forMs, agents: agentsOf(kind) })
  const [answer] = await once(callers, 'message')
  return answer
}

/** Lets the callers run for one round, and reads what the server used of the CPU meanwhile. */
async function measure(callers, { port, pid }, one) {
  const before = cpuOf(pid)
  const { calls, elapsedMs } = await call(callers, port, one, ROUND_MS)
  const after = cpuOf(pid)
  return {
    perSecond: (calls.length * 1000) / elapsedMs,
    cpuMs: (after.all - before.all) / 1e6 / calls.length,
    mainMs: (after.main - before.main) / 1e6 / calls.length,
  }
}

/** How many commands a decision takes, and in which order most of them take theirs when they come one at a time. */
async function count(callers, { port }, { commands }, one) {
  await call(callers, port, one, COUNTED_MS)
  commands.length = 0
  const { calls } = await call(callers, port, one, COUNTED_MS)
  const own = commands.filter(({ name }) => !BY_ITSELF.has(name))
  const series = calls.map(({ askedAt, answeredAt }) =>
    seriesOf(own.filter(({ startedAt, endedAt }) => startedAt >= askedAt && endedAt <= answeredAt)),
  )
  return { perDecision: own.length / calls.length, series: mostFrequent(series) }
}

/** What a server asks twice a second, whatever else is asked of it. */
const BY_ITSELF = new Set(['hello', 'update replicas', 'find logs', 'find signing_keys'])

/** The longest series of commands of which each began after the one before had ended, and beside each what else ran then. */
function seriesOf(commands) {
  const stages = []
  for (const command of commands) {
    const stage = stages.findLastIndex(({ firstEnd }) => firstEnd <= command.startedAt) + 1
    stages[stage] ??= { firstEnd: command.endedAt, names: [] }
    stages[stage].names.push(command.name)
  }
  return stages.map(({ names }) => names.toSorted().join(' + ')).join(', ')
}

function mostFrequent(texts) {
  const counts = new Map()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts].toSorted(([, one], [, other]) => other - one)[0][0]
}

function report(figures) {
  console.log(`medians of ${ROUNDS} rounds of ${ROUND_MS / 1000} s; ${POLICIES} policies of each kind\n`)
  console.log('connections, kind   decisions/s   CPU ms/decision   main thread ms/decision   goal')
  for (const one of CASES) {
    const of = (member) => median(figures[nameOf(one)].map((figure) => figure[member]))
    const goal = one.kind === 'no budget' ? GOALS[one.connections] : null
    const isMissed = of('cpuMs') > goal && goal !== null
    if (isMissed) process.exitCode = 1
    const columns = [of('perSecond').toFixed(0), of('cpuMs').toFixed(2), of('mainMs').toFixed(2)]
    const widths = [13, 18, 26]
    console.log(
      nameOf(one).padEnd(18) +
        columns.map((column, i) => column.padStart(widths[i])).join('') +
        (goal === null ? '' : `   at most ${goal}: ${isMissed ? 'MISSED' : 'met'}`),
    )
  }
}

const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const database = await benchDatabase()
const callers = fork(CALLERS)
const children = [callers]
const relay = await commandRelay(database.url)
const start = async (url) => {
  const server = await startServer(directory, { MONGODB_URL: url })
  children.push(server.child)
  return server
}
try {
  const server = await start(database.url)
  await writePolicies(server.port)
  report(
    await inTurns(ROUNDS, Object.fromEntries(CASES.map((one) => [nameOf(one), () => measure(callers, server, one)]))),
  )
  server.child.kill()
  await once(server.child, 'exit')
  const counted = await start(relay.url)
  console.log('\ncommands of a decision')
  for (const one of CASES) {
    const { perDecision, series } = await count(callers, counted, relay, one)
    console.log(
      `${nameOf(one).padEnd(18)}${perDecision.toFixed(1).padStart(6)}` +
        (one.connections === 1 ? `   one after the other: ${series}` : ''),
    )
  }
} finally {
  for (const child of children) child.kill()
  await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  relay.close()
  await database.drop()
  rmSync(directory, { recursive: true })
}
