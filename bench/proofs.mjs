/**
 * What proofs cost those who decide: CPU of the main thread, and of all threads, per decision, on a server that keeps Merkle
 * trees of its logs and signs checkpoints, beside one that does not. The CPU is counted until every entry of the round is under
 * a checkpoint. The other server is the same one: its reader of the log stands far behind the end of the log, so that it never
 * finds an entry. The two take turns, and ratios are taken inside a round, so that a busy machine slows both alike.
 * A goal that is missed does not make the run fail, because figures depend on the machine.
 * Run: node bench/proofs.mjs (ROUNDS=1 for a look)
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openSqliteStore } from '../server/dist/stores/sqlite/open.js'
import { cpuOf } from './parts/cpu.mjs'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { policies, requests } from './parts/question.mjs'
import { bytesOfClient } from './parts/sdk-request.mjs'
import { KEY, startServer } from './parts/server.mjs'
import { printTable } from './parts/table.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 7)
const ROUND_MS = 2000
const COVERED_WITHIN_MS = 60_000
const GOAL = 1.1
const [WITH, WITHOUT] = ['with proofs', 'without']

const children = []
const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
try {
  await compare()
} finally {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  rmSync(directory, { recursive: true })
}

async function compare() {
  const callers = fork(fileURLToPath(new URL('parts/callers.mjs', import.meta.url)))
  children.push(callers)
  const ask = async (message) => {
    callers.send(message)
    const [answer] = await once(callers, 'message')
    return answer
  }
  const asked = await bytesOfClient(requests)
  const servers = { [WITH]: await startFilled(WITH), [WITHOUT]: await startWithoutProofs() }
  for (const connections of [64, 1]) {
    const cases = {}
    for (const [name, server] of Object.entries(servers)) {
      await ask({ kind: name, requests: asked, needle: '"permit_token":"' })
      await ask({ kind: name, port: server.port, connections, forMs: 3000, atMost: 8000 })
      cases[name] = () => measure(ask, name, server, connections)
    }
    report(await inTurns(ROUNDS, cases), connections)
  }
}

async function measure(ask, kind, { port, pid }, connections) {
  if (kind === WITH) await everyEntryCovered(port)
  const before = cpuOf(pid)
  const round = await ask({ kind, port, connections, forMs: ROUND_MS })
  if (kind === WITH) await everyEntryCovered(port)
  const after = cpuOf(pid)
  const perDecision = (one, other) => (other - one) / 1000 / round.answers
  return {
    perSecond: (round.answers * 1000) / round.elapsedMs,
    mainUs: perDecision(before.main, after.main),
    allUs: perDecision(before.all, after.all),
  }
}

function report(figures, connections) {
  const of = (name, member) => figures[name].map((figure) => figure[member])
  const ratio = (member) => ratioOf(of(WITH, member), of(WITHOUT, member))
  console.log(`medians of ${ROUNDS} rounds, connections: ${connections}`)
  console.log('')
  printTable(
    ['', 'decisions/s', 'main us', 'all us'],
    [WITH, WITHOUT].map((name) => [
      name,
      ...['perSecond', 'mainUs', 'allUs'].map((member) => median(of(name, member)).toFixed(0)),
    ]),
  )
  console.log('')
  const main = ratio('mainUs')
  printTable(
    ['with proofs, of that without', 'measured', 'wanted', ''],
    [
      ['main thread', `${main.toFixed(2)}x`, `<= ${GOAL}x`, main <= GOAL ? 'met' : 'missed'],
      ['all threads', `${ratio('allUs').toFixed(2)}x`, '', ''],
    ],
  )
  console.log('')
}

async function startFilled(name) {
  const folder = join(directory, name)
  mkdirSync(folder)
  const server = await startServer(folder)
  children.push(server.child)
  for (const policy of policies({})) {
    const res = await fetch(`http://127.0.0.1:${server.port}/v1/policies`, { method: 'POST', ...options(policy) })
    if (res.status !== 201) throw new Error(await res.text())
  }
  await everyEntryCovered(server.port)
  return { ...server, folder }
}

/** Nobody writes an entry at the position where its reader of the log stands. */
async function startWithoutProofs() {
  const { child, folder } = await startFilled(WITHOUT)
  child.kill('SIGTERM')
  await once(child, 'exit')
  const store = await openSqliteStore({ dataDir: join(folder, 'data') })
  const reader = await store.readers.hold('trees', 'bench', 60_000)
  const positions = Object.fromEntries(Object.keys(reader.positions).map((log) => [log, Number.MAX_SAFE_INTEGER]))
  const nothing = { deliveries: [], counts: [], nodes: [], checkpoints: [] }
  if (!(await store.readers.save({ reader, positions, state: reader.state, ...nothing })))
    throw new Error('Somebody else has the reader.')
  await store.close()
  const server = await startServer(folder)
  children.push(server.child)
  return server
}

async function everyEntryCovered(port) {
  const [{ log, index }] = (await get(port, '/v1/audit?limit=1')).data
  const deadline = performance.now() + COVERED_WITHIN_MS
  for (;;) {
    const { data } = await get(port, '/v1/audit/checkpoints')
    if (data.some((one) => one.log === log && one.size > index)) return
    if (performance.now() > deadline) throw new Error('The newest entry came under no checkpoint.')
    await pause(50)
  }
}

async function get(port, path) {
  const res = await fetch(`http://127.0.0.1:${port}${path}`, options())
  if (res.status !== 200) throw new Error(await res.text())
  return res.json()
}

function options(body) {
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
  return { headers, ...(body && { body: JSON.stringify(body) }) }
}
