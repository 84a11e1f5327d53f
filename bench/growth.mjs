/**
 * What a store that grows costs: the shipped server on its embedded store takes 1,000,000 decisions with keys on 64 connections, and
 * after a hundredth, a tenth and all of them it tells its memory (as the system counts it, and the main thread's heap after a collection
 * of garbage) and the CPU of a decision. Another server with a hundredth of them takes turns with it there, and ratios are taken
 * inside a round, so that a busy machine slows both alike. Then both end, which leaves each database in one file: the bytes
 * that one folder has more than the other are those of the decisions that it has more.
 * Run: node bench/growth.mjs (SIZE=100000 ROUNDS=1 for a look)
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cpuOf, namesThreads } from './parts/cpu.mjs'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { policies, requests } from './parts/question.mjs'
import { bytesOfClient } from './parts/sdk-request.mjs'
import { startServer, writePolicies } from './parts/server.mjs'
import { printTable } from './parts/table.mjs'

const SIZE = Number(process.env.SIZE ?? 1_000_000)
if (!(SIZE >= 1_000)) throw new Error('SIZE is a number of decisions, at least 1000.')
const SIZES = [SIZE / 100, SIZE / 10, SIZE].map(Math.round)
const [SMALL] = SIZES
const CONNECTIONS = 64
const ROUNDS = Number(process.env.ROUNDS ?? 7)
const MEASURED = Math.min(1_000, SMALL)
const LONGEST_MS = 3_600_000
const HEAP_MS = 30_000
const MB = 1e6
/** A decision took 4.4 kB before it was written once. */
const GOALS = { memory: 1.2, cost: 1.2, bytes: 0.6 * 4_400 }

const children = []
const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const callers = fork(fileURLToPath(new URL('parts/callers.mjs', import.meta.url)))
children.push(callers)
const failed = once(callers, 'exit').then(() => {
  throw new Error('A server gave a wrong answer, or none: see above.')
})
// At the end they are ended.
failed.catch(() => {})

try {
  await ask({ kind: 'decide', requests: await bytesOfClient(requests), needle: '"permit_token":"' })
  const [grown, small] = [await start('grown'), await start('small')]
  await fill(small, SMALL)
  const points = []
  for (const size of SIZES) {
    await fill(grown, size)
    const memory = { size, residentMb: residentOf(grown) / MB, heapMb: (await heapOf(grown)) / MB }
    const turns = await inTurns(ROUNDS, { grown: () => measure(grown), small: () => measure(small) })
    points.push({ ...memory, turns })
    console.error(`${size} decisions`)
  }
  for (const { child } of [grown, small]) {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  // What is not of decisions, such as the policies, is in both.
  report(points, (bytesIn(grown.data) - bytesIn(small.data)) / (grown.decisions - small.decisions))
} finally {
  for (const child of children) child.kill()
  await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  rmSync(directory, { recursive: true })
}

async function ask(message) {
  callers.send(message)
  const [answer] = await Promise.race([once(callers, 'message'), failed])
  return answer
}

async function start(name) {
  const folder = join(directory, name)
  mkdirSync(folder)
  const heap = join(folder, 'heap')
  const preload = `--import ${new URL('parts/heaps.mjs', import.meta.url).href}`
  const server = await startServer(folder, { NODE_OPTIONS: `${namesThreads.NODE_OPTIONS} ${preload}`, HEAP: heap })
  children.push(server.child)
  await writePolicies(server.port, policies())
  return { ...server, heap, data: join(folder, 'data'), decisions: 0 }
}

/** Lets the callers ask until this many decisions are in the store, or a few more. */
async function fill(server, size) {
  if (server.decisions >= size) return
  const { answers } = await decide(server, size - server.decisions)
  if (answers < size - server.decisions) throw new Error('The server was too slow.')
  server.decisions += answers
}

function decide({ port }, atMost) {
  return ask({ kind: 'decide', port, connections: CONNECTIONS, forMs: LONGEST_MS, atMost })
}

async function measure(server) {
  const before = cpuOf(server.pid)
  const { answers } = await decide(server, MEASURED)
  const after = cpuOf(server.pid)
  server.decisions += answers
  const us = (of) => ((of(after) ?? 0) - (of(before) ?? 0)) / 1000 / answers
  return {
    allUs: us(({ all }) => all),
    mainUs: us(({ main }) => main),
    storeUs: us(({ byName }) => byName.get('store writer')),
  }
}

function residentOf({ pid }) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024
}

async function heapOf({ pid, heap }) {
  rmSync(heap, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (const until = performance.now() + HEAP_MS; !existsSync(heap); await pause(20))
    if (performance.now() > until) throw new Error('The server did not tell its heap.')
  return Number(readFileSync(heap, 'utf8'))
}

function bytesIn(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return entries.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

function report(points, bytes) {
  const of = (turns, server, member) => turns[server].map((figure) => figure[member])
  const ratio = ({ turns }) => ratioOf(of(turns, 'grown', 'allUs'), of(turns, 'small', 'allUs'))
  printTable(
    ['decisions', 'resident MB', 'heap MB', 'CPU us each: all', 'main', 'store writer', `x of ${SMALL}`],
    points.map((point) => [
      String(point.size),
      point.residentMb.toFixed(0),
      point.heapMb.toFixed(0),
      ...['allUs', 'mainUs', 'storeUs'].map((member) => median(of(point.turns, 'grown', member)).toFixed(0)),
      `${ratio(point).toFixed(2)}x`,
    ]),
  )
  const [, before, last] = points
  const goals = [
    [`resident memory at ${last.size}, of that at ${before.size}`, last.residentMb / before.residentMb, GOALS.memory],
    [`heap at ${last.size}, of that at ${before.size}`, last.heapMb / before.heapMb, GOALS.memory],
    [`CPU of a decision at ${last.size}, of that at ${SMALL}`, ratio(last), GOALS.cost],
  ].map(([name, figure, goal]) => [name, `${figure.toFixed(2)}x`, `<= ${goal}x`, figure <= goal ? 'met' : 'missed'])
  const size = ['bytes of a decision on the disk', bytes.toFixed(0), `<= ${GOALS.bytes}`]
  console.log('')
  printTable(['goal', 'measured', 'wanted', ''], [...goals, [...size, bytes <= GOALS.bytes ? 'met' : 'missed']])
}
