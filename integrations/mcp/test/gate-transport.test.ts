/** Transports of both majors behind a gate. The numbers are those of the acceptance cases. */
import { EventEmitter, once } from 'node:events'
import { currentRun } from '@countersign/client/kernel'
import { startRelay, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { definitionHash } from '../src/lists/tool-definitions.js'
import { gateTransport } from '../src/messages/gate-transport.js'
import { CLIENT_V1, CLIENT_V2, callMessage, messagesOf, openSession, post, serveSessions } from './http-rig.js'
import { CONFIG, decisionOf, Rig, say, withTools } from './rig.js'
import {
  type ClientSettings,
  type ConnectedClient,
  type HighLevelServer,
  type LowLevelServer,
  SDKS,
  type Sdk,
  type ToolWork,
} from './sdks.js'

const point = useDecisionPoint()
let rig: Rig
let runs: string[]
const open: ConnectedClient[] = []
beforeAll(async () => {
  rig = await Rig.open(point())
})
beforeEach(() => {
  rig.events.length = 0
  runs = []
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()))
})

type Handler = (message: { readonly method?: string }, extra?: unknown) => void

const connect = async (
  sdk: Sdk,
  server: HighLevelServer | LowLevelServer,
  options = rig.options(),
  settings: ClientSettings = {},
) => {
  const client = await sdk.connect(server, {
    around: (transport) => gateTransport(transport as never, options) as never,
    ...settings,
  })
  open.push(client)
  return client
}

