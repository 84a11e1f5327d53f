/**
 * What one API key costs another: the 99th percentile of a key's decisions, lists, simulations and proofs while nobody else calls, and
 * beside a key that sends the largest capabilities on 40 connections, that lets 20 keys of its own making send them, or that opens
 * exports and statistics without end and hardly reads them. The cases take turns, and ratios are taken inside a round. The server,
 * the busy callers and the key that is measured have a process of their own. A single call may take longer than that: the worst of
 * each kind is beside it, and below is what the server did when its main thread came to no turn for long.
 * Run: node bench/fairness.mjs (ROUNDS=1 for a look)
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { KEY, startServer } from './parts/server.mjs'
import { printTable } from './parts/table.mjs'

const SELF = fileURLToPath(import.meta.url)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const ROUND_MS = 4_000
const CONNECTIONS = 40
const MADE_KEYS = 20
const GOAL = 5
const ACTIONS = Array.from({ length: 1000 }, (_, i) => `n${i % 40}.${'x1x2x3x4x5x6'.repeat(9)}${i}`.slice(0, 128))
const CAPABILITIES = { method: 'POST', path: '/v1/capabilities', body: { agent_id: 'agent:n1', actions: ACTIONS } }
const ASKED = { agent_id: 'agent:g', action: 'nb.ok' }

await (process.argv[2] === 'busy' ? beBusy() : measureAll())

async function measureAll() {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  const stalls = join(directory, 'stalls.json')
  process.env.SERVER_FLAGS = `${process.env.SERVER_FLAGS ?? ''} --import ${fileURLToPath(new URL('./parts/stalls.mjs', import.meta.url))}`
  const server = await startServer(directory, { STALLS: stalls })
  const busy = fork(SELF, ['busy'])
  try {
    await measure(server.port, busy)
  } finally {
    for (const child of [server.child, busy]) {
      child.kill()
      await (child.exitCode ?? child.signalCode ?? once(child, 'exit'))
    }
    reportStalls(JSON.parse(readFileSync(stalls, 'utf8')))
    rmSync(directory, { recursive: true })
  }
}

async function measure(port, busy) {
  const call = callerOf(port)
  await fill(call)
  const scopes = ['decisions:read', 'decisions:write', 'policies:read', 'audit:read']
  const newKey = async (by, more = []) =>
    (await call(by, { method: 'POST', path: '/v1/keys', body: { name: 'bench', scopes: [...scopes, ...more] } })).json
  const attacker = await newKey(KEY, ['keys:write'])
  const made = []
  for (let i = 0; i < MADE_KEYS; i += 1) made.push((await newKey(attacker.key)).key)
  const other = (await newKey(KEY)).key
  const round = async (work) => {
    if (work === null) return latencies(call, other)
    busy.send({ port, ...work })
    await once(busy, 'message')
    const found = await latencies(call, other)
    busy.send({ stop: true })
    await once(busy, 'message')
    return found
  }
  const cases = {
    quiet: null,
    'capabilities of one key': { keys: [attacker.key], kind: 'capabilities' },
    'capabilities of its keys': { keys: made, kind: 'capabilities' },
    'exports and statistics': { keys: [attacker.key], kind: 'reads' },
  }
  report(
    await inTurns(ROUNDS, Object.fromEntries(Object.entries(cases).map(([name, work]) => [name, () => round(work)]))),
  )
}

/** Policies that are slow to go through, and something to list, to count, to prove and to export. */
async function fill(call) {
  for (let p = 0; p < 40; p += 1) {
    const rules = Array.from({ length: 60 }, (_, i) => ({
      action: `*n${p}*x${i}*`,
      effect: i % 2 ? 'allow' : 'deny',
      conditions: { $or: Array.from({ length: 20 }, (_, j) => ({ 'context.s': { $like: `*${j}b*c*` } })) },
    }))
    await call(KEY, { method: 'POST', path: '/v1/policies', body: { name: `slow ${p}`, priority: p, rules } })
  }
  for (let i = 0; i < 2_000; i += 50)
    await Promise.all(
      Array.from({ length: 50 }, () => call(KEY, { method: 'POST', path: '/v1/decisions', body: ASKED })),
    )
}

