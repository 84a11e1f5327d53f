/**
 * What a decision over HTTP costs: the shipped server (1,000 policies; each decision has a key, is signed, and is on the disk before
 * it is answered), without and with a budget that always has room, beside an Express server that parses a JSON body and sends it
 * back, a server of node:http that parses one and sends back as many bytes as a decision has, and those of OPA (with and
 * without its log of decisions) and OpenFGA that are on the PATH. Of the shipped server also what each thread uses. Every server, and the callers, have a process of their own. The cases take turns, and ratios are
 * taken inside a round, so that a busy machine slows all of them alike.
 * A wrong answer makes the run fail; a goal that is missed does not, because figures depend on the machine.
 * Run: node bench/http.mjs (ROUNDS=1 for a look), or node bench/http.mjs --profile <folder>
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cpuOf, namesThreads } from './parts/cpu.mjs'
import { fdatasyncMs } from './parts/disk.mjs'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { bytesFor, openPeers } from './parts/peers.mjs'
import { profiled, profilerFlags } from './parts/profile.mjs'
import { POLICIES, policies, requests } from './parts/question.mjs'
import { bytesOfClient } from './parts/sdk-request.mjs'
import { KEY, startServer, writePolicies } from './parts/server.mjs'
import { printTable } from './parts/table.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 5)
const MANY = 64
const ROUND_MS = { [MANY]: 1_500, 1: 1_000 }
/** Before, threads without JavaScript are busy with compiling it. */
const WARM_UP = { connections: MANY, forMs: 8_000, atMost: 15_000 }
const BUDGET = { limit: 1e12, unit: 'EUR', period: 'total' }
const DECISION_MS = 0.1
const OURS = ['Countersign', 'Countersign, budget']

const children = []
const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const [, , option, profiles] = process.argv
try {
  await (option === '--profile' ? profile(profiles) : compare())
} finally {
  for (const child of children) child.kill()
  await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  rmSync(directory, { recursive: true })
}

async function compare() {
  const asked = await bytesOfClient(requests)
  const decide = await startOurs('decide', {})
  const budget = await startOurs('budget', { budget: BUDGET })
  const size = await sizeOfDecision(decide.port)
  const servers = {
    'Express echo': await startEcho('express'),
    'node echo': await startEcho('node', size),
    [OURS[0]]: decide,
    [OURS[1]]: budget,
  }
  const callers = await startCallers()
  for (const kind of Object.keys(servers)) {
    const needle = kind.endsWith('echo') ? '' : '"permit_token":"'
    await callers.learn({ kind, requests: asked, needle })
  }
  const peers = await openPeers(directory, children)
  for (const peer of peers.open) {
    servers[peer.name] = peer.server
    await callers.learn({ kind: peer.name, requests: bytesFor(peer, requests), needle: peer.needle })
  }
  for (const [kind, { port }] of Object.entries(servers)) await callers.run({ kind, port, ...WARM_UP })
  const cases = { disk: async () => fdatasyncMs(directory) }
  for (const [name, server] of Object.entries(servers))
    for (const connections of [MANY, 1])
      cases[`${name} ${connections}`] = () => measure(callers, name, server, connections)
  const figures = await inTurns(ROUNDS, cases)
  report(servers, figures, size)
  for (const name of peers.absent) console.log(`${name}: not installed on this machine`)
}

async function startOurs(name, members, env = namesThreads) {
  const folder = join(directory, name)
  mkdirSync(folder)
  const server = await startServer(folder, env)
  children.push(server.child)
  await writePolicies(server.port, policies(members))
  return { ...server, isOfNode: true }
}

/** Bytes. */
async function sizeOfDecision(port) {
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(requests[0]) }
  const res = await fetch(`http://127.0.0.1:${port}/v1/decisions`, init)
  const text = await res.text()
  if (res.status !== 200 || !text.includes('"permit_token":"')) throw new Error(text)
  return Buffer.byteLength(text)
}

async function startEcho(kind, size = 0) {
  const child = fork(fileURLToPath(new URL('parts/echo.mjs', import.meta.url)), [kind, size])
  children.push(child)
  const [{ port }] = await once(child, 'message')
  return { port, pid: child.pid, isOfNode: true }
}

async function startCallers() {
  const child = fork(fileURLToPath(new URL('parts/callers.mjs', import.meta.url)))
  children.push(child)
  const ended = once(child, 'exit').then(() => {
    throw new Error('A server gave a wrong answer, or none: see above.')
  })
  // At the end they are ended.
  ended.catch(() => {})
  const ask = async (message) => {
    child.send(message)
    const [answer] = await Promise.race([once(child, 'message'), ended])
    return answer
  }
  return { learn: ask, run: ask }
}

/** Lets the callers run for one round, and reads what the server used of the CPU meanwhile. */
async function measure(callers, kind, { port, pid }, connections) {
  // What the case before left to be done is not of this one.
  await pause(100)
  const before = cpuOf(pid)
  const round = await callers.run({ kind, port, connections, forMs: ROUND_MS[connections] })
  const after = cpuOf(pid)
  return {
    ...round,
    perSecond: (round.answers * 1000) / round.elapsedMs,
    allUs: (after.all - before.all) / 1000 / round.answers,
    mainUs: (after.main - before.main) / 1000 / round.answers,
    threadsUs: new Map(
      [...after.byName].map(([name, time]) => [name, (time - (before.byName.get(name) ?? 0)) / 1000 / round.answers]),
    ),
  }
}

