/** A client on standard input in front of a server of Streamable HTTP. The numbers are those of the acceptance cases. */
import { PassThrough } from 'node:stream'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { readLines } from '../src/proxy/json-lines.js'
import { RemoteServer } from '../src/proxy/remote-server.js'
import { stdioProxy } from '../src/proxy/stdio-proxy.js'
import { serve, serveSessions, serveStateless, type Upstream } from './http-rig.js'
import { decisionOf, Rig, say, textOf, withTools } from './rig.js'
import { SDKS, type Sdk, type ToolWork } from './sdks.js'

const point = useDecisionPoint()
let rig: Rig
beforeAll(async () => {
  rig = await Rig.open(point())
})
beforeEach(() => {
  rig.events.length = 0
})

const [v1, v2] = SDKS as [Sdk, Sdk]
const until = (holds: () => unknown) => expect.poll(holds, { interval: 5, timeout: 10_000 }).toBeTruthy()

/** One message a line, as over standard input and output. */
class Lines {
  readonly input = new PassThrough()
  readonly output = new PassThrough()
  onmessage?: (message: never) => void
  onclose?: () => void

  async start(): Promise<void> {
    readLines(this.output, { onMessage: (message) => this.onmessage?.(message as never), onGarbage: () => undefined })
  }

  async send(message: unknown): Promise<void> {
    this.input.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    this.input.end()
    this.onclose?.()
  }
}

/** The proxy between a client on lines and a server elsewhere. */
function proxied(upstream: Upstream, change = {}) {
  const lines = new Lines()
  const log: string[] = []
  const say = (line: string): void => void log.push(line)
  const server = new RemoteServer(upstream.url, {}, { info: say, warn: say, error: say })
  const { input, output } = lines
  const { signal } = new AbortController()
  const options = { server, gate: rig.options(change), input, output, signal }
  const ended = stdioProxy({ ...options, log: { info: say, warn: say, error: say } })
  onTestFinished(async () => {
    input.end()
    await ended
  })
  return { lines, log, ended }
}

const INFO = { name: 'rig', version: '1.0.0' }
const KINDS = [
  { name: 'a client 1.x', major: 1, mode: 'legacy' as const },
  { name: 'a client 2.x', major: 2, mode: 'legacy' as const },
  { name: 'a client 2.x of 2026-07-28', major: 2, mode: 'auto' as const },
]

// biome-ignore lint/suspicious/noExplicitAny: of either major.
type AnyClient = any

interface Connecting {
  readonly capabilities?: object
  readonly prepare?: (client: AnyClient) => void
}

async function connect(
  { major, mode }: (typeof KINDS)[number],
  lines: Lines,
  { capabilities = {}, prepare }: Connecting = {},
): Promise<AnyClient> {
  const client =
    major === 1
      ? new ClientV1(INFO, { capabilities })
      : new ClientV2(INFO, { capabilities, versionNegotiation: { mode } })
  prepare?.(client)
  await client.connect(lines as never)
  return client
}

describe.each(KINDS)('$name', (kind) => {
  it.each(['sessions of 1.x', 'sessions of 2.x', 'no sessions'])(
    '42, 43: stands in front of a server with %s',
    async (name) => {
      const runs: string[] = []
      const make = (sdk: Sdk) => () => withTools(sdk.mcpServer(), runs)
      const upstream =
        name === 'no sessions'
          ? await serveStateless(make(v2))
          : await serveSessions(name.endsWith('1.x') ? v1 : v2, make(name.endsWith('1.x') ? v1 : v2))
      const { lines, ended } = proxied(upstream)
      const client = await connect(kind, lines)
      expect((await client.listTools()).tools.length).toBe(4)
      const allowed = await client.callTool({ name: 'allow', arguments: { n: 1 } })
      expect([textOf(allowed), decisionOf(allowed)]).toEqual(['did 1', expect.objectContaining({ effect: 'allow' })])
      expect((await client.callTool({ name: 'deny', arguments: { n: 2 } })).isError).toBe(true)
      await client.close()
      expect(await ended).toBe('client')
      expect(upstream.seen.at(-1)!.method).toBe(name === 'no sessions' ? 'POST' : 'DELETE')
      expect([runs, await rig.statuses()]).toEqual([['allow 1'], ['confirmed', 'denied']])
    },
  )
})