/** The 99th percentile of each kind of call, in milliseconds; callers of each kind send one after the other. */
async function latencies(call, key) {
  const { id } = (await call(key, { method: 'POST', path: '/v1/decisions', body: ASKED })).json
  const kinds = {
    decision: { method: 'POST', path: '/v1/decisions', body: ASKED },
    list: { method: 'GET', path: '/v1/decisions?limit=20' },
    simulation: { method: 'POST', path: '/v1/simulate', body: { request: ASKED } },
    proof: { method: 'GET', path: `/v1/audit/proof?decision_id=${id}` },
  }
  const end = performance.now() + ROUND_MS
  const found = await Promise.all(
    Object.entries(kinds).map(async ([kind, asked]) => {
      const waits = []
      while (performance.now() < end) {
        const started = performance.now()
        const { status } = await call(key, asked)
        if (status !== 200) throw new Error(`A ${kind} of the other key was answered with ${status}.`)
        waits.push(performance.now() - started)
      }
      waits.sort((one, another) => one - another)
      return [kind, { p99: waits[Math.floor(waits.length * 0.99)], worst: waits.at(-1) }]
    }),
  )
  return Object.fromEntries(found)
}

function report(figures) {
  const names = Object.keys(figures)
  const kinds = Object.keys(figures.quiet[0])
  const of = (name, kind) => figures[name].map((found) => found[kind].p99)
  const worstOf = (name, kind) => Math.max(...figures[name].map((found) => found[kind].worst))
  printTable(
    ['99th percentile of the other key', ...kinds],
    names.map((name) => [
      name,
      ...kinds.map((kind) => {
        const ms = `${median(of(name, kind)).toFixed(0)} ms`
        const ratio = name === 'quiet' ? '' : ` (${ratioOf(of(name, kind), of('quiet', kind)).toFixed(1)} x)`
        return `${ms}${ratio}, worst ${worstOf(name, kind).toFixed(0)}`
      }),
    ]),
  )
  const worst = Math.max(...names.flatMap((name) => kinds.map((kind) => ratioOf(of(name, kind), of('quiet', kind)))))
  console.log(`\nworst ratio to quiet: ${worst.toFixed(1)}, goal < ${GOAL}: ${worst < GOAL ? 'met' : 'missed'}`)
}

/** A single call may take far longer than the 99th percentile: what the server did meanwhile says whose doing that is. */
function reportStalls(stalls) {
  console.log(
    `\nlongest times in which the main thread of the server came to no next turn (of ${stalls.length} above 20 ms)`,
  )
  printTable(
    ['ms', 'it ran', 'collection of garbage', 'it waited for a CPU'],
    stalls
      .slice(0, 5)
      .map(({ ms, ranMs, collectedMs, waitedMs }) => [ms, ranMs, collectedMs, waitedMs].map((one) => one.toFixed(0))),
  )
  const own = Math.max(0, ...stalls.map(({ ranMs }) => ranMs))
  console.log(`longest that it ran itself in any of them: ${own.toFixed(0)} ms`)
}

function callerOf(port, agent = new Agent({ keepAlive: true })) {
  return async (key, { method, path, body }) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = { Authorization: `Bearer ${key}`, ...(text && { 'Content-Type': 'application/json' }) }
    const req = request({ port, host: '127.0.0.1', agent, method, path, headers }).end(text)
    const [res] = await once(req, 'response')
    let answer = ''
    for await (const piece of res.setEncoding('utf8')) answer += piece
    return {
      status: res.statusCode,
      json: res.headers['content-type']?.includes('json') && method === 'POST' ? JSON.parse(answer) : null,
    }
  }
}

/** The busy callers: told whose keys and what to send, they go on until they are told to stop. */
async function beBusy() {
  let agent = null
  process.on('message', ({ stop, port, keys, kind }) => {
    agent?.destroy()
    agent = null
    if (stop === true) return process.send('stopped')
    const own = new Agent({ keepAlive: true })
    agent = own
    const call = callerOf(port, own)
    for (let i = 0; i < CONNECTIONS; i += 1)
      void callOn(() => agent === own, call, own, port, keys[i % keys.length], kind, i)
    return process.send('busy')
  })
}

async function callOn(goesOn, call, agent, port, key, kind, i) {
  while (goesOn())
    try {
      if (kind === 'capabilities') await call(key, CAPABILITIES)
      else if (i % 2 === 0) await call(key, { method: 'GET', path: '/v1/stats?interval=minute&group=action' })
      else await readSlowly(agent, port, key)
    } catch {
      // The connection was ended, by the server or at the end of the round.
    }
}

/** Opens an export and takes nothing of it for a second. */
async function readSlowly(agent, port, key) {
  const headers = { Authorization: `Bearer ${key}` }
  const req = request({ port, host: '127.0.0.1', agent, path: '/v1/audit/export', headers }).end()
  const [res] = await once(req, 'response')
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  res.destroy()
}
