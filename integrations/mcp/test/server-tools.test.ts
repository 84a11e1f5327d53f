/** The tools of servers of Streamable HTTP, as `init` and `check` are shown them. */
import { definitionHash } from '@countersign/mcp'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toolName } from '../src/lists/tool-pages.js'
import { toolsOfServer, UnusableServer } from '../src/proxy/setup/server-tools.js'
import { serve, serveSessions, serveStateless, type Upstream } from './http-rig.js'
import { withTools } from './rig.js'
import { type HighLevelServer, SDKS } from './sdks.js'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const NAMES = ['allow', 'deny', 'review', 'log']
const [, v2] = SDKS

const namesOf = async (upstream: URL, upstreamHeaders = {}) =>
  (await toolsOfServer({ upstream, upstreamHeaders }, log)).map(toolName)
const told = ({ method, headers }: Upstream['seen'][number]) => `${method} ${headers['mcp-protocol-version']}`

describe.each(SDKS)('$name', (sdk) => {
  it.each([
    ['streams', {}],
    ['one JSON text each', { json: true }],
  ])('is listed in a session of its own, which is ended, by %s', async (_, options) => {
    const server = await serveSessions(sdk, () => withTools(sdk.mcpServer(), []), options)
    expect(await namesOf(server.url, { authorization: 'Bearer x' })).toEqual(NAMES)
    const [first, ...rest] = server.seen.map(told)
    expect(first).toBe('POST undefined')
    expect(rest).toEqual(['POST 2025-11-25', 'POST 2025-11-25', 'DELETE 2025-11-25'])
    expect(server.seen.every(({ headers }) => headers.authorization === 'Bearer x')).toBe(true)
  })

  it('shows the definitions that a client of it is shown', async () => {
    const client = await sdk.connect(withTools(sdk.mcpServer(), []))
    onTestFinished(() => client.close())
    const server = await serveSessions(sdk, () => withTools(sdk.mcpServer(), []))
    const [tools, { tools: shown }] = [await toolsOfServer({ upstream: server.url }, log), await client.listPage()]
    expect(tools.map(definitionHash)).toEqual(shown.map(definitionHash))
  })
})

it('a server of 2026-07-28 is listed without a session, also where it speaks nothing else', async () => {
  const make = (): HighLevelServer => withTools(v2!.mcpServer(), [])
  expect(await namesOf((await serveStateless(make)).url)).toEqual(NAMES)
  const strict = createMcpHandler(() => make() as unknown as McpServer, { legacy: 'reject' })
  onTestFinished(() => strict.close())
  const server = await serve(toNodeHandler(strict) as never)
  expect(await namesOf(server.url)).toEqual(NAMES)
  expect(server.seen.map(told)).toEqual(['POST undefined', 'POST 2026-07-28'])
})

it.each<[string, Parameters<typeof serve>[0], RegExp]>([
  ['refuses strangers', (_, response) => void response.writeHead(401).end('no'), /answered initialize with HTTP 401/],
  [
    'answers in HTML',
    (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    /answered initialize with HTTP 200 and no JSON-RPC response/,
  ],
  [
    'ends its stream early',
    (_, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': hello\n\n'),
    /answered initialize with HTTP 200 and no JSON-RPC response/,
  ],
  ['breaks the connection', (request) => void request.socket.destroy(), /socket hang up|ECONNRESET/],
])('a server that %s shows no tools', async (_, listener, words) => {
  const server = await serve(listener)
  const listing = toolsOfServer({ upstream: server.url }, log)
  await expect(listing).rejects.toThrow(words)
  await expect(listing).rejects.toBeInstanceOf(UnusableServer)
})

it('no server is sent a password that is in a URL', async () => {
  await expect(toolsOfServer({ upstream: new URL('http://a:b@127.0.0.1:1/') }, log)).rejects.toThrow(
    /may not contain a password/,
  )
})
