/**
 * What those who read cost those who decide: decisions of 20 callers while nobody reads, while 20 readers list contexts of
 * 64 KB, and while one caller after the other sends the worst simulation; and the memory that 80 connections hold that list
 * and do not read. The cases take turns, and ratios are taken inside a round. Callers and server have a process of their own.
 * Run: node bench/readers.mjs (PORT of a server with the key of parts/server.mjs to measure that one)
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { KEY, startServer } from './parts/server.mjs'

const SELF = fileURLToPath(import.meta.url)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const ROUND_MS = 3_000
const DECIDERS = 20
const READERS = 20
const STORED = 250
const NOT_READING = 80
const LIST = '/v1/decisions?limit=200&agent_id=agent:1'

await (process.argv[2] === 'callers' ? runCallers() : measureAll())

async function measureAll() {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  const server = await startServer(directory)
  const callers = fork(SELF, ['callers'])
  const ended = [server.child, callers].map((child) =>
    once(child, 'exit').then(([code, signal]) => {
      throw new Error(`A process of the bench has ended: ${code ?? signal}.`)
    }),
  )
  // A process that ends at the end is expected to.
  for (const end of ended) end.catch(() => {})
  try {
    await Promise.race([...ended, measure(server, callers)])
  } finally {
    for (const child of [server.child, callers]) child.kill()
    await Promise.allSettled(ended)
    rmSync(directory, { recursive: true })
  }
}

async function measure(server, callers) {
  await fill(server.port)
  const round = async (work) => {
    callers.send({ port: server.port, ...work })
    const [result] = await once(callers, 'message')
    return result
  }
  const cases = {
    quiet: { readers: 0, simulators: 0 },
    [`${READERS} readers`]: { readers: READERS, simulators: 0 },
    'a simulation': { readers: 0, simulators: 1 },
  }
  const results = await inTurns(
    ROUNDS,
    Object.fromEntries(Object.entries(cases).map(([name, work]) => [name, () => round(work)])),
  )
  console.log(`medians of ${ROUNDS} rounds of ${ROUND_MS / 1000} s, ${DECIDERS} callers decide\n`)
  for (const [name, rounds] of Object.entries(results)) {
    const of = (member) => rounds.map((result) => result[member])
    const against = (member) =>
      ratioOf(
        of(member),
        results.quiet.map((result) => result[member]),
      )
    console.log(
      `${name.padEnd(13)} decisions/s ${median(of('perSecond')).toFixed(0).padStart(5)}` +
        `   p50 ${median(of('p50')).toFixed(1).padStart(7)} ms (${against('p50').toFixed(1)}x)` +
        `   p99 ${median(of('p99')).toFixed(1).padStart(7)} ms (${against('p99').toFixed(1)}x)` +
        `   refused ${median(of('refused'))}   beside it/s ${median(of('besidePerSecond')).toFixed(1)}`,
    )
  }
  const before = residentOf(server.pid)
  const sockets = Array.from({ length: NOT_READING }, () => {
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    socket.pause().write(requestOf('GET', LIST))
    return socket
  })
  let most = before
  for (const until = performance.now() + 6_000; performance.now() < until; ) {
    await new Promise((next) => setTimeout(next, 50))
    most = Math.max(most, residentOf(server.pid))
  }
  for (const socket of sockets) socket.destroy()
  console.log(`\n${NOT_READING} connections that do not read: ${before} MB before, ${most} MB at most`)
}

function residentOf(pid) {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024)
}

/** Two policies, and decisions with contexts as large as may be. */
async function fill(port) {
  const call = async (path, body) => {
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
    const res = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (res.status >= 300) throw new Error(await res.text())
    await res.arrayBuffer()
  }
  await call('/v1/policies', { name: 'refunds', rules: [{ action: 'payment.refund', effect: 'allow' }] })
  for (let i = 0; i < STORED; i += 1)
    await call('/v1/decisions', { agent_id: 'agent:1', action: 'a.b', context: { text: 'x'.repeat(65_000) } })
}

function requestOf(method, path, body = '') {
  const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n`
  const type = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  return Buffer.from(`${head}${type}\r\n${body}`)
}

/** The process of the callers: they write ready-made bytes, and look at nothing but the length of an answer. */
async function runCallers() {
  const decide = requestOf('POST', '/v1/decisions', JSON.stringify({ agent_id: 'agent:2', action: 'payment.refund' }))
  const list = requestOf('GET', LIST)
  const simulate = requestOf('POST', '/v1/simulate', JSON.stringify(worstSimulation()))
  process.on('message', async ({ port, readers, simulators }) => {
    const started = performance.now()
    const isOver = () => performance.now() - started > ROUND_MS
    const latencies = []
    let beside = 0
    let refused = 0
    const deciding = Array.from({ length: DECIDERS }, () =>
      callOn(port, decide, isOver, (ms, status) => {
        if (status === 200) latencies.push(ms)
        else refused += 1
      }),
    )
    const others = [...Array(readers).fill(list), ...Array(simulators).fill(simulate)].map((bytes) =>
      callOn(port, bytes, isOver, (_, status) => {
        if (status === 200) beside += 1
      }),
    )
    await Promise.all([...deciding, ...others])
    latencies.sort((a, b) => a - b)
    const at = (share) => latencies[Math.floor(latencies.length * share)]
    const seconds = (performance.now() - started) / 1000
    process.send({
      perSecond: latencies.length / seconds,
      p50: at(0.5),
      p99: at(0.99),
      besidePerSecond: beside / seconds,
      refused,
    })
  })
}

/** As many patterns as fit, each over the longest text that fits beside them. */
function worstSimulation() {
  const or = Array.from({ length: 4_200 }, () => ({ 'context.t': { $like: '*b*' } }))
  return {
    request: { agent_id: 'agent:3', action: 'a.b', context: { t: 'a'.repeat(64_000) } },
    policies: [{ name: 'p', rules: [{ action: '*', effect: 'allow', conditions: { $or: or } }] }],
  }
}

/** Sends the same request again and again on one connection. */
function callOn(port, bytes, isOver, answered) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let sentAt = 0
    let left = null
    let head = ''
    let status = 0
    const send = () => {
      ;[sentAt, left, head] = [performance.now(), null, '']
      socket.write(bytes)
    }
    socket.on('data', (chunk) => {
      if (left === null) {
        head += chunk.toString('latin1')
        const bodyAt = head.indexOf('\r\n\r\n') + 4
        if (bodyAt < 4) return
        status = Number(head.slice(9, 12))
        left = Number(/\r\ncontent-length: (\d+)/i.exec(head)[1]) - (head.length - bodyAt)
      } else left -= chunk.length
      if (left > 0) return
      answered(performance.now() - sentAt, status)
      if (isOver()) socket.end()
      else send()
    })
    socket.on('error', reject).on('close', resolve).on('connect', send)
  })
}
