/**
 * Decisions in a second over HTTP: the shipped server (1,000 policies, each decision allowed, signed and durable before
 * it is answered) against an Express server that parses a JSON body and sends it back, with 32 and 64 connections that
 * are kept. The cases take turns, and ratios are taken inside a round, so that a busy machine slows all of them alike.
 * Callers, and each server, have a process of their own. CPU is that of all threads, and of the main thread alone.
 * Run: node bench/http.mjs
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import express from 'express'
import { cpuOf } from './parts/cpu.mjs'
import { KEY, startServer } from './parts/server.mjs'

const SELF = fileURLToPath(import.meta.url)
const POLICIES = 1_000
const REQUESTS = 2_048
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const ROUND_MS = 2_000
const GOAL_P99_MS = 0.1

const roles = { echo: runEcho, callers: runCallers }
await (roles[process.argv[2]] ?? measureAll)()

async function measureAll() {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  const children = []
  try {
    const decide = await startServer(directory)
    children.push(decide.child)
    await writePolicies(decide.port)
    const echo = fork(SELF, ['echo'])
    const callers = fork(SELF, ['callers'])
    children.push(echo, callers)
    const [{ port }] = await once(echo, 'message')
    const targets = { decide, echo: { port, pid: echo.pid } }
    const cases = [32, 64].flatMap((connections) => Object.keys(targets).map((name) => ({ name, connections })))
    for (const one of cases) await measure(callers, targets[one.name], one)
    const rounds = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const results = new Map()
      for (let i = 0; i < cases.length; i += 1) {
        const one = cases[(i + round) % cases.length]
        results.set(`${one.name} ${one.connections}`, await measure(callers, targets[one.name], one))
      }
      rounds.push(results)
    }
    report(rounds)
  } finally {
    for (const child of children) child.kill()
    await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
    rmSync(directory, { recursive: true })
  }
}

/** 5 rules a policy, 2 agents a policy; the second rule is the one that allows. */
async function writePolicies(port) {
  const condition = { 'context.amount': { $lte: 100 }, 'context.currency': { $in: ['EUR', 'USD', 'CHF'] } }
  const rules = [
    { action: 'payment.create', effect: 'allow', conditions: condition },
    { action: 'payment.refund', effect: 'allow', conditions: condition },
    { action: 'payment.cancel', effect: 'review', conditions: condition },
    { action: 'admin.*', effect: 'deny' },
    { action: 'email.*', effect: 'allow', conditions: condition },
  ]
  let next = 0
  const write = async () => {
    while (next < POLICIES) {
      const at = next++
      const body = JSON.stringify({ name: `policy ${at}`, agents: [`agent:${2 * at}`, `agent:${2 * at + 1}`], rules })
      const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
      const res = await fetch(`http://127.0.0.1:${port}/v1/policies`, { method: 'POST', headers, body })
      if (res.status !== 201) throw new Error(await res.text())
      await res.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: 16 }, write))
}

/** Lets the callers run for one round, and reads what the server used of the CPU meanwhile. */
async function measure(callers, { port, pid }, { connections }) {
  const before = cpuOf(pid)
  callers.send({ port, connections })
  const [{ answers, elapsedMs, latencies }] = await once(callers, 'message')
  const after = cpuOf(pid)
  return {
    perSecond: (answers * 1000) / elapsedMs,
    cpuUs: (after.all - before.all) / 1000 / answers,
    mainUs: (after.main - before.main) / 1000 / answers,
    latencies,
  }
}

function report(rounds) {
  const [first] = rounds
  console.log(`medians of ${ROUNDS} rounds of ${ROUND_MS / 1000} s; ${POLICIES} policies\n`)
  console.log('case         requests/s   CPU us/request   main thread us/request   requests/s against the echo')
  for (const name of first.keys()) {
    const of = (member) => median(rounds.map((round) => round.get(name)[member]))
    const echo = name.replace('decide', 'echo')
    const ratio = median(rounds.map((round) => round.get(name).perSecond / round.get(echo).perSecond))
    const columns = [
      of('perSecond').toFixed(0),
      of('cpuUs').toFixed(0),
      of('mainUs').toFixed(0),
      `${ratio.toFixed(2)}x`,
    ]
    const widths = [10, 17, 25, 30]
    console.log(name.padEnd(13) + columns.map((column, i) => column.padStart(widths[i])).join(''))
  }
  const latencies = rounds
    .flatMap((round) => [...round.values()].flatMap((result) => result.latencies))
    .sort((a, b) => a - b)
  const at = (share) => latencies[Math.floor(latencies.length * share)]
  console.log(
    `\nlatency_ms of ${latencies.length} decisions: p50 ${at(0.5)}, p99 ${at(0.99)} (goal below ${GOAL_P99_MS}), ` +
      `p99.9 ${at(0.999)}`,
  )
  if (at(0.99) >= GOAL_P99_MS) process.exitCode = 1
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}

/** The process that every other one is compared with. */
function runEcho() {
  const app = express()
  app.use(express.json())
  app.post('/v1/decisions', (req, res) => res.json(req.body))
  const server = createServer(app).listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
}

/** The process of the callers: they write ready-made bytes, and read as little as they can. */
function runCallers() {
  const requests = Array.from({ length: REQUESTS }, (_, at) => {
    const body = JSON.stringify({
      agent_id: `agent:${(at * 37) % (2 * POLICIES)}`,
      action: at % 2 === 0 ? 'payment.refund' : 'email.send',
      resource: `order:${at}`,
      context: {
        amount: (at * 13) % 100,
        currency: 'EUR',
        customer: `customer-${at}`,
        note: 'asked for by the customer',
      },
    })
    return Buffer.from(
      `POST /v1/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${KEY}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  })
  let asked = 0
  process.on('message', async ({ port, connections }) => {
    const latencies = []
    let answers = 0
    const started = performance.now()
    const callOn = async () => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1')
      await once(socket, 'connect')
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
        const bodyAt = text.indexOf('\r\n\r\n') + 4
        if (bodyAt < 4 || text.length < bodyAt + Number(/\r\ncontent-length: (\d+)/i.exec(text)[1])) return
        if (!text.startsWith('HTTP/1.1 200')) throw new Error(text)
        const [, latency] = /"latency_ms":([\d.e-]+)/.exec(text) ?? []
        if (latency !== undefined && !text.includes('"permit_token"')) throw new Error(text)
        if (latency !== undefined) latencies.push(Number(latency))
        answers += 1
        text = ''
        if (performance.now() - started < ROUND_MS) socket.write(requests[asked++ % REQUESTS])
        else socket.end()
      })
      socket.write(requests[asked++ % REQUESTS])
      await once(socket, 'close')
    }
    await Promise.all(Array.from({ length: connections }, callOn))
    process.send({ answers, elapsedMs: performance.now() - started, latencies })
  })
}
