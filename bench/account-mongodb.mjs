/**
 * How many decisions a second one account of a budget carries on MongoDB, against a hundred accounts: through one server and
 * through three, as they are shipped, with 64 connections that are kept. Once as fast as MongoDB answers here, and once with
 * 5 ms more for each answer, as a majority of machines may take. Cases take turns.
 * Run: node bench/account-mongodb.mjs (MONGODB_URL, else the server for tests)
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpuOf } from './parts/cpu.mjs'
import { inTurns, median } from './parts/figures.mjs'
import { benchDatabase } from './parts/mongodb.mjs'
import { KEY, startServer } from './parts/server.mjs'

const SELF = fileURLToPath(import.meta.url)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const ROUND_MS = 2_000
const CONNECTIONS = 64
const SERVERS = [1, 3]
const ACCOUNTS = [1, 100]
const DELAYS_MS = [0, 5]
const ISSUER = 'http://127.0.0.1:8787'

const roles = { callers: runCallers, relay: runRelay }
await (roles[process.argv[2]] ?? measureAll)()

async function measureAll() {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  const database = await benchDatabase()
  const children = []
  try {
    const callers = fork(SELF, ['callers'])
    children.push(callers)
    for (const delayMs of DELAYS_MS) {
      const url = delayMs === 0 ? database.url : await delayed(database.url, delayMs, children)
      const servers = []
      for (let i = 0; i < Math.max(...SERVERS); i += 1) {
        const own = join(directory, `${delayMs}-${i}`)
        mkdirSync(own)
        const server = await startServer(own, { MONGODB_URL: url, ISSUER })
        children.push(server.child)
        servers.push(server)
      }
      if (delayMs === DELAYS_MS[0]) await writePolicies(servers.map(({ port }) => port))
      report(delayMs, await measure(callers, servers))
      for (const child of children.splice(1).reverse()) await end(child)
    }
  } finally {
    for (const child of children.reverse()) await end(child)
    await database.drop()
    rmSync(directory, { recursive: true })
  }
}

/** The URL of a relay to MongoDB. */
async function delayed(url, delayMs, children) {
  const relay = fork(SELF, ['relay', url, `${delayMs}`])
  children.push(relay)
  return (await messageOf(relay)).url
}

async function end(child) {
  child.kill()
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** Two budgets: one account for all agents, and an account for each agent. */
async function writePolicies(ports) {
  const ask = async (method, path, body, port = ports[0]) => {
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
    const res = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body: JSON.stringify(body) })
    const answer = await res.json()
    if (!res.ok) throw new Error(JSON.stringify(answer))
    return answer
  }
  for (const [i, scope] of ['policy', 'agent'].entries()) {
    const action = `pay.${ACCOUNTS[i]}`
    const budget = { limit: 1_000_000_000, unit: 'EUR', period: 'total', scope }
    await ask('POST', '/v1/policies', { name: action, rules: [{ action, effect: 'allow' }], budget })
  }
  for (let agent = 0; agent < Math.max(...ACCOUNTS); agent += 1)
    await ask('POST', '/v1/agents', { id: `agent:${agent}` })
  // Each server knows of it when it has looked, within 2 s.
  for (const port of ports) {
    const deadline = performance.now() + 10_000
    for (;;) {
      const { effect, reason_code } = await ask('POST', '/v1/decisions', asked(Math.max(...ACCOUNTS) - 1, 100), port)
      if (effect === 'allow') break
      if (performance.now() > deadline) throw new Error(`A server answers ${reason_code}.`)
    }
  }
}

async function measure(callers, servers) {
  const cases = {}
  for (const count of SERVERS)
    for (const accounts of ACCOUNTS) {
      const asked = servers.slice(0, count)
      const cpuUs = () => asked.reduce((sum, { pid }) => sum + cpuOf(pid).all / 1000, 0)
      cases[`${count} ${accounts}`] = async () => {
        const before = cpuUs()
        callers.send({ ports: asked.map(({ port }) => port), accounts })
        const counts = await messageOf(callers)
        return { ...counts, cpuUs: (cpuUs() - before) / counts.allowed }
      }
    }
  return inTurns(ROUNDS, cases)
}

