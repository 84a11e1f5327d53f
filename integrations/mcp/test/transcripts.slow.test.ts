/**
 * Servers of npm, with and without the proxy before them: a client hears and is asked the same, feature by feature. What a
 * server has not is named by the tests; nothing is shown about it.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@countersign/testkit'
import { Operator, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { DrivenClient, PATIENCE_MS } from './driven-client.js'
import { commandOf, proxyEnvironment, saidUrl } from './proxies.js'
import type { Line, Transcript } from './transcript.js'
import { EVIDENCE, serverEverything, serverFilesystem, type Upstream } from './upstream-features.js'

const folder = mkdtempSync(join(tmpdir(), 'transcripts-'))
const point = useDecisionPoint()
let environment: Record<string, string>
const children: ChildProcess[] = []

beforeAll(async () => {
  const operator = new Operator(point())
  await operator.makePolicy('upstream.use', 'allow')
  environment = proxyEnvironment(point().url, await operator.makeKey())
})

afterAll(async () => {
  for (const child of children) {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  rmSync(folder, { recursive: true })
})

/** How a client reaches a server, and the same server behind the proxy. */
interface Way {
  direct(upstream: Upstream): Promise<Transport> | Transport
  proxied(upstream: Upstream, config: string): Promise<Transport> | Transport
}

const stdio: Way = {
  direct: ({ args }) => new StdioClientTransport({ command: process.execPath, args: [...args], stderr: 'ignore' }),
  proxied({ args }, config) {
    const proxy = commandOf('--agent', 'agent:driven', '--config', config, '--', process.execPath, ...args)
    return new StdioClientTransport({ ...proxy, env: environment, stderr: 'ignore' })
  },
}

/**
 * A client of this SDK takes the stream of a request up that was answered by an error, a second later, and server-everything then sends
 * all again that it has said since on any stream: in the midst of whatever is tried by then.
 */
const reconnectionOptions = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 0,
}

const http: Way = {
  async direct({ args }) {
    const url = await started(process.execPath, args)
    return new StreamableHTTPClientTransport(url, { reconnectionOptions })
  },
  async proxied({ args }, config) {
    const upstream = await started(process.execPath, args)
    const options = ['--agent', 'agent:driven', '--config', config, '--upstream', upstream.href]
    const proxy = commandOf(...options, '--listen', '127.0.0.1:0')
    const child = spawn(proxy.command, proxy.args, { env: environment, stdio: ['ignore', 'ignore', 'pipe'] })
    children.push(child)
    return new StreamableHTTPClientTransport(await saidUrl(child), { reconnectionOptions })
  },
}

/** A process that serves `/mcp`. It does not say which port it takes, so it gets one that was free. */
async function started(command: string, args: readonly string[]): Promise<URL> {
  const port = await freePort()
  children.push(spawn(command, args, { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' }))
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  await vi.waitFor(() => fetch(url, { method: 'DELETE' }), { timeout: PATIENCE_MS, interval: 50 })
  return url
}

const UPSTREAMS: readonly (readonly [Upstream, Way])[] = [
  [serverEverything('stdio'), stdio],
  [serverEverything('streamableHttp'), http],
  [serverFilesystem(mkdtempSync(join(folder, 'served-'))), stdio],
]

describe.each(UPSTREAMS)('$name', (upstream, way) => {
  let direct: Transcript
  let proxied: Transcript

  beforeAll(async () => {
    const first = await driven(upstream, await way.direct(upstream))
    direct = first.transcript
    const config = join(folder, `${upstream.name}.json`)
    const names = [...first.toolNames, 'no-such-tool']
    const mapped = names.map((name) => [name, { action: 'upstream.use', resource: null }])
    // Also tasks that are not there are asked of the server, and it may ask what it likes.
    const pass = ['tasks/get', 'sampling/createMessage', 'elicitation/create', 'roots/list']
    writeFileSync(config, JSON.stringify({ tools: Object.fromEntries(mapped), others: 'pass', pass }))
    proxied = (await driven(upstream, await way.proxied(upstream, config))).transcript
  }, 2 * PATIENCE_MS)

  it.each(Object.keys(upstream.script))('says the same behind the proxy: %s', (feature) => {
    // Streams of HTTP overtake one another, and so do those who poll.
    const isOrdered = way === stdio && !feature.includes('task')
    const said = (transcript: Transcript): readonly Line[] => {
      const lines = transcript.of(feature)
      return isOrdered ? lines : lines.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
    }
    expect(said(direct)).not.toEqual([])
    expect(said(proxied)).toEqual(said(direct))
  })

  it(`shows nothing about what it lacks: ${upstream.lacks.join(', ')}`, () => {
    const said = direct.features.flatMap((feature) => direct.of(feature))
    const lacks = Object.entries(EVIDENCE).filter(([, isEvidence]) => !said.some(isEvidence))
    expect(lacks.map(([feature]) => feature)).toEqual(upstream.lacks)
  })
})

/** Tries all features, one after another. */
async function driven(upstream: Upstream, transport: Transport) {
  const client = new DrivenClient([...upstream.roots])
  await client.connect(transport)
  for (const [feature, run] of Object.entries(upstream.script)) {
    client.transcript.begin(feature)
    await run(client, feature)
    await client.hearAll(upstream.knowsRoots)
  }
  client.transcript.begin('closing')
  const toolNames = await client.toolNames()
  if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession()
  await client.sdk.close()
  return { transcript: client.transcript, toolNames }
}