describe.each(SDKS)('$name', (sdk) => {
  it('1: runs what may run, once, and answers the rest', async () => {
    const client = await connect(sdk, withTools(sdk.mcpServer(), runs))
    const allowed = await client.call('allow', { n: 1 })
    const denied = await client.call('deny', { n: 1 })
    const pending = await client.call('review', { n: 1 })
    await client.call('log', { n: 1 })
    expect(runs).toEqual(['allow 1', 'log 1'])
    expect(allowed).toMatchObject(say('did 1'))
    expect(decisionOf(allowed)).toEqual({ id: expect.stringMatching(/^dec_/), effect: 'allow' })
    expect(denied).toMatchObject({ isError: true })
    expect(pending).toMatchObject({ isError: true })
    expect(await rig.statuses()).toEqual(['confirmed', 'denied', 'awaiting_review', 'confirmed'])
  })

  it('10: denies whatever handler the server has', async () => {
    const server = sdk.lowLevelServer({ capabilities: { tools: {} } })
    const client = await connect(sdk, server)
    sdk.setHandler(server, 'tools/call', () => {
      runs.push('replaced')
      return say('did it')
    })
    expect(await client.call('deny', { n: 1 })).toMatchObject({ isError: true })
    server.fallbackRequestHandler = () => {
      runs.push('fallback')
      return say('did it')
    }
    server.removeRequestHandler('tools/call')
    expect(await client.call('deny', { n: 1 })).toMatchObject({ isError: true })
    expect(runs).toEqual([])
  })

  it('gates a transport that is connected already', async () => {
    let raw: never | undefined
    const settings: ClientSettings = { around: (transport) => (raw = transport as never) }
    const client = await connect(sdk, withTools(sdk.mcpServer(), runs), rig.options(), settings)
    gateTransport(raw as never, rig.options())
    expect(await client.call('deny', { n: 1 })).toMatchObject({ isError: true })
    expect(await client.call('allow', { n: 1 })).toMatchObject(say('did 1'))
    expect(runs).toEqual(['allow 1'])
  })

  it('stands another wrapper of what the transport calls, at once or later', async () => {
    const seen: unknown[] = []
    const around = (transport: { onmessage?: Handler; send: (...message: unknown[]) => Promise<void> }) => {
      gateTransport(transport as never, rig.options())
      queueMicrotask(() => {
        const { onmessage, send } = transport
        transport.onmessage = (message, extra) => {
          seen.push(message.method)
          queueMicrotask(() => onmessage?.(message, extra))
        }
        transport.send = (...message) => send(...message)
      })
      return transport
    }
    const client = await connect(sdk, withTools(sdk.mcpServer(), runs), rig.options(), { around: around as never })
    expect(await client.call('deny', { n: 1 })).toMatchObject({ isError: true })
    expect(await client.call('allow', { n: 1 })).toMatchObject(say('did 1'))
    expect(seen.filter((method) => method === 'tools/call')).toHaveLength(1)
    expect(await rig.statuses()).toEqual(['denied', 'confirmed'])
  })

  it('shares one decision with a gate of the server', async () => {
    const options = rig.options()
    const server = rig.gate(withTools(sdk.mcpServer(), runs, () => say(currentRun()?.decision?.id ?? 'none')))
    const client = await connect(sdk, server, options)
    const allowed = await client.call('allow', { n: 1 })
    expect(allowed).toMatchObject(say((decisionOf(allowed) as { id: string }).id))
    expect(runs).toEqual(['allow 1'])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('36: asks as who calls, message by message', async () => {
    let clientId = `agent:${crypto.randomUUID()}`
    const options = rig.options({ client: rig.newClient({ agentId: undefined }) })
    const client = await connect(sdk, withTools(sdk.mcpServer(), runs), options, {
      caller: () => ({ clientId, token: 't', scopes: [] }),
    })
    const agents = [clientId]
    await client.call('allow', { n: 1 })
    clientId = `agent:${crypto.randomUUID()}`
    agents.push(clientId)
    await client.call('allow', { n: 1 })
    const asked = rig.decisionIds()
    const decisions = await Promise.all(asked.map((id) => rig.operator.decision(id)))
    expect(decisions.map(({ agent_id }) => agent_id)).toEqual(agents)
  })
})

describe.each(SDKS)('$name, to its end:', (sdk) => {
  it('15: a refusal is a result of a tool with an outputSchema, too', async () => {
    const server = sdk.mcpServer()
    server.registerTool('deny', { ...CONFIG, outputSchema: z.object({ n: z.number() }) }, () => say('never'))
    const client = await connect(sdk, server)
    await client.list()
    expect(await client.call('deny', { n: 1 })).toMatchObject({ isError: true })
  })

  it('20, 22: a call that is cancelled while it is asked about does not run', async () => {
    const relay = await startRelay(point().url)
    onTestFinished(() => relay.close())
    const options = rig.options({ client: rig.newClient({ baseUrl: relay.url }) })
    const client = await connect(sdk, withTools(sdk.mcpServer(), runs), options)
    const answer = relay.hold('ask')
    const leave = new AbortController()
    const left = client.call('allow', { n: 1 }, { signal: leave.signal })
    const late = client.call('allow', { n: 2 }, { timeout: 50 })
    const gone = Promise.all([expect(left).rejects.toThrow(), expect(late).rejects.toThrow()])
    await answer.arrived
    leave.abort()
    await gone
    answer.release()
    const rejected = () => relay.calls.filter((call) => call === 'reject').length
    await expect.poll(() => rejected() > 0 && rejected() === relay.decisions.length, { timeout: 10_000 }).toBe(true)
    expect(runs).toEqual([])
  })

  it('21: a call that runs when it is cancelled is left, for its server tells nobody how it ends', async () => {
    const end = new EventEmitter()
    const work = async () => {
      await once(end, 'now')
      runs.push('ended')
      return say('did it')
    }
    const client = await connect(sdk, withTools(sdk.mcpServer(), runs, work))
    const leave = new AbortController()
    const left = client.call('allow', { n: 1 }, { signal: leave.signal })
    await expect.poll(() => runs).toEqual(['allow 1'])
    leave.abort()
    await expect(left).rejects.toThrow()
    end.emit('now')
    await expect.poll(() => runs).toEqual(['allow 1', 'ended'])
    await client.close()
    expect(await rig.statuses()).toEqual(['authorized'])
  })

  it('31: a tool that is not shown, or was changed since it was mapped, does not run', async () => {
    const server = withTools(sdk.mcpServer(), runs)
    const shown = await connect(sdk, withTools(sdk.mcpServer(), runs), rig.options(), {
      around: (transport) => transport,
    })
    const { tools } = await shown.listPage()
    const definitions = Object.fromEntries(tools.map((tool) => [tool.name, definitionHash(tool)]))
    server.registerTool('other', CONFIG, () => say('never'))
    const client = await connect(
      sdk,
      server,
      rig.options({ definitions: { ...definitions, log: definitions.allow as string } }),
    )
    expect(await client.call('allow', { n: 1 })).toMatchObject(say('did 1'))
    expect(decisionOf(await client.call('log', { n: 1 }))).toMatchObject({ reason: 'unmapped' })
    expect(decisionOf(await client.call('other', { n: 1 }))).toMatchObject({ reason: 'unmapped' })
    expect(await client.list()).toEqual(['allow', 'deny', 'review', 'other'])
    expect(runs).toEqual(['allow 1'])
  })

  it('41: a hundred calls at once run as often as the budget has room', async () => {
    const action = `t.${crypto.randomUUID().slice(0, 8)}`
    const budget = { limit: 30, unit: 'calls', period: 'total', amount: 1 }
    const { id } = await rig.operator.makePolicy(action, 'allow', budget)
    const client = await connect(sdk, withTools(sdk.mcpServer(), runs), rig.options({ map: { allow: action } }))
    const results = await Promise.all(Array.from({ length: 100 }, (_, n) => client.call('allow', { n })))
    expect([runs.length, results.filter(({ isError }) => isError).length]).toEqual([30, 70])
    await rig.client.flush()
    expect(await rig.operator.account(id)).toEqual({ spent: 30, reserved: 0 })
  })

  it('48: a result of ten megabytes arrives whole', async () => {
    const text = 'x'.repeat(10_000_000)
    const client = await connect(
      sdk,
      withTools(sdk.mcpServer(), runs, () => say(text)),
    )
    const { content } = await client.call('allow', { n: 1 })
    expect(content[0]?.text === text).toBe(true)
  })

  it.each([false, true])('38: sessions over HTTP are asked about by themselves (answers of JSON: %s)', async (json) => {
    const options = rig.options({
      client: rig.newClient({ agentId: undefined }),
      agentId: ({ sessionId }) => `agent:${sessionId}`,
    })
    const make = (): HighLevelServer => {
      const server = withTools(sdk.mcpServer(), runs)
      const connecting = (transport: unknown) => server.connect(gateTransport(transport as never, options))
      return { ...server, connect: connecting } as HighLevelServer
    }
    const { url } = await serveSessions(sdk, make, { json })
    const kind = sdk.major === 1 ? CLIENT_V1 : CLIENT_V2
    const [one, other] = [await kind.connect(url), await kind.connect(url)]
    const call = async ({ client, transport }: typeof one, name: string) => {
      const result = await client.callTool({ name, arguments: { n: 1 } })
      const { id } = decisionOf(result) as { id: string }
      expect((await rig.operator.decision(id)).agent_id).toBe(`agent:${transport.sessionId}`)
      return result
    }
    const results = await Promise.all([
      call(one, 'allow'),
      call(other, 'deny'),
      call(other, 'log'),
      call(one, 'review'),
    ])
    expect(results.map(({ isError = false }) => isError)).toEqual([false, true, false, true])
    expect(runs.sort()).toEqual(['allow 1', 'log 1'])
  })

  it('46: what a tool says to a request whose id was used before reaches the client on its stream', async () => {
    const work: ToolWork = async (_args, context) => {
      const { mcpReq, sendNotification = mcpReq?.notify } = context
      await sendNotification({ method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } })
      return say('done')
    }
    const make = (): HighLevelServer => {
      const server = withTools(sdk.mcpServer(), runs, work)
      const connecting = (transport: unknown) => server.connect(gateTransport(transport as never, rig.options()))
      return { ...server, connect: connecting } as HighLevelServer
    }
    const { url } = await serveSessions(sdk, make)
    const session = { 'mcp-session-id': await openSession(url) }
    for (let time = 0; time < 2; time += 1) {
      const messages = messagesOf(await (await post(url, callMessage(1), session)).text())
      expect(messages).toMatchObject([{ method: 'notifications/progress' }, { id: 1, result: say('done') }])
    }
  })
})

it('32: what SDK 1.x answers by a task is settled when its result was fetched, or its status tells that it failed', async () => {
  const [sdk] = SDKS as [Sdk]
  const taskStore = new InMemoryTaskStore()
  onTestFinished(() => taskStore.cleanup())
  const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
  const server = sdk.mcpServer({ capabilities, taskStore })
  ;(server as unknown as McpServer).experimental.tasks.registerToolTask(
    'allow',
    { inputSchema: { n: z.number() }, execution: { taskSupport: 'required' } },
    {
      createTask: async (_args, { taskStore: store }) => ({ task: await store.createTask({ ttl: 60_000 }) }),
      getTask: (_args, { taskId, taskStore: store }) => store.getTask(taskId),
      getTaskResult: (_args, { taskId, taskStore: store }) => store.getTaskResult(taskId) as never,
    },
  )
  const client = await connect(sdk, server)
  const call = async () => {
    const result = await client.request('tools/call', { name: 'allow', arguments: { n: 1 }, task: {} })
    const { id } = decisionOf(result as never) as { id: string }
    const { taskId } = result.task as { taskId: string }
    return { taskId, status: async () => (await rig.operator.decision(id)).status }
  }
  const [done, failed, open] = [await call(), await call(), await call()]
  await taskStore.storeTaskResult(done.taskId, 'completed', say('paid') as never)
  await taskStore.updateTaskStatus(failed.taskId, 'failed', 'card declined')
  expect(await client.request('tasks/get', { taskId: done.taskId })).toMatchObject({ status: 'completed' })
  await rig.client.flush()
  expect(await done.status()).toBe('authorized')
  expect(await client.request('tasks/result', { taskId: done.taskId })).toMatchObject(say('paid'))
  await expect.poll(done.status).toBe('confirmed')
  await client.request('tasks/get', { taskId: failed.taskId })
  await expect.poll(failed.status).toBe('rejected')
  expect(await open.status()).toBe('authorized')
})

it('takes what is given once, and nothing that is no transport', () => {
  const options = rig.options()
  const [transport] = InMemoryTransport.createLinkedPair()
  expect(gateTransport(gateTransport(transport, options), options)).toBe(transport)
  expect(() => gateTransport(transport, rig.options())).toThrow('other options')
  expect(() => gateTransport({} as never, options)).toThrow('transport')
  expect(() => gateTransport(Object.freeze(new StreamableHTTPServerTransport({})), options)).toThrow(TypeError)
  expect(() => gateTransport(transport, { ...options, lists: 'hide' } as never)).toThrow('lists')
})
