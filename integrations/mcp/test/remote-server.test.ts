/** A client on standard input in front of a server of Streamable HTTP. The numbers are those of the acceptance cases. */
import { PassThrough } from 'node:stream'
import { text as textOfStream } from 'node:stream/consumers'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { RemoteServer } from '../src/proxy/http/remote-server.js'
import { SERVER_LINES } from '../src/proxy/message-text.js'
import { readLines } from '../src/proxy/stdio/json-lines.js'
import { stdioProxy } from '../src/proxy/stdio/stdio-proxy.js'
import { serve, serveSessions, serveStateless, type Upstream } from './http-rig.js'
import { decisionOf, say, textOf, useRig, withTools } from './rig.js'
import { SDKS, type Sdk, type ToolWork } from './sdks.js'

const rig = useRig()

const [v1, v2] = SDKS as [Sdk, Sdk]
const until = (holds: () => unknown) => expect.poll(holds, { interval: 5, timeout: 10_000 }).toBeTruthy()

/** One message a line, as over standard input and output. */
class Lines {
  readonly input = new PassThrough()
  readonly output = new PassThrough()
  onmessage?: (message: never) => void
  onclose?: () => void

  async start(): Promise<void> {
    const onMessage = (message: unknown): void => this.onmessage?.(message as never)
    readLines(this.output, { onMessage, onGarbage: () => undefined }, SERVER_LINES)
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
  const options = { server, gate: rig().options(change), input, output, signal }
  const ended = stdioProxy({ ...options, log: { info: say, warn: say, error: say } })
  onTestFinished(async () => {
    input.end()
    await ended
  })
  return { lines, log, ended }
}

// biome-ignore lint/suspicious/noExplicitAny: what a client throws.
const asItIs = (error: any): any => error
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
      expect([runs, await rig().statuses()]).toEqual([['allow 1'], ['confirmed', 'denied']])
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
    expect(await rig().statuses()).toEqual(['confirmed'])
  })

  it('55: a session that the server has ended is started again, and the call runs once', async () => {
    const runs: string[] = []
    const upstream = await serveSessions(sdk, () => withTools(sdk.mcpServer(), runs))
    const { lines, log } = proxied(upstream)
    const client = await connect(KINDS[0]!, lines)
    await until(() => upstream.seen.some(({ method }) => method === 'GET'))
    const id = upstream.seen.at(-1)!.headers['mcp-session-id'] as string
    await fetch(upstream.url, { method: 'DELETE', headers: { 'mcp-session-id': id } })
    const calls = [1, 2, 3].map((n) => client.callTool({ name: 'allow', arguments: { n } }))
    expect((await Promise.all(calls)).map(textOf)).toEqual(['did 1', 'did 2', 'did 3'])
    expect(runs.toSorted()).toEqual(['allow 1', 'allow 2', 'allow 3'])
    expect(await rig().statuses()).toEqual(['confirmed', 'confirmed', 'confirmed'])
    // One session for all, on whose stream the server can be heard again.
    const opened = upstream.seen.filter(({ headers }) => headers['mcp-session-id'] === undefined)
    expect(opened).toHaveLength(2)
    // The SDK may have asked once more for the stream of the old session, which has ended too.
    const isNew = (session: unknown): boolean => session !== undefined && session !== id
    await until(() => upstream.seen.some((seen) => seen.method === 'GET' && isNew(seen.headers['mcp-session-id'])))
    expect(log).toContain('The server had ended the session. The proxy has started a new one.')
    expect((await client.listTools()).tools).toHaveLength(4)
  })

  it('what is sent to open an open session is answered by the server', async () => {
    const upstream = await serveSessions(sdk, () => withTools(sdk.mcpServer(), []))
    const { lines } = proxied(upstream)
    const client = await connect(KINDS[0]!, lines)
    const again = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO }
    const refused = await client.request({ method: 'initialize', params: again }, ResultSchema).catch(asItIs)
    expect(refused).toMatchObject({ code: -32_600, message: expect.stringContaining('Server already initialized') })
    expect(textOf(await client.callTool({ name: 'allow', arguments: { n: 1 } }))).toBe('did 1')
  })

  it('what is sent to open a session that the server has ended opens a new one', async () => {
    const upstream = await serveSessions(sdk, () => withTools(sdk.mcpServer(), []))
    const { lines } = proxied(upstream)
    const client = await connect(KINDS[0]!, lines)
    const sessions = () => new Set(upstream.seen.map(({ headers }) => headers['mcp-session-id']).filter(Boolean))
    await until(() => sessions().size === 1)
    const [id] = sessions() as Set<string>
    await fetch(upstream.url, { method: 'DELETE', headers: { 'mcp-session-id': id! } })
    const again = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO }
    const opened = await client.request({ method: 'initialize', params: again }, ResultSchema).catch(asItIs)
    expect(opened).toMatchObject({ protocolVersion: '2025-11-25' })
    await client.notification({ method: 'notifications/initialized' })
    expect(textOf(await client.callTool({ name: 'allow', arguments: { n: 1 } }))).toBe('did 1')
    expect(sessions().size).toBe(2)
  })
})

