/**
 * What a gate adds to a call of an MCP tool that does nothing, beside the same server without one, per call: `gate` for both
 * majors of the SDK, with client and server in this process; and the proxy over standard input and output and over HTTP, with
 * client, proxy and server in processes of their own. CPU is that of the processes that are added: this one for `gate`, the proxy for the
 * others. The decision point is a process of its own, which answers at once. The cases take turns, and ratios are taken inside a
 * round, so that a busy machine slows all of them alike. Without any MCP there are the two calls of the client that a gate makes.
 * Run: node bench/mcp.mjs
 */
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Countersign } from '@countersign/client'
import { gate } from '@countersign/mcp'
import { Client as ClientV2, InMemoryTransport as InMemoryV2 } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpServer as McpServerV2 } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { cpuOf } from './parts/cpu.mjs'
import { inTurns, median, ratioOf } from './parts/figures.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const CALLS = 60
const INFO = { name: 'bench', version: '1.0.0' }
const KEY = 'key-of-a-bench'
const AGENT = 'agent:support-7'
const call = { name: 'refund', arguments: { order: '8812', amount: 42.5 } }
const SERVER = fileURLToPath(new URL('parts/mcp-server.mjs', import.meta.url))
const PROXY = fileURLToPath(new URL('../integrations/mcp/dist/cli.js', import.meta.url))

const children = []
const closing = []
const decide = started(fork(fileURLToPath(new URL('parts/decision-point.mjs', import.meta.url))))
const [{ port }] = await once(decide, 'message')
const baseUrl = `http://127.0.0.1:${port}`
const countersign = new Countersign({ baseUrl, apiKey: KEY })
const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'))

const tool = { action: 'payment.refund', resource: 'order:{order}', context: ['amount'] }
const config = join(folder, 'countersign-mcp.json')
writeFileSync(config, JSON.stringify({ tools: { refund: tool } }))
const options = {
  client: countersign,
  agentId: AGENT,
  map: {
    refund: {
      action: tool.action,
      resource: ({ order }) => `order:${order}`,
      context: ({ amount }) => ({ amount }),
    },
  },
}
/** Of the proxy. */
const env = { PATH: process.env.PATH, COUNTERSIGN_URL: baseUrl, COUNTERSIGN_API_KEY: KEY }
const asIs = (server) => server
const gated = (server) => gate(server, options)

try {
  const { alone } = await inTurns(ROUNDS, {
    alone: () => measure({ client: { callTool: askAndConfirm }, pid: process.pid }),
  })
  const [time, cpu] = ['time', 'cpu'].map((kind) => us(median(alone.map((one) => one[kind]))))
  console.log(`\nauthorize and confirm alone: time ${time}, CPU ${cpu}`)
  const inMemory = {
    'sdk 1.x': await v1(asIs),
    'sdk 1.x, gate': await v1(gated),
    'server 2.x': await v2(asIs),
    'server 2.x, gate': await v2(gated),
  }
  const overPipes = { stdio: await overStdio(), 'stdio, proxy': await overProxiedStdio() }
  const overHttp = { HTTP: await overStreams(await httpServer()), 'HTTP, proxy': await overProxiedStreams() }
  for (const [plain, added] of pairsOf({ ...inMemory, ...overPipes, ...overHttp })) {
    const cases = Object.fromEntries([plain, added].map(([name, one]) => [name, () => measure(one)]))
    report(plain[0], added[0], await inTurns(ROUNDS, cases))
  }
} finally {
  for (const close of closing) await close()
  countersign.close()
  for (const child of children) child.kill()
  rmSync(folder, { recursive: true })
}

async function askAndConfirm() {
  const { id } = await countersign.authorize({
    agent_id: AGENT,
    action: tool.action,
    resource: 'order:8812',
    context: { amount: 42.5 },
  })
  await countersign.decisions.confirm(id)
  return {}
}

/** Each case beside the one without a gate. */
function pairsOf(cases) {
  const entries = Object.entries(cases)
  return entries.flatMap((entry, at) => (at % 2 === 0 ? [[entry, entries[at + 1]]] : []))
}