async function messageOf(child) {
  const heard = new AbortController()
  const { signal } = heard
  const [message] = await Promise.race([once(child, 'message', { signal }), once(child, 'exit', { signal })])
  heard.abort()
  if (typeof message !== 'object' || message === null) throw new Error('A process of the bench has ended.')
  return message
}

function report(delayMs, rounds) {
  console.log(`answers of MongoDB ${delayMs === 0 ? 'as they come' : `${delayMs} ms later`}`)
  for (const [name, figures] of Object.entries(rounds)) {
    const [servers, accounts] = name.split(' ')
    const against = rounds[`${servers} ${ACCOUNTS.at(-1)}`]
    const ratio = median(figures.map(({ perSecond }, round) => perSecond / against[round].perSecond))
    const of = (member) => median(figures.map((figure) => figure[member]))
    console.log(
      `  ${servers} ${servers === '1' ? 'server ' : 'servers'} ${accounts.padStart(3)} ${accounts === '1' ? 'account ' : 'accounts'}` +
        `${of('perSecond').toFixed(0).padStart(6)} decisions/s  p50 ${of('p50').toFixed(0).padStart(4)} ms  ` +
        `p99 ${of('p99').toFixed(0).padStart(4)} ms  503 ${(100 * of('refused')).toFixed(1)} %  ` +
        `server CPU ${of('cpuUs').toFixed(0)} us  ratio ${ratio.toFixed(2)}`,
    )
  }
}

/** The process of the callers. */
function runCallers() {
  let next = 0
  process.on('message', async ({ ports, accounts }) => {
    const waits = []
    let refused = 0
    const started = performance.now()
    const callOn = async (port) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1')
      await once(socket, 'connect')
      let text = ''
      let left = 0
      const send = () => {
        left = performance.now()
        socket.write(request(next++ % accounts, accounts))
      }
      socket.on('data', (chunk) => {
        text += chunk
        const bodyAt = text.indexOf('\r\n\r\n') + 4
        if (bodyAt < 4 || text.length < bodyAt + Number(/\r\ncontent-length: (\d+)/i.exec(text)[1])) return
        if (text.startsWith('HTTP/1.1 503')) refused += 1
        else if (!text.includes('"permit_token"')) throw new Error(text)
        else waits.push(performance.now() - left)
        text = ''
        if (performance.now() - started < ROUND_MS) send()
        else socket.end()
      })
      send()
      await once(socket, 'close')
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => callOn(ports[i % ports.length])))
    const allowed = waits.length
    const perSecond = (allowed * 1000) / (performance.now() - started)
    waits.sort((one, other) => one - other)
    const at = (share) => waits[Math.floor(waits.length * share)] ?? Number.NaN
    process.send({ allowed, perSecond, refused: refused / (refused + allowed), p50: at(0.5), p99: at(0.99) })
  })
}

function asked(agent, accounts) {
  return { agent_id: `agent:${agent}`, action: `pay.${accounts}`, context: { amount: 1 } }
}

function request(agent, accounts) {
  const body = JSON.stringify(asked(agent, accounts))
  return (
    `POST /v1/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${KEY}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

/** The process between servers and MongoDB: each answer waits. */
function runRelay() {
  const target = new URL(process.argv[3].replace(/^mongodb/, 'http'))
  const delayMs = Number(process.argv[4])
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: Number(target.port), host: target.hostname, noDelay: true })
    client.on('data', (data) => upstream.write(data))
    upstream.on('data', (data) => setTimeout(() => client.write(data), delayMs))
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ]) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  }).listen(0, '127.0.0.1', () => {
    const own = new URL(target)
    own.port = server.address().port
    process.send({ url: own.href.replace(/^http/, 'mongodb') })
  })
}
