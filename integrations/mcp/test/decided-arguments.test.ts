/** What a tool of an `McpServer` gets is what its call was decided on, whatever its schema says a moment later. */
import { AsyncResource } from 'node:async_hooks'
import type { GateOptions } from '@countersign/mcp'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Rig, say, textOf } from './rig.js'
import { type ConnectedClient, type HighLevelServer, SDKS, type Sdk } from './sdks.js'

const point = useDecisionPoint()
let rig: Rig
/** What the tools were given. */
let ran: unknown[]
/** What happens right after each decision. */
let meanwhile: () => unknown
let account: string
const open: ConnectedClient[] = []
beforeAll(async () => {
  rig = await Rig.open(point())
})
beforeEach(() => {
  rig.events.length = 0
  ran = []
  account = 'old'
  meanwhile = () => undefined
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()))
})

const n = z.number().optional()
const newAccount = () => {
  account = 'new'
}
const note = (args: unknown) => {
  ran.push(args)
  return say('did')
}
const asked = () => rig.events.flatMap((event) => (event.type === 'decision' ? [event.asked.context] : []))

function gateServer<Server extends HighLevelServer>(server: Server, change: Partial<GateOptions> = {}): Server {
  const onEvent: GateOptions['onEvent'] = (event) => {
    rig.events.push(event)
    if (event.type === 'decision') meanwhile()
  }
  return rig.gate(server, { map: { allow: { action: 't.allow', context: (args) => args } }, onEvent, ...change })
}

async function connect(sdk: Sdk, server: HighLevelServer): Promise<ConnectedClient> {
  const client = await sdk.connect(server)
  open.push(client)
  return client
}

/** A gated server with one tool, `allow`. */
async function start(sdk: Sdk, inputSchema: unknown, work: (args: unknown) => unknown = note) {
  const server = gateServer(sdk.mcpServer())
  const tool = server.registerTool('allow', { inputSchema }, work)
  return { server, tool, client: await connect(sdk, server) }
}