describe.each([v1, v2])('in front of a server of $name', (sdk) => {
  it('what the server sends by itself arrives, and what it asks is answered', async () => {
    let roots: () => Promise<unknown> = async () => undefined
    const upstream = await serveSessions(sdk, () => {
      const server = withTools(sdk.mcpServer(), [])
      roots = () => (server.server as unknown as { listRoots(): Promise<unknown> }).listRoots()
      return server
    })
    const { lines } = proxied(upstream)
    await connect(KINDS[1]!, lines, {
      capabilities: { roots: {} },
      prepare: (client) => client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///here' }] })),
    })
    await until(() => upstream.seen.some(({ method }) => method === 'GET'))
    await expect.poll(roots).toMatchObject({ roots: [{ uri: 'file:///here' }] })
    expect(upstream.seen.at(-1)!.headers['mcp-protocol-version']).toBe('2025-11-25')
  })

  it('57: a stream that breaks is taken up, and the call is settled by what it brings then', async () => {
    let end: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    let begun = 0
    const work: ToolWork = async (_args, context) => {
      const notify = context.sendNotification ?? context.mcpReq.notify
      await notify({
        method: 'notifications/progress',
        params: { progressToken: (context._meta ?? context.mcpReq._meta).progressToken, progress: 1 },
      }).catch(() => undefined)
      begun += 1
      await held
      return say('did it')
    }
    const upstream = await serveSessions(sdk, () => withTools(sdk.mcpServer(), [], work), {
      resumable: true,
      retryMs: 1,
    })
    const { lines } = proxied(upstream)
    const client = await connect(KINDS[0]!, lines)
    let steps = 0
    const onprogress = (): void => {
      steps += 1
    }
    const called = client.callTool({ name: 'allow', arguments: { n: 1 } }, undefined, { onprogress })
    await until(() => begun && upstream.seen.some(({ method }) => method === 'GET'))
    await until(() => steps)
    upstream.cut()
    await until(() => upstream.seen.some(({ headers }) => headers['last-event-id'] !== undefined))
    end()
    expect(textOf(await called)).toBe('did it')
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('55: ends when the session has expired', async () => {
    const upstream = await serveSessions(sdk, () => withTools(sdk.mcpServer(), []))
    const { lines, log, ended } = proxied(upstream)
    const client = await connect(KINDS[0]!, lines)
    await until(() => upstream.seen.some(({ method }) => method === 'GET'))
    const id = upstream.seen.at(-1)!.headers['mcp-session-id'] as string
    await fetch(upstream.url, { method: 'DELETE', headers: { 'mcp-session-id': id } })
    await expect(client.callTool({ name: 'allow', arguments: { n: 1 } })).rejects.toThrow()
    expect(await ended).toBe('server')
    expect(log).toContain('The server has ended the session. Restart the client.')
  })
})

it.each([
  ['refused', 400, 'rejected'],
  ['lost', 502, 'authorized'],
])('a call whose answer is %s', async (_name, status, settled) => {
  const upstream = await serve((_request, response) => response.writeHead(status).end())
  const { lines } = proxied(upstream)
  const answers: unknown[] = []
  lines.onmessage = (message) => void answers.push(message)
  await lines.start()
  await lines.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'allow', arguments: { n: 1 } } })
  await until(() => answers.length)
  expect(answers).toMatchObject([{ id: 1, error: { code: -32603 } }])
  expect(await rig.statuses()).toEqual([settled])
})
