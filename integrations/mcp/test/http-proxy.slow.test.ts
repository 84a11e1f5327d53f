/** `countersign-mcp --listen --upstream` as a process, in front of `server-everything`. The numbers are those of the acceptance cases. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@countersign/testkit'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { CLIENT_V1, CLIENT_V2, callMessage, JSON_HEADERS, post, proxyOf, serve } from './http-rig.js'
import { decisionOf, Rig, textOf } from './rig.js'
import type { CallResult } from './sdks.js'

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
const EVERYTHING = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
)

const INFO = { name: 'rig', version: '1.0.0' }
/** How a client starts the proxy; the rest is known in each test. */
const remote = { command: process.execPath, args: [] as string[], stderr: 'ignore' as const }

const point = useDecisionPoint()
let rig: Rig
let apiKey: string
beforeAll(async () => {
  rig = await Rig.open(point())
  apiKey = await rig.operator.makeKey()
})

describe('the proxy as a process', () => {
  it.each([CLIENT_V1, CLIENT_V2])('42: stands in front of server-everything for $name', async ({ connect }) => {
    const proxy = await startProxy(await startEverything())
    const { client, transport } = await connect(proxy.url)
    const { tools } = await client.listTools()
    expect(tools.length).toBeGreaterThan(5)
    const echoed = await client.callTool({ name: 'echo', arguments: { message: 'hello' } })
    expect([textOf(echoed), decisionOf(echoed)]).toEqual(['Echo: hello', expect.objectContaining({ effect: 'allow' })])
    const denied = await client.callTool({ name: 'get-env', arguments: {} })
    expect([denied.isError, decisionOf(denied)]).toEqual([true, expect.objectContaining({ effect: 'deny' })])
    expect((await client.listResources()).resources.length).toBeGreaterThan(0)
    expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0)
    await transport.terminateSession()
    await proxy.stop()
    expect(proxy.output()).toEqual({ stdout: '', code: 0 })
    expect(proxy.log()).not.toContain(apiKey)
  })

  it('ends with care: what is pending is answered, and settled', async () => {
    const proxy = await startProxy(await startEverything())
    const { client } = await CLIENT_V1.connect(proxy.url)
    let steps = 0
    const onprogress = (): void => {
      steps += 1
    }
    const args = { name: 'trigger-long-running-operation', arguments: { duration: 2, steps: 4 } }
    const long = client.callTool(args, undefined, { onprogress })
    await expect.poll(() => steps).toBeGreaterThan(0)
    const ended = proxy.stop()
    const answer = await long
    expect(textOf(answer)).toContain('completed')
    await ended
    const { id } = decisionOf(answer) as { id: string }
    expect((await rig.operator.decision(id)).status).toBe('confirmed')
    expect(proxy.output()).toEqual({ stdout: '', code: 0 })
  })

  it('ends though a client reads nothing of what it is sent', async () => {
    rig.events.length = 0
    const note = {
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'info', data: 'x'.repeat(100_000) },
    }
    const upstream = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let n = 0; n < 300; n += 1) response.write(`data: ${JSON.stringify(note)}\n\n`)
    })
    const proxy = await proxyOf(rig, upstream.url)
    const body = JSON.stringify(callMessage(1))
    const reading = request(proxy.url, { method: 'POST', headers: JSON_HEADERS }).end(body)
    const [response] = await once(reading, 'response')
    response.on('error', () => undefined).pause()
    await proxy.close()
    expect(await rig.statuses()).toEqual(['authorized'])
  })

  it('knows its clients by their tokens, and asks for each as its agent', async () => {
    const clients = ['anna', 'bert'].map((name) => ({
      agent_id: `agent:${name}`,
      token_sha256: createHash('sha256').update(`token-of-${name}`).digest('hex'),
    }))
    const proxy = await startProxy(await startEverything(), { clients }, { COUNTERSIGN_AGENT_ID: 'agent:somebody' })
    expect((await post(proxy.url, { jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(401)
    for (const name of ['anna', 'bert']) {
      const { client } = await CLIENT_V2.connect(proxy.url, { headers: { authorization: `Bearer token-of-${name}` } })
      const { id } = decisionOf(await client.callTool({ name: 'echo', arguments: { message: name } })) as { id: string }
      expect((await rig.operator.decision(id)).agent_id).toBe(`agent:${name}`)
    }
    await proxy.stop()
    expect(proxy.output()).toEqual({ stdout: '', code: 0 })
    expect(proxy.log()).not.toMatch(/token-of/)
  })

  it.each([
    ['1.x', () => new StdioV1(remote), () => new ClientV1(INFO)],
    ['2.x', () => new StdioV2(remote), () => new ClientV2(INFO)],
  ])('42: stands in front of it for a client %s that starts it itself', async (_name, transport, client) => {
    const folder = configured()
    const env = { PATH: process.env.PATH!, COUNTERSIGN_URL: point().url, COUNTERSIGN_API_KEY: apiKey }
    Object.assign(remote, { args: [CLI, '--upstream', await startEverything()], cwd: folder, env })
    const [started, connected] = [transport(), client() as ClientV1]
    await connected.connect(started as never)
    onTestFinished(() => connected.close())
    const echoed = (await connected.callTool({ name: 'echo', arguments: { message: 'hello' } })) as CallResult
    expect([textOf(echoed), decisionOf(echoed)]).toEqual(['Echo: hello', expect.objectContaining({ effect: 'allow' })])
    expect((await connected.callTool({ name: 'get-env', arguments: {} })).isError).toBe(true)
    expect((await connected.listResources()).resources.length).toBeGreaterThan(0)
  })

  it('does not start where it would let in whom it cannot know', async () => {
    const { status, stderr } = await run(['--listen', '0.0.0.0:0', '--upstream', 'http://127.0.0.1:9/mcp'])
    expect([status, stderr]).toEqual([78, expect.stringContaining('would let other machines call tools')])
  })
})

/** The URL of a new one. */
async function startEverything(): Promise<string> {
  const port = await freePort()
  const child = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
    env: { PATH: process.env.PATH, PORT: `${port}` },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  endAfterTest(child)
  for await (const line of child.stderr!) if (`${line}`.includes('listening on port')) break
  return `http://127.0.0.1:${port}/mcp`
}

/** A folder with a configuration. */
function configured(config: object = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-mcp-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const tools = Object.fromEntries(
    [
      ['echo', 'allow'],
      ['trigger-long-running-operation', 'allow'],
      ['get-env', 'deny'],
    ].map(([tool, effect]) => [tool, { action: `t.${effect}`, resource: null }]),
  )
  writeFileSync(join(folder, 'countersign-mcp.json'), JSON.stringify({ agent_id: rig.agentId, tools, ...config }))
  return folder
}

function spawnProxy(args: readonly string[], config?: object, added: NodeJS.ProcessEnv = {}): ChildProcess {
  const env = { PATH: process.env.PATH, COUNTERSIGN_URL: point().url, COUNTERSIGN_API_KEY: apiKey, ...added }
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: configured(config),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endAfterTest(child)
  return child
}

async function startProxy(upstream: string, config?: object, env?: NodeJS.ProcessEnv) {
  const child = spawnProxy(['--listen', '127.0.0.1:0', '--upstream', upstream], config, env)
  let stdout = ''
  let stderr = ''
  child.stdout!.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr!.on('data', (chunk) => {
    stderr += chunk
  })
  const url = (): string | undefined => /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(stderr)?.[0]
  await expect.poll(url, { timeout: 20_000 }).toBeDefined()
  return {
    url: new URL(url()!),
    log: () => stderr,
    output: () => ({ stdout, code: child.exitCode }),
    async stop(): Promise<void> {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function run(args: readonly string[]) {
  const child = spawnProxy(args)
  let stderr = ''
  child.stderr!.on('data', (chunk) => {
    stderr += chunk
  })
  const [status] = await once(child, 'close')
  return { status, stderr }
}

function endAfterTest(child: ChildProcess): void {
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exited
  })
}