describe.each(SDKS)('$name', (sdk) => {
  it.each([
    ['default', z.object({ account: z.string().default(() => account) }), {}],
    ['transform', z.object({ account: z.string().transform((name) => `${account} ${name}`) }), { account: 'of Ann' }],
  ])('a %s that gives another value the second time', async (_what, inputSchema, args) => {
    const { client } = await start(sdk, inputSchema)
    meanwhile = newAccount
    expect(await client.call('allow', args)).toMatchObject(say('did'))
    expect(ran).toEqual(asked())
    expect(ran).toEqual([{ account: expect.stringMatching(/^old/) }])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('a default that is random, in calls at once and in calls within calls', async () => {
    const inputSchema = z.object({ n, id: z.uuid().default(() => crypto.randomUUID()) })
    const { client } = await start(sdk, inputSchema, async (args) => {
      if (Object(args).n > 0) await client.call('allow', { n: Object(args).n - 1 })
      return note(args)
    })
    await Promise.all([client.call('allow', { n: 2 }), client.call('allow', { n: 2 }), client.call('allow')])
    expect(ran).toHaveLength(7)
    expect(ran).toEqual(expect.arrayContaining(asked()))
    expect(new Set(ran.map((args) => Object(args).id)).size).toBe(7)
  })

  it('an object that changes in the hands of others', async () => {
    const shared = { limit: 5 }
    const inputSchema = z.object({ shared: z.any().default(() => shared), n: z.any() })
    const change = (args: unknown) => Object(args).n.push(1_000)
    const context = (args: unknown) => {
      const told = { limit: Object(args).shared.limit }
      change(args)
      return told
    }
    const server = gateServer(sdk.mcpServer(), { map: { allow: { action: 't.allow', context } } })
    server.registerTool('allow', { inputSchema }, (args) => {
      note(structuredClone(args))
      change(args)
      return say('did')
    })
    const client = await connect(sdk, server)
    meanwhile = () => {
      shared.limit = 5_000
    }
    expect(await client.call('allow', { n: [1] })).toMatchObject(say('did'))
    expect(ran).toEqual([{ shared: { limit: 5 }, n: [1] }])
  })

  it('an instance of a class', async () => {
    const inputSchema = z.object({ page: z.string().transform((url) => new URL(url)), list: z.any() })
    const server = gateServer(sdk.mcpServer(), { map: { allow: 't.allow' } })
    server.registerTool('allow', { inputSchema }, ({ page, list }) => note([page.hostname, list.push(2)]))
    const client = await connect(sdk, server)
    expect(await client.call('allow', { page: 'http://example.com/a', list: [1] })).toMatchObject(say('did'))
    expect(ran).toEqual([['example.com', 2]])
  })

  it('is refused when the schema is another one by then', async () => {
    const { client, tool } = await start(sdk, z.object({ n }))
    const times = n.transform((given) => Number(given) * 1_000)
    meanwhile = () => tool.update({ paramsSchema: sdk.major === 1 ? { n: times } : z.object({ n: times }) })
    const refused = await client.call('allow', { n: 5 })
    expect(refused.isError).toBe(true)
    expect(textOf(refused)).toContain('changed')
    expect(ran).toEqual([])
    meanwhile = () => undefined
    expect(await client.call('allow', { n: 5 })).toMatchObject(say('did'))
    expect(ran).toEqual([{ n: 5_000 }])
    expect(await rig.statuses()).toEqual(['rejected', 'confirmed'])
  })

  it.each(['another', 'none before'])('is refused when the tool is another one by then: %s', async (which) => {
    const { client, server, tool } = await start(sdk, z.object({ n }))
    if (which === 'none before') tool.remove()
    meanwhile = () => {
      if (which === 'another') tool.remove()
      server.registerTool('allow', { inputSchema: z.object({ n: n.transform(() => 1_000) }) }, note)
    }
    expect(await client.call('allow', { n: 5 })).toMatchObject({ isError: true })
    expect(ran).toEqual([])
    expect(await rig.statuses()).toEqual(['rejected'])
  })

  it('holds in handlers that wrap the own one of the server, wherever they run it', async () => {
    const { client, server } = await start(sdk, z.object({ n, id: z.string().default(() => crypto.randomUUID()) }))
    const inner = server.server._requestHandlers.get('tools/call')
    const elsewhere = new AsyncResource('queue')
    const waiting: (() => void)[] = []
    sdk.setHandler(server.server, 'tools/call', async (request, context) => {
      // Each goes on in the name of the other.
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 2) for (const go of waiting.splice(0).reverse()) go()
      })
      return elsewhere.runInAsyncScope(() => inner?.(request, context))
    })
    await Promise.all([1, 2].map((one) => client.call('allow', { n: one })))
    expect(ran).toHaveLength(2)
    expect(ran).toEqual(expect.arrayContaining(asked()))
    expect(await rig.statuses()).toEqual(['confirmed', 'confirmed'])
  })

  it('is refused when a handler within gives the tool other arguments', async () => {
    const server = sdk.mcpServer()
    server.registerTool('allow', { inputSchema: z.object({ n }) }, note)
    const inner = server.server._requestHandlers.get('tools/call')
    sdk.setHandler(server.server, 'tools/call', (request, context) =>
      inner?.({ ...request, params: { ...Object(request.params), arguments: { n: 1_000 } } }, context),
    )
    const client = await connect(sdk, gateServer(server))
    expect(await client.call('allow', { n: 5 })).toMatchObject({ isError: true })
    expect([ran, await rig.statuses()]).toEqual([[], ['rejected']])
  })
})

it.each(['required', 'optional'] as const)('tools that answer with a task (%s), of 1.x', async (taskSupport) => {
  const [v1] = SDKS as [Sdk]
  const taskStore = new InMemoryTaskStore()
  const server = gateServer(v1.mcpServer({ capabilities: { tasks: { requests: { tools: { call: {} } } } }, taskStore }))
  const tool = (server as unknown as McpServer).experimental.tasks.registerToolTask(
    'allow',
    { inputSchema: { account: z.string().default(() => account) }, execution: { taskSupport } },
    {
      async createTask(args, { taskStore: store }) {
        const task = await store.createTask({ ttl: 60_000, pollInterval: 10 })
        await store.storeTaskResult(task.taskId, 'completed', note(args) as never)
        return { task: await store.getTask(task.taskId) }
      },
      getTask: (_args, { taskId, taskStore: store }) => store.getTask(taskId),
      getTaskResult: (_args, { taskId, taskStore: store }) => store.getTaskResult(taskId) as never,
    },
  )
  const client = await connect(v1, server)
  meanwhile = newAccount
  const task = taskSupport === 'required' && { task: { ttl: 60_000 } }
  await client.request('tools/call', { name: 'allow', arguments: {}, ...task })
  meanwhile = () => tool.update({ paramsSchema: { account: z.string().default('other') } })
  const refused = await client.request('tools/call', { name: 'allow', arguments: {}, ...task }).catch(() => 'error')
  if (taskSupport === 'optional') expect(refused).toMatchObject({ isError: true })
  else expect(refused).toBe('error')
  taskStore.cleanup()
  expect(ran).toEqual([{ account: 'old' }])
  expect(asked()).toEqual([{ account: 'old' }, { account: 'new' }])
  await expect.poll(() => rig.client.flush()).toBe(0)
  expect(await rig.statuses()).toEqual(['confirmed', 'rejected'])
})