function report(servers, figures, size) {
  const names = Object.keys(servers)
  const rounds = (name, connections, member) => figures[`${name} ${connections}`].map((figure) => figure[member])
  const middle = (...of) => median(rounds(...of))
  const against = (name, other, connections, member) =>
    ratioOf(rounds(name, connections, member), rounds(other, connections, member))
  const times = (ratio) => `${ratio.toFixed(2)}x`

  console.log(`medians of ${ROUNDS} rounds; ${POLICIES} policies; a decision has ${size} bytes`)
  for (const connections of [MANY, 1]) {
    console.log(`\n${connections === 1 ? '1 connection' : `${connections} connections`}\n`)
    printTable(
      [
        'server',
        'requests/s',
        'p50 ms',
        'p99 ms',
        'main us',
        'all us',
        'x Express: requests/s',
        'main',
        'all',
        'callers',
      ],
      names.map((name) => {
        const ratio = (member) => times(against(name, 'Express echo', connections, member))
        return [
          name,
          middle(name, connections, 'perSecond').toFixed(0),
          middle(name, connections, 'p50Ms').toFixed(2),
          middle(name, connections, 'p99Ms').toFixed(2),
          servers[name].isOfNode ? middle(name, connections, 'mainUs').toFixed(0) : '-',
          middle(name, connections, 'allUs').toFixed(0),
          ratio('perSecond'),
          servers[name].isOfNode ? ratio('mainUs') : '-',
          ratio('allUs'),
          `${(100 * middle(name, connections, 'busy')).toFixed(0)} %`,
        ]
      }),
    )
  }
  reportThreads(rounds)
  console.log(
    '\nmain us, all us: CPU of the main thread and of all threads per request. callers: how busy their one thread is.',
  )
  const disk = median(figures.disk)
  console.log(`fdatasync of 4 KiB on the same disk: p50 ${disk.toFixed(2)} ms`)

  const slowest = rounds('Countersign', 1, 'p50Ms').map(
    (p50Ms, round) => p50Ms - rounds('node echo', 1, 'p50Ms')[round] - 2 * figures.disk[round],
  )
  const ours = (connections, member) => against('Countersign', 'Express echo', connections, member)
  const withBudget = (connections, member) => against('Countersign, budget', 'Countersign', connections, member)
  const goals = [
    [`main thread, ${MANY} connections, of the Express echo`, ours(MANY, 'mainUs'), '<=', 1.1, times],
    [`all threads, ${MANY} connections, of the Express echo`, ours(MANY, 'allUs'), '<=', 1.6, times],
    [`requests/s, ${MANY} connections, of the Express echo`, ours(MANY, 'perSecond'), '>=', 0.8, times],
    [`main thread, ${MANY} connections, with a budget, of that without`, withBudget(MANY, 'mainUs'), '<=', 1.25, times],
    [`all threads, ${MANY} connections, with a budget, of that without`, withBudget(MANY, 'allUs'), '<=', 1.25, times],
    ['all threads, 1 connection, of the Express echo', ours(1, 'allUs'), '<=', 3, times],
    ['all threads, 1 connection, with a budget, of that without', withBudget(1, 'allUs'), '<=', 1.25, times],
    [
      'p50, 1 connection, beyond the node echo and two fdatasync',
      median(slowest),
      '<=',
      0.4,
      (ms) => `${ms.toFixed(2)} ms`,
    ],
    [
      'p99 of latency_ms, the evaluation alone',
      shareOf(rounds('Countersign', MANY, 'decidedMs').flat(), 0.99),
      '<=',
      DECISION_MS,
      (ms) => `${ms.toFixed(3)} ms`,
    ],
  ]
  console.log('')
  printTable(
    ['goal', 'measured', 'wanted', ''],
    goals.map(([name, figure, sign, goal, show]) => [
      name,
      show(figure),
      `${sign} ${show(goal)}`,
      (sign === '<=' ? figure <= goal : figure >= goal) ? 'met' : 'missed',
    ]),
  )
  console.log('')
}

/** What each thread of ours uses for a decision. */
function reportThreads(rounds) {
  const columns = [MANY, 1].flatMap((connections) => OURS.map((name) => [name, connections]))
  const figures = columns.map((column) => rounds(...column, 'threadsUs'))
  const usOf = (of, thread) => median(of.map((round) => round.get(thread) ?? 0))
  const every = new Set(figures.flat().flatMap((round) => [...round.keys()]))
  const threads = [...every].filter((thread) => figures.some((of) => usOf(of, thread) >= 1))
  const rows = threads
    .toSorted((one, other) => usOf(figures[0], other) - usOf(figures[0], one))
    .map((thread) => [thread, ...figures.map((of) => usOf(of, thread).toFixed(0))])
  console.log('\nCPU of a decision by thread\n')
  printTable(['thread, us', ...columns.map(([name, connections]) => `${name}, ${connections}`)], rows)
}

function shareOf(values, share) {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * share)]
}

/** One round of each kind of decision under a profiler, into a folder. */
async function profile(folder) {
  if (folder === undefined) throw new Error('Say into which folder the profiles go: --profile <folder>')
  const asked = await bytesOfClient(requests)
  const callers = await startCallers()
  for (const [name, members] of Object.entries({ decide: {}, budget: { budget: BUDGET } })) {
    const server = await startOurs(name, members, profilerFlags(folder))
    await callers.learn({ kind: name, requests: asked, needle: '"permit_token":"' })
    await callers.run({ kind: name, port: server.port, ...WARM_UP })
    for (const connections of [MANY, 1]) {
      const into = join(folder, `${name}-${connections}`)
      await profiled(server.pid, folder, into, () => measure(callers, name, server, connections))
    }
    server.child.kill()
  }
}
