/** The proxy for Streamable HTTP, between servers and clients of both majors. The numbers are those of the acceptance cases. */

import type { RequestListener } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import {
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { createMcpHandler, inputRequired, type McpServer } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { definitionHash } from '../src/lists/tool-definitions.js'
import {
  CLIENT_V1,
  CLIENT_V2,
  callMessage,
  type HttpClientKind,
  MODERN_CLIENT,
  messagesOf,
  openSession,
  post,
  proxyOf,
  serve,
  serveSessions,
  serveStateless,
  type Upstream,
} from './http-rig.js'
import { decisionOf, say, textOf, useRig, withTools } from './rig.js'
import { type HighLevelServer, SDKS, type Sdk, type ToolWork } from './sdks.js'

const rig = useRig()

const [v1, v2] = SDKS as [Sdk, Sdk]

interface Serving {
  readonly name: string
  readonly serve: (make: (sdk: Sdk) => HighLevelServer) => Promise<Upstream>
}

const SERVERS: readonly Serving[] = [
  ...[v1, v2].flatMap((sdk) =>
    [false, true].map((json) => ({
      name: `${sdk.name === v1.name ? 'a server 1.x' : 'a server 2.x'}${json ? ' that answers JSON' : ''}`,
      serve: (make: (sdk: Sdk) => HighLevelServer) => serveSessions(sdk, () => make(sdk), { json }),
    })),
  ),
  { name: 'a server 2.x without sessions', serve: (make) => serveStateless(() => make(v2)) },
]
const CLIENTS: readonly HttpClientKind[] = [CLIENT_V1, CLIENT_V2, MODERN_CLIENT]

const toolsOf =
  (runs: string[], work?: ToolWork) =>
  (sdk: Sdk): HighLevelServer =>
    withTools(sdk.mcpServer({ capabilities: { logging: {}, tools: { listChanged: true } } }), runs, work)

describe.each(SERVERS)('42, 43: in front of $name', ({ name, serve }) => {
  describe.each(CLIENTS)('$name', ({ major, connect }) => {
    it('lists tools, and has those run that may', async () => {
      const runs: string[] = []
      const upstream = await serve(toolsOf(runs))
      const { url } = await proxyOf(rig(), upstream.url)
      const { client } = await connect(url)
      expect((await client.listTools()).tools.map(({ name }: { name: string }) => name)).toEqual([
        'allow',
        'deny',
        'review',
        'log',
      ])
      const allowed = await client.callTool({ name: 'allow', arguments: { n: 1 } })
      expect([textOf(allowed), decisionOf(allowed)]).toEqual(['did 1', expect.objectContaining({ effect: 'allow' })])
      const denied = await client.callTool({ name: 'deny', arguments: { n: 2 } })
      expect([denied.isError, decisionOf(denied)]).toEqual([true, expect.objectContaining({ effect: 'deny' })])
      const pending = await client.callTool({ name: 'review', arguments: { n: 3 } })
      expect(decisionOf(pending)).toEqual(expect.objectContaining({ effect: 'review' }))
      expect(runs).toEqual(['allow 1'])
      expect(await rig().statuses()).toEqual(['confirmed', 'denied', 'awaiting_review'])
    })

    it('passes what belongs to a call while it runs', async () => {
      const upstream = await serve(
        toolsOf([], async ({ n }, context) => {
          const notify = context.sendNotification ?? context.mcpReq.notify
          await notify({ method: 'notifications/progress', params: { progressToken: tokenOf(context), progress: n } })
          return say('told')
        }),
      )
      const { url } = await proxyOf(rig(), upstream.url)
      const { client } = await connect(url)
      const seen: number[] = []
      const onprogress = ({ progress }: { progress: number }): void => void seen.push(progress)
      const params = { name: 'allow', arguments: { n: 7 } }
      const told = await (major === 1
        ? client.callTool(params, undefined, { onprogress })
        : client.callTool(params, { onprogress }))
      expect(textOf(told)).toBe('told')
      // An answer of one JSON text has no room for it.
      expect(seen).toEqual(name.includes('JSON') ? [] : [7])
    })
  })
})

describe.each([v1, v2])('42: in front of a server of $name', (sdk) => {
  it('what is sent to open an open session is answered by the server, as without the proxy', async () => {
    const upstream = await serveSessions(sdk, () => toolsOf([])(sdk))
    const { url } = await proxyOf(rig(), upstream.url)
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'again', version: '1' } }
    const initialize = { jsonrpc: '2.0', id: 'again', method: 'initialize', params }
    const answers = []
    for (const at of [upstream.url, url]) {
      const id = await openSession(at)
      const response = await post(at, initialize, { 'mcp-session-id': id })
      answers.push([response.status, await response.text(), response.headers.get('mcp-session-id')])
      const called = await post(at, callMessage(1), { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' })
      expect(messagesOf(await called.text())).toMatchObject([{ id: 1, result: say('did 1') }])
    }
    expect(answers[0]).toMatchObject([400, expect.stringContaining('already initialized'), null])
    expect(answers[1]).toEqual(answers[0])
  })

  it.each([CLIENT_V1, CLIENT_V2])(
    '$name is asked by the server, in a call and beside it',
    async ({ major, connect }) => {
      const servers: HighLevelServer[] = []
      const upstream = await serveSessions(sdk, () => {
        const server: HighLevelServer = toolsOf([], async (_args, context) => {
          const message = { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }
          const related = { relatedRequestId: context.requestId ?? context.mcpReq.id }
          const { action } = await lowLevel(server).elicitInput(message, related)
          return say(action)
        })(sdk)
        servers.push(server)
        return server
      })
      const { url } = await proxyOf(rig(), upstream.url)
      let changes = 0
      const { client } = await connect(url, {
        capabilities: { elicitation: {}, roots: {} },
        prepare: (client) => {
          const [elicit, roots, changed] =
            major === 1
              ? [ElicitRequestSchema, ListRootsRequestSchema, ToolListChangedNotificationSchema]
              : ['elicitation/create', 'roots/list', 'notifications/tools/list_changed']
          client.setRequestHandler(elicit, async () => ({ action: 'accept', content: {} }))
          client.setRequestHandler(roots, async () => ({ roots: [{ uri: 'file:///here' }] }))
          client.setNotificationHandler(changed, async () => {
            changes += 1
          })
        },
      })
      expect(textOf(await client.callTool({ name: 'allow', arguments: { n: 1 } }))).toBe('accept')
      // The stream for what belongs to no request is open once the server has it.
      await expect.poll(() => upstream.seen.some(({ method }) => method === 'GET')).toBe(true)
      await expect.poll(async () => (await lowLevel(servers[0]!).listRoots()).roots).toEqual([{ uri: 'file:///here' }])
      servers[0]!.registerTool('new', {}, () => say('new'))
      await expect.poll(() => changes).toBe(1)
      await client.ping()
      expect(await rig().statuses()).toEqual(['confirmed'])
    },
  )

  it('48: passes a result of 10 MB', async () => {
    const text = 'ten bytes '.repeat(1024 * 1024)
    for (const json of [false, true]) {
      const upstream = await serveSessions(sdk, () => toolsOf([], () => say(text))(sdk), { json })
      const { url } = await proxyOf(rig(), upstream.url)
      const { client } = await CLIENT_V2.connect(url)
      expect(textOf(await client.callTool({ name: 'allow', arguments: { n: 1 } })) === text).toBe(true)
    }
  })

  it.each([CLIENT_V1, CLIENT_V2])('55: $name hears that its session has expired', async ({ connect }) => {
    const upstream = await serveSessions(sdk, () => toolsOf([])(sdk))
    const { url } = await proxyOf(rig(), upstream.url)
    const { client, transport } = await connect(url)
    await fetch(upstream.url, { method: 'DELETE', headers: { 'mcp-session-id': transport.sessionId } })
    await expect(client.callTool({ name: 'allow', arguments: { n: 1 } })).rejects.toThrow(/Session not found/)
    expect(await rig().statuses()).toEqual(['rejected'])
    const again = await connect(url)
    expect(textOf(await again.client.callTool({ name: 'allow', arguments: { n: 2 } }))).toBe('did 2')
  })

  it.each([CLIENT_V1, CLIENT_V2])('56: $name ends its session', async ({ connect }) => {
    const upstream = await serveSessions(sdk, () => toolsOf([])(sdk))
    const { url } = await proxyOf(rig(), upstream.url)
    const { transport } = await connect(url)
    const id = transport.sessionId
    await transport.terminateSession()
    expect(upstream.seen.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': id } })
    const gone = await post(url, callMessage(1), { 'mcp-session-id': id })
    expect(gone.status).toBe(404)
  })
})

describe('43: in front of a server of 2026-07-28', () => {
  it('a tool asks its client first, by one decision', async () => {
    const runs: unknown[] = []
    const work: ToolWork = (_args, { mcpReq }) => {
      runs.push(mcpReq.inputResponses ?? 'asks')
      if (mcpReq.inputResponses !== undefined) return say(`sure: ${mcpReq.requestState()}`)
      const requestedSchema = { type: 'object' as const, properties: {} }
      const inputRequests = { sure: inputRequired.elicit({ message: 'Sure?', requestedSchema }) }
      return inputRequired({ inputRequests, requestState: 'halfway' })
    }
    const upstream = await serveStateless(() => toolsOf([], work)(v2))
    const { url } = await proxyOf(rig(), upstream.url)
    const { client } = await MODERN_CLIENT.connect(url, {
      capabilities: { elicitation: {} },
      prepare: (client) =>
        client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} })),
    })
    const result = await client.callTool({ name: 'allow', arguments: { n: 1 } })
    expect([textOf(result), runs]).toEqual([
      'sure: halfway',
      ['asks', { sure: expect.objectContaining({ action: 'accept' }) }],
    ])
    expect(await rig().statuses()).toEqual(['confirmed'])
  })

  it('a client hears of changes as long as it listens', async () => {
    const handler = createMcpHandler(() => toolsOf([])(v2) as unknown as McpServer)
    const upstream = await serve(toNodeHandler(handler) as RequestListener)
    const { url } = await proxyOf(rig(), upstream.url)
    let changes = 0
    const { client } = await MODERN_CLIENT.connect(url, {
      prepare: (client) =>
        client.setNotificationHandler('notifications/tools/list_changed', async () => {
          changes += 1
        }),
    })
    const listening = await client.listen({ toolsListChanged: true })
    handler.notify.toolsChanged()
    await expect.poll(() => changes).toBe(1)
    await listening.close()
    await handler.close()
  })

  it('looks tools up once for all requests, and a tool that has changed stays denied', async () => {
    let description = 'does it'
    const upstream = await serveStateless(() => {
      const server = v2.mcpServer()
      server.registerTool('allow', { description }, () => say('done'))
      return server
    })
    const direct = await MODERN_CLIENT.connect(upstream.url)
    const [tool] = (await direct.client.listTools()).tools
    const { url } = await proxyOf(rig(), upstream.url, { gate: { definitions: { allow: definitionHash(tool) } } })
    const { client } = await MODERN_CLIENT.connect(url)
    const before = upstream.seen.length
    const call = () => client.callTool({ name: 'allow', arguments: { n: 1 } })
    expect([textOf(await call()), textOf(await call())]).toEqual(['done', 'done'])
    const asked = upstream.seen.slice(before).map(({ headers }) => headers['mcp-method'])
    expect(asked).toEqual(['tools/list', 'tools/call', 'tools/call'])
    description = 'does something else'
    expect((await client.listTools()).tools).toEqual([])
    description = 'does it'
    expect((await call()).isError).toBe(true)
  })
})

/** The `Server` within, of either major. */
// biome-ignore lint/suspicious/noExplicitAny: of either major.
const lowLevel = (server: HighLevelServer): any => server.server

// biome-ignore lint/suspicious/noExplicitAny: the context of either major.
function tokenOf(context: any): unknown {
  return (context._meta ?? context.mcpReq._meta)?.progressToken
}