/** A server by hand, with sessions: what it answers to a request, by its method. */
async function serveByHand(
  answers: (method: string, count: number) => [status: number, body?: string, headers?: object],
) {
  const calls: string[] = []
  const sessions: unknown[] = []
  const upstream = await serve(async (request, response) => {
    const { id, method, params } = JSON.parse((await textOfStream(request)) || '{}')
    if (id === undefined) return response.writeHead(request.method === 'GET' ? 405 : 202).end()
    calls.push(method)
    sessions.push(request.headers['mcp-session-id'])
    const [status, body, headers = {}] = answers(method, calls.filter((one) => one === method).length)
    const serverInfo = { name: 'by hand', version: '1' }
    const result = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
    const opened = method === 'initialize' && { 'mcp-session-id': `session-${calls.length}` }
    response.writeHead(status, { 'content-type': 'application/json', ...opened, ...headers })
    response.end(body?.replace('ID', JSON.stringify(id)) ?? JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  return { upstream, calls, sessions }
}

describe('a call whose session is gone', () => {
  it('is tried once more, and rejected when that one is gone, too', async () => {
    const { upstream, calls } = await serveByHand((method) => (method === 'tools/call' ? [404, ''] : [200]))
    const { lines, ended } = proxied(upstream)
    const client = await connect(KINDS[0]!, lines)
    const failed = await client.callTool({ name: 'allow', arguments: { n: 1 } }).catch(asItIs)
    expect(failed).toMatchObject({
      code: -32_603,
      message: expect.stringContaining('HTTP 404 Not Found'),
      data: { status: 404 },
    })
    expect(calls).toEqual(['initialize', 'tools/call', 'initialize', 'tools/call'])
    expect(await rig().statuses()).toEqual(['rejected'])
    // The client may go on.
    await client.callTool({ name: 'allow', arguments: { n: 2 } }).catch(asItIs)
    expect(calls.slice(4)).toEqual(['tools/call', 'initialize', 'tools/call'])
    await client.close()
    expect(await ended).toBe('client')
  })

  it.each([
    ['refuses a new one', () => [403, '{}'] as [number, string]],
    [
      'speaks another protocol by now',
      () =>
        [200, '{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2024-11-05","capabilities":{}}}'] as [
          number,
          string,
        ],
    ],
  ])('is rejected when the server %s', async (_name, again) => {
    const { upstream, calls } = await serveByHand((method, count) => {
      if (method === 'tools/call') return [404, '']
      return count > 1 ? again() : [200]
    })
    const { lines, log } = proxied(upstream)
    const client = await connect(KINDS[0]!, lines)
    await expect(client.callTool({ name: 'allow', arguments: { n: 1 } })).rejects.toThrow('HTTP 404')
    expect(calls).toEqual(['initialize', 'tools/call', 'initialize'])
    expect(await rig().statuses()).toEqual(['rejected'])
    expect(log.join('\n')).toContain('did not start a new one')
  })
})

describe('what the server refuses', () => {
  const words = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no such tenant"}}'
  it.each([
    [401, { 'www-authenticate': 'Bearer error="invalid_token"' }, 'rejected'],
    [403, { 'www-authenticate': 'Bearer error="insufficient_scope"' }, 'rejected'],
    [429, { 'retry-after': '30' }, 'authorized'],
    [503, { 'retry-after': '5' }, 'authorized'],
  ])('is told by its status and what to do about it: %s', async (status, headers, settled) => {
    const { upstream } = await serveByHand((method) => (method === 'tools/call' ? [status, '', headers] : [200]))
    const { lines } = proxied(upstream)
    const client = await connect(KINDS[0]!, lines)
    const failed = await client.callTool({ name: 'allow', arguments: { n: 1 } }).catch(asItIs)
    const [[name, value]] = Object.entries(headers) as [[string, string]]
    expect(failed).toMatchObject({ code: -32_603, data: { status, headers } })
    expect(failed.message).toContain(`The server answered HTTP ${status} `)
    expect(failed.message).toContain(`(${name}: ${value})`)
    expect(await rig().statuses()).toEqual([settled])
  })

  it('is told in its own words, where it has any', async () => {
    const { upstream } = await serveByHand((method) => (method === 'tools/call' ? [403, words] : [200]))
    const { lines } = proxied(upstream)
    const client = await connect(KINDS[0]!, lines)
    const failed = await client.callTool({ name: 'allow', arguments: { n: 1 } }).catch(asItIs)
    expect(failed).toMatchObject({
      code: -32_001,
      message: expect.stringContaining('no such tenant'),
      data: { status: 403 },
    })
    expect(await rig().statuses()).toEqual(['rejected'])
  })
})

describe('a tool whose schema names headers', () => {
  const order = z.string().meta({ 'x-mcp-header': 'Order-Id' })
  const inner = z.object({ flag: z.boolean().meta({ 'x-mcp-header': 'flag' }), note: z.string().optional() })
  const inputSchema = z.object({ order, n: z.int().meta({ 'x-mcp-header': 'N' }), inner: inner.optional() })
  const make = (runs: string[]) => () => {
    const server = v2.mcpServer()
    server.registerTool('allow', { inputSchema }, (args) => {
      runs.push(JSON.stringify(args))
      return say('did it')
    })
    return server
  }

  it.each([
    ['that was listed before', true],
    ['that nobody has listed', false],
  ])('can be called: one %s', async (_name, isListed) => {
    const runs: string[] = []
    const upstream = await serveStateless(make(runs))
    const { lines } = proxied(upstream)
    const client = await connect(KINDS[2]!, lines)
    if (isListed) await client.listTools()
    const asked = [
      { order: 'A-1', n: 7, inner: { flag: true } },
      { order: '', n: -1 },
      { order: ' ä\r\nHost: elsewhere', n: 0, inner: { flag: false, note: 'x' } },
      { order: '=?base64?QQ==?=', n: 1 },
    ]
    for (const args of asked) expect(textOf(await client.callTool({ name: 'allow', arguments: args }))).toBe('did it')
    expect(runs.map((one) => JSON.parse(one))).toEqual(asked)
    expect(await rig().statuses()).toEqual(asked.map(() => 'confirmed'))
    expect(upstream.seen.at(-1)!.headers).toMatchObject({
      'mcp-param-n': '1',
      'mcp-param-order-id': expect.stringMatching(/^=\?base64/),
    })
    const lists = upstream.seen.filter(({ headers }) => headers['mcp-method'] === 'tools/list')
    expect(lists).toHaveLength(1)
  })

  it('is told of a mismatch that no list explains, and does not run', async () => {
    const mismatch =
      '{"jsonrpc":"2.0","id":ID,"error":{"code":-32020,"message":"Bad Request: headers and body disagree"}}'
    const { upstream, calls } = await serveByHand((method) => {
      if (method === 'tools/call') return [400, mismatch]
      return [200, '{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}']
    })
    const { lines } = proxied(upstream)
    const answers: unknown[] = []
    lines.onmessage = (message) => void answers.push(message)
    await lines.start()
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    await lines.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'allow', arguments: { n: 1 }, _meta },
    })
    await until(() => answers.length)
    expect(answers).toMatchObject([{ id: 1, error: { code: -32_020 } }])
    expect(calls).toEqual(['tools/call', 'tools/list'])
    expect(await rig().statuses()).toEqual(['rejected'])
  })
})

it('a cancelled call of 2026-07-28 ends its request, is answered nothing, and is left', async () => {
  let begun = 0
  const upstream = await serveStateless(() =>
    withTools(v2.mcpServer(), [], () => {
      begun += 1
      return new Promise(() => undefined)
    }),
  )
  const { lines } = proxied(upstream)
  const answers: { id?: unknown }[] = []
  const client = await connect(KINDS[2]!, lines)
  const { onmessage } = lines
  lines.onmessage = (message) => {
    answers.push(message)
    onmessage?.(message)
  }
  const gone = new AbortController()
  const called = client.callTool({ name: 'allow', arguments: { n: 1 } }, { signal: gone.signal }).catch(asItIs)
  await until(() => begun)
  gone.abort()
  await called
  expect((await client.listTools()).tools).toHaveLength(4)
  expect(answers).toHaveLength(1)
  expect(await rig().statuses()).toEqual(['authorized'])
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
  expect(await rig().statuses()).toEqual([settled])
})
