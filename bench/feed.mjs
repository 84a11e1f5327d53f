/**
 * What the feed costs those who decide: the main thread's CPU per decision with ten webhooks that get every decision, with ten
 * of which one never answers, and with 200 readers of live events, beside a server that has none of them. The CPU is counted
 * until every event of the round has arrived, also after its last decision. Servers, callers and receivers have processes of
 * their own. The cases take turns, and ratios are taken inside a round, so that a busy machine slows all alike.
 * An event that does not arrive makes the run fail; a goal that is missed does not, because figures depend on the machine.
 * Run: node bench/feed.mjs (ROUNDS=1 for a look)
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cpuOf } from './parts/cpu.mjs'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { policies, requests } from './parts/question.mjs'
import { bytesOfClient } from './parts/sdk-request.mjs'
import { KEY, startServer } from './parts/server.mjs'
import { printTable } from './parts/table.mjs'

const SELF = fileURLToPath(import.meta.url)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const ROUND_MS = 400
const CONNECTIONS = 64
const WEBHOOKS = 10
const READERS = 200
/** At most this many streams of one key may be open. */
const STREAMS_PER_KEY = 100
const ARRIVED_WITHIN_MS = 120_000

await (process.argv[2] === 'receivers' ? receive() : compare())

async function compare() {
  const children = []
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  try {
    await measureAll(directory, children)
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
    rmSync(directory, { recursive: true })
  }
}

async function measureAll(directory, children) {
  const asked = await bytesOfClient(requests)
  const callers = fork(fileURLToPath(new URL('parts/callers.mjs', import.meta.url)))
  const receivers = fork(SELF, ['receivers'])
  children.push(callers, receivers)
  const ask = async (child, message) => {
    child.send(message)
    const [answer] = await once(child, 'message')
    return answer
  }
  const cases = {}
  for (const [name, webhooks, hanging, readers] of [
    ['nobody', 0, 0, 0],
    [`${WEBHOOKS} webhooks`, WEBHOOKS, 0, 0],
    [`${WEBHOOKS} webhooks, one hangs`, WEBHOOKS - 1, 1, 0],
    [`${READERS} readers of live events`, 0, 0, READERS],
  ]) {
    const folder = join(directory, name)
    mkdirSync(folder)
    const server = await startServer(folder, { WEBHOOK_ALLOW_PRIVATE: '1' })
    children.push(server.child)
    await fill(server.port)
    const keys = []
    for (let i = 0; i < readers; i += STREAMS_PER_KEY)
      keys.push((await call(server.port, '/v1/keys', { name: `reader ${i}`, scopes: ['decisions:read'] })).key)
    const { urls } = await ask(receivers, { name, webhooks, hanging, readers, keys, port: server.port })
    for (const url of urls) await call(server.port, '/v1/webhooks', { url, events: ['decision.created'] })
    await ask(callers, { kind: name, requests: asked, needle: '"permit_token":"' })
    await ask(callers, { kind: name, port: server.port, connections: CONNECTIONS, forMs: 3000, atMost: 8000 })
    cases[name] = () => measure(ask, callers, receivers, name, server, webhooks + readers)
  }
  // What the warm-up left.
  await pause(5000)
  const figures = await inTurns(ROUNDS, cases)
  report(figures)
}

async function measure(ask, callers, receivers, name, { port, pid }, each) {
  await ask(receivers, { name, quietMs: 500 })
  const before = cpuOf(pid)
  const { count: start } = await ask(receivers, { name })
  const started = performance.now()
  const round = await ask(callers, { kind: name, port, connections: CONNECTIONS, forMs: ROUND_MS })
  const loaded = cpuOf(pid)
  for (let count = start; count < start + each * round.answers; ) {
    if (performance.now() - started > ARRIVED_WITHIN_MS) throw new Error(`Not every event of ${name} arrived.`)
    await pause(20)
    count = (await ask(receivers, { name })).count
  }
  const after = cpuOf(pid)
  const perDecision = (one, other) => (other - one) / 1000 / round.answers
  return {
    perSecond: (round.answers * 1000) / round.elapsedMs,
    p99Ms: round.p99Ms,
    mainLoadedUs: perDecision(before.main, loaded.main),
    mainUs: perDecision(before.main, after.main),
    allUs: perDecision(before.all, after.all),
    eventsPerSecond: (each * round.answers * 1000) / (performance.now() - started),
  }
}