/** Microseconds per call, one after another: of time, and of CPU of the process that the case names. */
async function measure({ client, pid }) {
  const cpu = cpuOf(pid).all
  const start = performance.now()
  for (let made = 0; made < CALLS; made += 1) {
    const { isError } = await client.callTool(call)
    if (isError) throw new Error('the tool did not run')
  }
  // What became of the calls is told after their answers, and counts, too.
  await countersign.flush()
  return { time: ((performance.now() - start) * 1000) / CALLS, cpu: (cpuOf(pid).all - cpu) / 1000 / CALLS }
}

async function v1(around) {
  const [near, far] = InMemoryTransport.createLinkedPair()
  return inProcess(new McpServer(INFO), around, far, new Client(INFO), near)
}

async function v2(around) {
  const [near, far] = InMemoryV2.createLinkedPair()
  return inProcess(new McpServerV2(INFO), around, far, new ClientV2(INFO), near)
}

async function inProcess(server, around, far, client, near) {
  const inputSchema = z.object({ order: z.string(), amount: z.number() })
  server.registerTool('refund', { inputSchema }, () => ({ content: [{ type: 'text', text: 'Refunded.' }] }))
  await around(server).connect(far)
  return connected(client, near, process.pid)
}

async function overStdio() {
  const transport = new StdioClientTransport({ command: process.execPath, args: [SERVER] })
  return connected(new Client(INFO), transport)
}

async function overProxiedStdio() {
  const args = [PROXY, '--agent', AGENT, '--config', config, '--', process.execPath, SERVER]
  return connected(
    new Client(INFO),
    new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }),
  )
}

function overStreams(url, pid) {
  return connected(new Client(INFO), new StreamableHTTPClientTransport(url), pid)
}

async function overProxiedStreams() {
  const upstream = await httpServer()
  const listening = await freePort()
  const args = [PROXY, '--agent', AGENT, '--config', config, '--upstream', upstream.href]
  const proxy = started(
    spawn(process.execPath, [...args, '--listen', `127.0.0.1:${listening}`], { env, stdio: 'ignore' }),
  )
  const url = new URL(`http://127.0.0.1:${listening}/mcp`)
  while (!(await fetch(url, { method: 'DELETE' }).catch(() => null))) await pause(50)
  return overStreams(url, proxy.pid)
}

async function httpServer() {
  const [{ port: listening }] = await once(started(fork(SERVER)), 'message')
  return new URL(`http://127.0.0.1:${listening}/mcp`)
}

/** @param pid whose CPU counts; without one that of the process that the transport has started */
async function connected(client, transport, pid) {
  await client.connect(transport)
  closing.push(() => client.close())
  return { client, pid: pid ?? transport.pid ?? process.pid }
}

function started(child) {
  children.push(child)
  return child
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: free } = server.address()
  server.close()
  await once(server, 'close')
  return free
}

function report(plain, added, figures) {
  const of = (name, kind) => figures[name].map((one) => one[kind])
  const [without, within] = [of(plain, 'time'), of(added, 'time')]
  const more = median(within.map((time, round) => time - without[round]))
  console.log(`\n${added}: medians of ${ROUNDS} rounds of ${CALLS} calls, one after another, per call`)
  console.log(
    `  time    ${us(median(within))}, without ${us(median(without))}: ${us(more)} more, x ${ratioOf(within, without).toFixed(2)}`,
  )
  // Within one process the same process does both; else the proxy is what is added.
  const isOneProcess = !added.includes('proxy')
  const cpu = of(added, 'cpu')
  const compared = isOneProcess
    ? `, without ${us(median(of(plain, 'cpu')))}: x ${ratioOf(cpu, of(plain, 'cpu')).toFixed(2)}`
    : ' in the proxy'
  console.log(`  CPU     ${us(median(cpu))}${compared}`)
}

function us(figure) {
  return `${figure.toFixed(0)} us`
}
