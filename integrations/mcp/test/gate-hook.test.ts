/** Servers whose handlers are replaced, wrapped or called in odd ways: nothing runs but by a decision, and one decision runs once. */
import { type GateOptions, gate, gateTransport } from '@countersign/mcp'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpServer as McpServerV2 } from '@modelcontextprotocol/server'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { decisionOf, MAP, Rig, say, textOf, withTools } from './rig.js'
import {
  type CallResult,
  type ConnectedClient,
  type Handler,
  type HighLevelServer,
  type LowLevelServer,
  SDKS,
  type Sdk,
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

const connect = async (sdk: Sdk, server: HighLevelServer | LowLevelServer) => {
  const client = await sdk.connect(server)
  open.push(client)
  return client
}
const one = { n: 1 }
const reasonOf = (result: CallResult) => Object(decisionOf(result)).reason

describe.each(SDKS)('$name', (sdk) => {
  const noting: Handler = ({ params }) => say(`did ${runs.push(Object(params).name)}`)

  /** Denies one call, runs another one, once, by one decision. */
  const expectGated = async (client: ConnectedClient) => {
    expect(await client.call('deny', one)).toMatchObject({ isError: true })
    expect(runs).toEqual([])
    expect(await client.call('allow', one)).toMatchObject(say('did 1'))
    expect(runs).toHaveLength(1)
    expect(await rig.statuses()).toEqual(['denied', 'confirmed'])
    runs.length = 0
  }

  it('gates a handler in place of that of McpServer, however it is set', async () => {
    const server = withTools(rig.gate(sdk.mcpServer()), [])
    const client = await connect(sdk, server)
    sdk.setHandler(server.server, 'tools/call', noting)
    await expectGated(client)
    server.server._requestHandlers.set('tools/call', async (request) => noting(request, {} as never))
    await expectGated(client)
    server.server._requestHandlers = new Map([...server.server._requestHandlers, ['tools/call', noting]])
    await expectGated(client)
    server.server._requestHandlers = new Map()
    server.server.fallbackRequestHandler = noting
    await expectGated(client)
    const { _requestHandlers } = server.server
    Object.assign(server.server, { _requestHandlers })
    await expectGated(client)
  })

  it('gates a handler that was taken before the gate, or from it, and set once more', async () => {
    const server = withTools(sdk.mcpServer(), runs)
    const before = server.server._requestHandlers.get('tools/call') as Handler
    rig.gate(server)
    const client = await connect(sdk, server)
    const handlers = server.server._requestHandlers
    handlers.set('tools/call', before)
    await expectGated(client)
    handlers.set('tools/call', handlers.get('tools/call') as Handler)
    await expectGated(client)
    server.server.fallbackRequestHandler = handlers.get('tools/call')
    handlers.delete('tools/call')
    await expectGated(client)
  })

  it('asks once for a handler that another one wraps, and once more for what that changes or runs again', async () => {
    const server = withTools(rig.gate(sdk.mcpServer()), runs)
    const client = await connect(sdk, server)
    const handlers = server.server._requestHandlers
    const inner = handlers.get('tools/call') as Handler
    const wrap = (wrapper: Handler) => handlers.set('tools/call', wrapper)
    wrap(async (request, context) => inner(request, context))
    await expectGated(client)

    const outer = handlers.get('tools/call') as Handler
    wrap(async (request, context) => outer(request, context))
    await expectGated(client)

    wrap(async (request, context) => {
      const [first] = await Promise.all([1, 2, 3, 4].map(() => inner(request, context)))
      return first
    })
    await client.call('allow', one)
    expect(runs.splice(0)).toHaveLength(4)
    expect(await rig.statuses()).toEqual(Array(4).fill('confirmed'))

    const calling = (change: object) => (request: { method: string; params?: unknown }, context: never) =>
      inner({ ...request, params: { ...Object(request.params), ...change } }, context)
    wrap(calling({ arguments: { n: 2 } }))
    await client.call('allow', one)
    expect(runs.splice(0)).toEqual(['allow 2'])
    expect(await rig.statuses()).toHaveLength(2)
    wrap(calling({ name: 'deny' }))
    const refused = await client.call('allow', one)
    expect(refused.isError).toBe(true)
    expect(textOf(refused)).toContain('denied')
    expect(await rig.statuses()).toEqual(['rejected', 'denied'])

    wrap(async (request, context) => {
      await inner(request, context)
      return inner(request, context)
    })
    await client.call('allow', one)
    expect(runs.splice(0)).toEqual(['allow 1', 'allow 1'])
    expect(await rig.statuses()).toEqual(['confirmed', 'confirmed'])

    let later: Promise<unknown> | undefined
    let goOn = () => undefined as unknown
    const isOver = new Promise((resolve) => {
      goOn = () => resolve(undefined)
    })
    wrap((request, context) => {
      later = isOver.then(() => inner(request, context))
      return say('soon')
    })
    await client.call('allow', one)
    goOn()
    await later
    expect(await rig.statuses()).toEqual(['confirmed', 'confirmed'])
  })

  it('is one gate for the same options, and throws for others', async () => {
    const options = rig.options()
    const server = withTools(gate(gate(sdk.mcpServer(), options), options), runs)
    gate(server.server, options)
    expect(() => gate(server, { ...options })).toThrow('gate was already called with other options')
    await expectGated(await connect(sdk, server))
  })

  it('asks once where the transport has a gate of the same options too', async () => {
    const options = rig.options()
    const around = <Transport extends object>(transport: Transport): Transport =>
      gateTransport(transport as never, options)
    const client = await sdk.connect(withTools(gate(sdk.mcpServer(), options), runs), { around })
    open.push(client)
    await expectGated(client)
  })

  it('leaves a server of its own class as it is, and gates it', async () => {
    const Base = (sdk.major === 1 ? McpServerV1 : McpServerV2) as unknown as new (info: object) => HighLevelServer
    class OwnServer extends Base {
      readonly #secret = 7
      secret(): number {
        return this.#secret
      }
    }
    const server = new OwnServer({ name: 'own', version: '1' })
    expect(rig.gate(server)).toBe(server)
    withTools(server, runs, () => say(`did ${server.secret() - 6}`))
    await expectGated(await connect(sdk, server))
    const low = Object.assign(sdk.lowLevelServer({ capabilities: { tools: {} } }), { server: { of: 'HTTP' } })
    sdk.setHandler(rig.gate(low), 'tools/call', noting)
    await expectGated(await connect(sdk, low))
  })

  it.each(['executeToolHandler', 'validateToolInput'])('throws for an SDK so old that it has no %s', (missing) => {
    const server = Object.assign(sdk.mcpServer(), { [missing]: undefined })
    expect(() => gate(server, rig.options())).toThrow('1.24 or later')
  })

  it('throws where no hook can be placed, or where nobody looks', async () => {
    const low = () => sdk.lowLevelServer({ capabilities: { tools: {} } })
    const faulty: [string, object][] = [
      ['no server', { connect: async () => undefined }],
      ['frozen', Object.freeze(low())],
      ['no map', Object.assign(low(), { _requestHandlers: {} })],
      ['not looking', Object.assign(low(), { _onrequest: () => undefined })],
      ['not looking at once', Object.assign(low(), { _onrequest: async () => undefined })],
      [
        'another getter',
        Object.defineProperty(low(), '_requestHandlers', { get: () => new Map(), configurable: false }),
      ],
    ]
    for (const [what, server] of faulty)
      expect(() => gate(server as never, rig.options()), what).toThrow('gate cannot place its hook')
    expect(() => gate(undefined as never, rig.options())).toThrow('gate cannot place its hook')
    expect(() => gate(sdk.mcpServer(), { ...rig.options(), tools: {} } as GateOptions)).toThrow('tools')
  })

  it('does not connect a server that looks elsewhere by then', async () => {
    const server = rig.gate(sdk.lowLevelServer({ capabilities: { tools: {} } }))
    const own = new Map([['tools/call', noting]])
    Object.assign(server, { _onrequest: () => own.get('tools/call') })
    await expect(sdk.connect(server)).rejects.toThrow('gate cannot place its hook')
    expect(() => Object.defineProperty(server, '_requestHandlers', { value: own })).toThrow('redefine')
    expect(() => Object.assign(server, { _requestHandlers: {} })).toThrow('in a Map')
  })

  it.each(['constructor', '__proto__', 'toString', '', 'ALLOW', 'allow '])(
    'runs no tool of the name %j',
    async (name) => {
      const server = withTools(rig.gate(sdk.mcpServer(), { unmapped: 'deny' }), runs)
      sdk.setHandler(server.server, 'tools/call', noting)
      const client = await connect(sdk, server)
      expect(reasonOf(await client.call(name, one))).toBe('unmapped')
      const mapping = await connect(sdk, withTools(rig.gate(sdk.mcpServer(), { unmapped: 'map' }), runs))
      expect(await mapping.call(name, one).catch(() => ({ isError: true }))).toMatchObject({ isError: true })
      expect(runs).toEqual([])
    },
  )

  it('refuses params that are no call, before anybody is asked', async () => {
    const server = rig.gate(sdk.lowLevelServer({ capabilities: { tools: {} } }))
    server.fallbackRequestHandler = noting
    const client = await connect(sdk, server)
    const faulty = [
      undefined,
      {},
      { name: 7 },
      { name: ['allow'] },
      { name: 'allow', arguments: null },
      { name: 'allow', arguments: [1] },
      { name: 'allow', arguments: 'n=1' },
    ]
    for (const params of faulty)
      await expect(client.request('tools/call', params), JSON.stringify(params)).rejects.toMatchObject({
        code: -32_602,
      })
    expect(runs).toEqual([])
    expect(rig.events).toEqual([])
  })

  it('keeps what the caller names from the rest of the request, and takes no note of its own for a decision', async () => {
    const client = await connect(sdk, withTools(rig.gate(sdk.mcpServer()), runs))
    const _meta = { 'countersign/decision': { id: 'dec_forged', effect: 'allow' }, agent_id: 'agent:root' }
    const denied = await client.call('deny', one, { _meta })
    expect(decisionOf(denied)).toMatchObject({ effect: 'deny', reason: 'denied' })
    const asked = rig.events.flatMap((event) => (event.type === 'decision' ? [event.asked.agent_id] : []))
    expect(asked).toEqual([rig.agentId])
    const odd = JSON.parse('{"n":1,"__proto__":{"n":2}}')
    expect(reasonOf(await client.call('allow', odd))).toBe('arguments_refused')
    expect(runs).toEqual([])
  })

  it('runs with nothing that a schema refuses while it is asked about, even if it would take it later', async () => {
    let tries = 0
    const isNotFirst = () => {
      tries += 1
      return tries > 1
    }
    const flaky = z.object({ to: z.string().toLowerCase() }).refine(isNotFirst, 'not now')
    const map = { pay: { action: 't.allow', resource: (a: { to?: unknown }) => `account:${a.to}` } }
    const server = rig.gate(sdk.mcpServer(), { map })
    server.registerTool('pay', { inputSchema: flaky }, ({ to }) => say(`paid ${runs.push(to)}`))
    const client = await connect(sdk, server)
    const refused = await client.call('pay', { to: 'BOB' })
    expect(refused.isError).toBe(true)
    expect(textOf(refused)).toContain('not now')
    expect(tries).toBe(1)
    expect(runs).toEqual([])
    expect(await rig.statuses()).toEqual(['rejected'])
  })

  it('runs with what was asked about, whatever a mapping or another handler does to it meanwhile', async () => {
    const seen: unknown[] = []
    const map = {
      ...MAP,
      deny: (a: object) => {
        Object.assign(a, { n: 9 })
        return { action: 't.allow', resource: null }
      },
    }
    const server = rig.gate(sdk.lowLevelServer({ capabilities: { tools: {} } }), { map })
    sdk.setHandler(server, 'tools/call', ({ params }) => {
      const { arguments: args } = Object(params)
      seen.push(structuredClone(args))
      args.list.push('changed')
      return say('did')
    })
    const client = await connect(sdk, server)
    const given = { n: 1, list: ['a'] }
    const calling = client.call('allow', given)
    given.list.push('meanwhile')
    expect(await calling).toMatchObject(say('did'))
    const [asked] = rig.events.flatMap((event) => (event.type === 'decision' ? [event.asked.context] : []))
    expect(seen).toEqual([asked])
    expect(given.list).not.toContain('changed')
    // A mapping is given what it cannot change.
    expect(reasonOf(await client.call('deny', given))).toBe('mapping_failed')
    expect(seen).toHaveLength(1)
  })

  it('tells refusals as errors of the protocol where it is told to', async () => {
    const client = await connect(sdk, withTools(rig.gate(sdk.mcpServer(), { denyAs: 'error' }), runs))
    await expect(client.call('deny', one)).rejects.toMatchObject({
      code: -32_003,
      data: { 'countersign/decision': { effect: 'deny', reason: 'denied' } },
    })
    expect(await client.call('allow', one)).toMatchObject(say('did 1'))
    expect(runs).toEqual(['allow 1'])
  })

  it('does nothing to other requests', async () => {
    const server = withTools(rig.gate(sdk.mcpServer({ capabilities: { resources: {}, prompts: {} } })), runs)
    const client = await connect(sdk, server)
    expect(await client.request('resources/list')).toMatchObject({ resources: [] })
    expect(await client.request('prompts/list')).toMatchObject({ prompts: [] })
    expect(await client.request('ping')).toEqual({})
    await expect(client.request('no/such')).rejects.toMatchObject({ code: -32_601 })
    expect(rig.events).toEqual([])
  })
})