function report(figures) {
  const names = Object.keys(figures)
  const of = (name, member) => figures[name].map((figure) => figure[member])
  const ratio = (name, member) => ratioOf(of(name, member), of('nobody', member))
  console.log(`medians of ${ROUNDS} rounds, ${CONNECTIONS} connections that decide`)
  console.log('')
  printTable(
    ['who gets the events', 'decisions/s', 'p99 ms', 'main us', 'x', 'all us', 'x', 'events/s'],
    names.map((name) => [
      name,
      median(of(name, 'perSecond')).toFixed(0),
      median(of(name, 'p99Ms')).toFixed(1),
      median(of(name, 'mainUs')).toFixed(0),
      `${ratio(name, 'mainUs').toFixed(2)}x`,
      median(of(name, 'allUs')).toFixed(0),
      `${ratio(name, 'allUs').toFixed(2)}x`,
      median(of(name, 'eventsPerSecond')).toFixed(0),
    ]),
  )
  console.log('')
  console.log('main us, all us: CPU of the main thread and of all threads per decision, until its events have arrived.')
  console.log('')
  const goal = 1.1
  const goals = names.slice(1, 3).map((name) => [`main thread, ${name}, of that with nobody`, ratio(name, 'mainUs')])
  printTable(
    ['goal', 'measured', 'wanted', ''],
    goals.map(([name, figure]) => [name, `${figure.toFixed(2)}x`, `<= ${goal}x`, figure <= goal ? 'met' : 'missed']),
  )
}

async function fill(port) {
  for (const policy of policies({})) await call(port, '/v1/policies', policy)
}

async function call(port, path, body) {
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
  const res = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (res.status !== 201) throw new Error(await res.text())
  return res.json()
}

/** The process of the receivers: it counts what arrives for each case. */
async function receive() {
  const counts = new Map()
  process.on('disconnect', () => process.exit())
  process.on('message', async ({ name, webhooks, hanging, readers, keys, port, quietMs }) => {
    if (webhooks !== undefined) {
      counts.set(name, 0)
      const arrived = (count) => counts.set(name, counts.get(name) + count)
      for (let i = 0; i < readers; i += 1) await openReader(port, keys[Math.floor(i / STREAMS_PER_KEY)], arrived)
      const answering = Array.from({ length: webhooks }, () => openReceiver(arrived))
      process.send({
        urls: await Promise.all([...answering, ...Array.from({ length: hanging }, () => openReceiver(null))]),
      })
      return
    }
    // Until nothing has arrived for a while: what was before is not of this round.
    for (let last = -1; quietMs !== undefined && last !== counts.get(name); ) {
      last = counts.get(name)
      await pause(quietMs)
    }
    process.send({ count: counts.get(name) })
  })
}

async function openReceiver(arrived) {
  const server = createServer((req, res) => {
    req.resume()
    req.on('end', () => {
      if (arrived === null) return
      arrived(1)
      res.writeHead(204).end()
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}/`
}

async function openReader(port, key, arrived) {
  const headers = { Authorization: `Bearer ${key}` }
  const req = request({ port, path: '/v1/events?type=decision.created', headers }).end()
  const [res] = await once(req, 'response')
  if (res.statusCode !== 200) throw new Error(`The stream answered ${res.statusCode}.`)
  res.setEncoding('latin1')
  let rest = ''
  res.on('data', (text) => {
    const parts = (rest + text).split('\nevent:')
    rest = parts.at(-1).slice(-'\nevent:'.length)
    arrived(parts.length - 1)
  })
  res.on('close', () => process.exit(1))
}
