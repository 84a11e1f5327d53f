/**
 * What a decision over HTTP costs on MongoDB: the shipped server, each decision with a key, as the client sends it, without
 * and with a budget, on 64 connections and on one. How many a second, and how much CPU our process uses for each (all
 * threads, and the main one alone). Then the same through a relay that counts: how many commands a decision takes, and
 * which ones wait for one another. The cases take turns, so that a busy machine slows all of them alike. Server and callers
 * have a process of their own. A wrong answer makes the run fail; a goal that is missed does not.
 * Run: node bench/http-mongodb.mjs (MONGODB_URL, else the server for tests; ROUNDS=1 for a look)
 */
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commandRelay } from './parts/command-relay.mjs'
import { cpuOf } from './parts/cpu.mjs'
import { inTurns, median } from './parts/figures.mjs'
import { benchDatabase } from './parts/mongodb.mjs'
import { policies, requests } from './parts/question.mjs'
import { bytesOfClient } from './parts/sdk-request.mjs'
import { KEY, startServer } from './parts/server.mjs'
import { printTable } from './parts/table.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 5)
const ROUND_MS = 2000
const COUNTED_MS = 1000
const COUNTED = 100
/** This many policies of each kind. */
const POLICIES = 50
/** Milliseconds of CPU of a decision without a budget, by connections. */
const GOALS = { 64: 0.3, 1: 1.2 }
const KINDS = { 'no budget': {}, budget: { budget: { limit: 1e12, unit: 'EUR', period: 'total' } } }
const CASES = [64, 1].flatMap((connections) => Object.keys(KINDS).map((kind) => ({ kind, connections })))
const nameOf = ({ kind, connections }) => `${connections}, ${kind}`

const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
const agentOf = (kind, agent) => `${agent}-${kind.replace(' ', '-')}`
const policiesOf = (kind) =>
  policies(KINDS[kind])
    .slice(0, POLICIES)
    .map((policy) => ({
      ...policy,
      name: `${kind} ${policy.name}`,
      agents: policy.agents.map((agent) => agentOf(kind, agent)),
    }))
const requestsOf = (kind) => {
  const present = new Set(policiesOf(kind).flatMap(({ agents }) => agents))
  return requests
    .map((request) => ({ ...request, agent_id: agentOf(kind, request.agent_id) }))
    .filter(({ agent_id }) => present.has(agent_id))
}

async function post(port, path, body, more = {}) {
  const init = { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) }
  const res = await fetch(`http://127.0.0.1:${port}${path}`, init)
  const text = await res.text()
  if (!res.ok) throw new Error(text)
}

/** Lets the callers run for one round, and reads what the server used of the CPU meanwhile. */
async function measure({ port, pid }, one) {
  const before = cpuOf(pid)
  const { answers, elapsedMs } = await ask({ ...one, port, forMs: ROUND_MS })
  const after = cpuOf(pid)
  return {
    perSecond: (answers * 1000) / elapsedMs,
    cpuMs: (after.all - before.all) / 1e6 / answers,
    mainMs: (after.main - before.main) / 1e6 / answers,
  }
}

/** How many commands a decision takes when many come at once. */
async function countTogether({ port }, kind) {
  const round = { kind, connections: 64, port, forMs: COUNTED_MS }
  await ask(round)
  relay.commands.length = 0
  const { answers } = await ask(round)
  return (ownCommands().length / answers).toFixed(2)
}

/** In which order most decisions take their commands when they come one at a time. */
async function countSingly({ port }, kind) {
  const series = []
  for (const request of requestsOf(kind).slice(0, COUNTED)) {
    relay.commands.length = 0
    await post(port, '/v1/decisions', request, { 'Idempotency-Key': randomUUID() })
    series.push(seriesOf(ownCommands()))
  }
  return mostFrequent(series)
}

const ownCommands = () => relay.commands.filter(({ name }) => !BY_ITSELF.has(name))

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
  const rows = CASES.map((one) => {
    const of = (member) => median(figures[nameOf(one)].map((figure) => figure[member]))
    const goal = one.kind === 'no budget' ? GOALS[one.connections] : null
    const verdict = goal === null ? '' : `at most ${goal}: ${of('cpuMs') > goal ? 'MISSED' : 'met'}`
    return [nameOf(one), of('perSecond').toFixed(0), of('cpuMs').toFixed(2), of('mainMs').toFixed(2), verdict]
  })
  printTable(['connections', 'decisions/s', 'CPU ms/decision', 'main thread ms/decision', 'goal'], rows)
}

const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const database = await benchDatabase()
const relay = await commandRelay(database.url)
const callers = fork(fileURLToPath(new URL('parts/callers.mjs', import.meta.url)))
const children = [callers]
const failed = once(callers, 'exit').then(() => {
  throw new Error('A server gave a wrong answer, or none: see above.')
})
// At the end they are ended.
failed.catch(() => {})

async function ask(message) {
  callers.send(message)
  const [answer] = await Promise.race([once(callers, 'message'), failed])
  return answer
}

async function start(url) {
  const server = await startServer(directory, { MONGODB_URL: url })
  children.push(server.child)
  return server
}

try {
  const server = await start(database.url)
  for (const kind of Object.keys(KINDS)) {
    await ask({ kind, requests: await bytesOfClient(requestsOf(kind)), needle: '"permit_token":"' })
    for (const policy of policiesOf(kind)) await post(server.port, '/v1/policies', policy)
  }
  const cases = CASES.map((one) => [nameOf(one), () => measure(server, one)])
  report(await inTurns(ROUNDS, Object.fromEntries(cases)))
  server.child.kill()
  await once(server.child, 'exit')
  const counted = await start(relay.url)
  console.log('\ncommands of a decision: each at 64 connections, and one after the other at one connection')
  for (const kind of Object.keys(KINDS))
    console.log(`${kind}: ${await countTogether(counted, kind)}; ${await countSingly(counted, kind)}`)
} finally {
  for (const child of children) child.kill()
  await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  relay.close()
  await database.drop()
  rmSync(directory, { recursive: true })
}
