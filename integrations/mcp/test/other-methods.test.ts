/** Resources, prompts, completions and methods that the protocol does not know, through both SDKs and every kind of gate. */
import { type GateOptions, gateTransport } from '@countersign/mcp'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { ListRootsRequestSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CLIENT_V1, proxyOf, serveSessions } from './http-rig.js'
import { Rig } from './rig.js'
import {
  type ClientSettings,
  type ConnectedClient,
  type HighLevelServer,
  type LowLevelServer,
  SDKS,
  type Sdk,
} from './sdks.js'

const point = useDecisionPoint()
let rig: Rig
const seen: { readonly method: string; readonly params: unknown }[] = []
const open: { close(): Promise<unknown> }[] = []
beforeAll(async () => {
  rig = await Rig.open(point())
})
beforeEach(() => {
  rig.events.length = 0
  seen.length = 0
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()))
})

/** What the decision point was asked, in order. */
const asked = () => rig.events.flatMap((event) => (event.type === 'decision' ? [event.asked] : []))

/** An action of its own, that is decided so. */
async function actionWith(
  effect: 'allow' | 'deny' | 'review',
  budget?: object,
): Promise<{ action: string; id: string }> {
  const action = `t.other-${crypto.randomUUID().slice(0, 8)}`
  const { id } = await rig.operator.makePolicy(action, effect, budget as never)
  return { action, id }
}

const RESULTS: Readonly<Record<string, object>> = {
  'resources/read': { contents: [{ uri: 'hr://salary', text: '91000' }] },
  'prompts/get': { messages: [] },
  'completion/complete': { completion: { values: ['a'] } },
}
const ASKED: readonly (readonly [method: string, params: object, resource: string, action: string])[] = [
  ['resources/read', { uri: 'hr://salary' }, 'hr://salary', 'mcp.resources.read'],
  ['resources/subscribe', { uri: 'hr://salary' }, 'hr://salary', 'mcp.resources.subscribe'],
  ['prompts/get', { name: 'plan', arguments: { team: 'a' } }, 'prompt:plan', 'mcp.prompts.get'],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'plan' }, argument: { name: 'team', value: 'a' } },
    'prompt:plan',
    'mcp.completion',
  ],
  ['acme/export', { table: 'salaries' }, 'method:acme/export', 'mcp.method.acme.export.…'],
]

/** A server whose handlers note what reaches them. */
function server(sdk: Sdk): LowLevelServer {
  const made = sdk.lowLevelServer({ capabilities: { resources: { subscribe: true }, prompts: {}, completions: {} } })
  made.fallbackRequestHandler = ({ method, params }) => {
    const { _meta, ...given } = Object(params)
    seen.push({ method, params: given })
    if (Object(given).uri === 'hr://gone') throw new Error('there is no such resource')
    return RESULTS[method] ?? {}
  }
  return made
}

type Connect = (sdk: Sdk, change?: Partial<GateOptions>, settings?: ClientSettings) => Promise<ConnectedClient>

const inServer: Connect = (sdk, change, settings) => sdk.connect(rig.gate(server(sdk), change), settings)
const atTransport: Connect = (sdk, change, settings) =>
  sdk.connect(server(sdk), {
    ...settings,
    around: (transport) => gateTransport(transport as never, rig.options(change)) as never,
  })

const PLACES = SDKS.flatMap((sdk) => [
  { name: `gate, ${sdk.name}`, sdk, connect: inServer },
  { name: `gateTransport, ${sdk.name}`, sdk, connect: atTransport },
])

describe.each(PLACES)('$name', ({ sdk, connect }) => {
  const connected = async (change?: Partial<GateOptions>, settings?: ClientSettings) => {
    const client = await connect(sdk, change, settings)
    open.push(client)
    return client
  }

  it.each(ASKED)('refuses %s without a mapping, and names what opens it', async (method, params) => {
    const client = await connected()
    const error = await client.request(method, params).catch((error: unknown) => error)
    expect(error).toMatchObject({
      code: -32_003,
      message: expect.stringMatching(/"(resources|prompts|methods)", set "others" to "map", or list ".*" in "pass"/),
      data: { 'countersign/decision': { id: null, effect: 'deny', reason: 'unmapped' } },
    })
    expect(Object(error).message).toContain(JSON.stringify(method))
    expect(seen).toEqual([])
    expect(rig.events).toMatchObject([{ type: 'denied', reason: 'unmapped' }])
  })

  it.each(ASKED)('asks about %s by its own name with others: map', async (method, params, resource, action) => {
    const client = await connected({ others: 'map' })
    await expect(client.request(method, params)).rejects.toMatchObject({ code: -32_003 })
    const [beginning = ''] = action.split('…')
    expect(asked()[0]).toMatchObject({ resource, action: expect.stringMatching(`^${beginning}[0-9a-f]*$`) })
    expect(seen).toEqual([])
  })

  it.each(ASKED)('opens %s by others: pass, and by its name in pass', async (method, params) => {
    for (const change of [{ others: 'pass' }, { pass: [method] }] as const) {
      const client = await connected(change)
      await client.request(method, params)
    }
    expect(seen).toEqual([
      { method, params },
      { method, params },
    ])
    expect(rig.events).toEqual([])
  })

  it.each(ASKED)('runs a mapped %s once, as it was asked about, and settles it', async (method, params, resource) => {
    const { action, id } = await actionWith('allow', { limit: 2, unit: 'reads', period: 'total', amount: 1 })
    const client = await connected({ methods: { [method]: action } })
    const result = await client.request(method, params)
    expect(result).toMatchObject({ ...RESULTS[method], _meta: { 'countersign/decision': { effect: 'allow' } } })
    expect(seen).toEqual([{ method, params }])
    expect(asked()[0]).toMatchObject({ resource })
    expect(await rig.statuses()).toEqual(['confirmed'])
    expect(await rig.operator.account(id)).toEqual({ spent: 1, reserved: 0 })
  })

  it('maps resources by patterns of their URIs, and prompts by their names', async () => {
    const [allowed, denied] = [await actionWith('allow'), await actionWith('deny')]
    const client = await connected({
      resources: { 'hr://*': denied.action, 'hr://teams/*': allowed.action, 'hr://teams/board': denied.action },
      prompts: { plan: { action: allowed.action, resource: () => 'plan:1', context: ({ team }) => ({ team }) } },
    })
    await client.request('resources/read', { uri: 'hr://teams/a' })
    await client.request('prompts/get', { name: 'plan', arguments: { team: 'a' } })
    for (const uri of ['hr://salary', 'hr://teams/board', 'other://teams/a'])
      await expect(client.request('resources/read', { uri })).rejects.toMatchObject({ code: -32_003 })
    await expect(client.request('prompts/get', { name: 'other' })).rejects.toMatchObject({ code: -32_003 })
    expect(seen.map(({ method }) => method)).toEqual(['resources/read', 'prompts/get'])
    expect(asked()[1]).toMatchObject({ resource: 'plan:1', context: { team: 'a' } })
  })

  it('rejects a read that failed, and tells of it as the server did', async () => {
    const { action, id } = await actionWith('allow', { limit: 1, unit: 'reads', period: 'total', amount: 1 })
    const client = await connected({ resources: { 'hr://*': action } })
    await expect(client.request('resources/read', { uri: 'hr://gone' })).rejects.toThrow('no such resource')
    expect(await rig.statuses()).toEqual(['rejected'])
    expect(await rig.operator.account(id)).toEqual({ spent: 0, reserved: 0 })
    await client.request('resources/read', { uri: 'hr://salary' })
    await expect(client.request('resources/read', { uri: 'hr://salary' })).rejects.toMatchObject({ code: -32_003 })
  })

  it('runs a read that a person has approved, once', async () => {
    const { action } = await actionWith('review')
    const client = await connected({ resources: { 'hr://*': action } })
    const read = () => client.request('resources/read', { uri: 'hr://salary' })
    const refusal = await read().catch((error: unknown) => error)
    const { id } = Object(refusal).data['countersign/decision']
    await rig.operator.transition(id, 'approve')
    expect(await read()).toMatchObject({ _meta: { 'countersign/decision': { id } } })
    await expect(read()).rejects.toMatchObject({ data: { 'countersign/decision': { reason: 'review_required' } } })
    expect(seen).toHaveLength(1)
  })

  it.each([
    ['a way up', 'hr://teams/../salary'],
    ['an escaped way up', 'hr://teams/%2e%2e/salary'],
    ['a way up with an escaped slash', 'hr://teams/..%2fsalary'],
    ['a way up that is escaped twice', 'hr://teams/%252e%252e/salary'],
    ['a scheme in upper case', 'HR://teams/a'],
    ['a host in upper case', 'https://EXAMPLE.com/teams/a'],
    ['a host in upper case, of any scheme', 'note://Shop.example/teams/a'],
    ['a port that goes without saying', 'https://example.com:443/'],
    ['a tab', 'hr://teams/\ta'],
    ['a space at its end', 'hr://teams/a '],
    ['an invisible character', 'hr://teams/\u200Ba'],
    ['a form other than NFC', 'hr://teams/e\u0301'],
    ['half of a character', 'hr://teams/\ud800'],
    ['no scheme', 'teams/a'],
    ['nothing', ''],
    ['a length that no server expects', `hr://teams/${'a'.repeat(5_000)}`],
    ['the local host of a file', 'file://localhost/etc/passwd'],
    ['a backslash', 'file:///teams\\..\\etc'],
    ['an empty segment at its beginning', 'file:////etc/passwd'],
    ['an empty segment', 'file:///etc//passwd'],
    ['an empty segment behind a host', 'https://example.com/a//b'],
  ])('reads no URI with %s that is mapped, nor under a pattern that opens the rest', async (_what, uri) => {
    const { action } = await actionWith('allow')
    for (const change of [{ resources: { '*': action } }, { resources: { 'x:y': action }, others: 'pass' }] as const) {
      const client = await connected(change)
      await expect(client.request('resources/read', { uri })).rejects.toMatchObject({ code: -32_003 })
      await expect(client.request('resources/subscribe', { uri })).rejects.toMatchObject({ code: -32_003 })
    }
    expect(seen).toEqual([])
  })

  it.each([
    ['hr://salary'],
    ['file:///home/you/My notes/ä.txt'],
    ['https://example.com'],
    ['https://example.com/a?b=c#d'],
    ['https://example.com/a?b=https://c//d'],
    ['urn:isbn:0451450523'],
    ['postgres://127.0.0.1:5432/hr/salaries'],
    ['ui://form/{id}.html'],
    ['demo://resource/dynamic/text/1'],
  ])('asks about the URI %s as it is, and the server gets the same', async (uri) => {
    const { action } = await actionWith('allow')
    const client = await connected({ resources: { '*': action } })
    await client.request('resources/read', { uri })
    expect(asked()[0]).toMatchObject({ resource: uri })
    expect(seen).toEqual([{ method: 'resources/read', params: { uri } }])
  })

  it('asks about what no resource can be called under `uri:`, so that no two are the same', async () => {
    const client = await connected({ others: 'map' })
    for (const uri of ['git+ssh://a/b', 'uri:a', 'prompt:plan', 'method:x'])
      await expect(client.request('resources/read', { uri })).rejects.toMatchObject({ code: -32_003 })
    expect(asked().map((one) => one?.resource)).toEqual([
      'uri:git+ssh://a/b',
      'uri:uri:a',
      'uri:prompt:plan',
      'uri:method:x',
    ])
  })

  it('asks about each method by an action of its own, whatever it is called, or refuses it', async () => {
    const names = [
      'acme/export',
      'acme.export',
      'acme-export',
      'acme_export',
      'ämter/export',
      `a/${'x'.repeat(300)}`,
      'resources/list2',
    ]
    const client = await connected({ others: 'map' })
    for (const name of names) await expect(client.request(name)).rejects.toMatchObject({ code: -32_003 })
    const actions = asked().map((one) => one?.action)
    expect(new Set(actions).size).toBe(names.length)
    for (const action of actions) expect(action).toMatch(/^mcp\.method\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/)
    for (const action of actions) expect(action?.length).toBeLessThanOrEqual(128)
    rig.events.length = 0
    for (const name of [`a/${'x'.repeat(600)}`, 'a/\u0001', 'a/\u200b', 'Resources/Read', 'tools/call ', 'ｔools/call'])
      await expect(client.request(name, { uri: 'hr://salary', name: 'x' })).rejects.toThrow()
    expect(asked()).toEqual([])
    expect(seen).toEqual([])
  })

  it.each([
    ['resources/read', { uri: 7 }],
    ['resources/read', { uri: 'hr://teams/a', URI: 'hr://salary' }],
    ['resources/read', {}],
    ['prompts/get', { name: 'plan', arguments: [] }],
    ['prompts/get', { name: 'plan', args: {} }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'plan', uri: 'hr://salary' }, argument: {} }],
    ['completion/complete', { argument: {} }],
  ])('takes no %s with %j for a question', async (method, params) => {
    const client = await connected({ others: 'map' })
    await expect(client.request(method, params)).rejects.toThrow(/Invalid params|-32602/)
    expect(asked()).toEqual([])
    expect(seen).toEqual([])
  })

  it('asks about members of params that the protocol does not know', async () => {
    const { action } = await actionWith('allow')
    const client = await connected({ resources: { 'hr://*': action } })
    await client.request('resources/read', { uri: 'hr://salary', of: 'ada' })
    expect(asked()[0]).toMatchObject({ context: { of: 'ada' } })
    expect(seen).toEqual([{ method: 'resources/read', params: { uri: 'hr://salary', of: 'ada' } }])
  })

  it('passes what neither reads nor acts', async () => {
    const client = await connected()
    for (const method of [
      'ping',
      'tools/list',
      'prompts/list',
      'resources/list',
      'resources/templates/list',
      'resources/unsubscribe',
    ])
      await client.request(method, { uri: 'hr://salary' }).catch((error: unknown) => {
        expect(Object(error).code).not.toBe(-32_003)
      })
    expect(rig.events).toEqual([])
  })

  it('drops a notification that the protocol does not know, unless it is permitted', async () => {
    const heard: string[] = []
    const { action } = await actionWith('allow')
    const notify = async (change: Partial<GateOptions>) => {
      const made = server(sdk)
      const low = made as never as { fallbackNotificationHandler: unknown }
      low.fallbackNotificationHandler = async ({ method }: { method: string }) => void heard.push(method)
      const client =
        connect === inServer
          ? await sdk.connect(rig.gate(made, change))
          : await sdk.connect(made, { around: (one) => gateTransport(one as never, rig.options(change)) as never })
      open.push(client)
      await client.sdk.notification({ method: 'acme/wipe', params: { table: 'salaries' } })
      await expect.poll(() => rig.events.length + heard.length).toBeGreaterThan(0)
      await client.request('ping')
    }
    await notify({})
    expect(heard).toEqual([])
    expect(rig.events).toMatchObject([{ type: 'denied', reason: 'unmapped' }])
    rig.events.length = 0
    await notify({ methods: { 'acme/wipe': action } })
    await expect.poll(() => heard).toEqual(['acme/wipe'])
    expect(await rig.statuses()).toEqual(['confirmed'])
    await notify({ others: 'pass' })
    expect(heard).toEqual(['acme/wipe', 'acme/wipe'])
  })

  it('lets the server ask its client, unless pass leaves that out', async () => {
    const capabilities = { roots: {}, sampling: {}, elicitation: {} }
    const ask = async (change: Partial<GateOptions>) => {
      const made = server(sdk)
      made.fallbackRequestHandler = async () => {
        const { listRoots } = made as never as { listRoots(): Promise<object> }
        return listRoots.call(made)
      }
      const prepare = (client: { setRequestHandler: (...given: never[]) => void }) => {
        const handle = async () => ({ roots: [{ uri: 'file:///home/you' }] })
        client.setRequestHandler((sdk.major === 1 ? ListRootsRequestSchema : 'roots/list') as never, handle as never)
      }
      const settings = { capabilities, prepare } as never as ClientSettings
      const client =
        connect === inServer
          ? await sdk.connect(rig.gate(made, change), settings)
          : await sdk.connect(made, {
              ...settings,
              around: (one) => gateTransport(one as never, rig.options(change)) as never,
            })
      open.push(client)
      return client.request('acme/roots')
    }
    const found = { roots: [{ uri: 'file:///home/you' }] }
    expect(await ask({ others: 'pass' })).toMatchObject(found)
    expect(await ask({ pass: ['acme/roots', 'roots/list'] })).toMatchObject(found)
    await expect(ask({ pass: ['acme/roots'] })).rejects.toThrow('"roots/list" is not in "pass"')
  })
})

it.each([
  [{ others: 'maybe' }, "others must be 'deny', 'map' or 'pass'"],
  [{ pass: 'prompts/get' }, 'pass must be a list'],
  [{ pass: ['tools/call'] }, 'pass cannot hold "tools/call"'],
  [{ methods: { 'tools/call': 'a.b' } }, 'methods cannot hold "tools/call"'],
  [{ methods: { ping: 'a.b' } }, 'methods cannot hold "ping"'],
  [{ methods: { 'subscriptions/listen': 'a.b' } }, 'map "resources/subscribe"'],
  [{ resources: { 'hr://*': { resurce: null } } }, 'resurce'],
] as const)('refuses the options %j', (change, message) => {
  expect(() => rig.gate(SDKS[0]!.mcpServer(), change as never)).toThrow(message)
})

describe('the proxy over HTTP', () => {
  it.each(ASKED)('refuses %s without a mapping, and runs it once with one', async (method, params) => {
    const [sdk] = SDKS as [Sdk]
    const upstream = await serveSessions(sdk, () => server(sdk) as never as HighLevelServer)
    const { action } = await actionWith('allow')
    const refusing = await proxyOf(rig, upstream.url)
    const asking = await proxyOf(rig, upstream.url, { gate: { methods: { [method]: action } } })
    const one = await CLIENT_V1.connect(refusing.url)
    await expect(one.client.request({ method, params }, ResultSchema)).rejects.toMatchObject({ code: -32_003 })
    expect(seen).toEqual([])
    const other = await CLIENT_V1.connect(asking.url)
    await other.client.request({ method, params }, ResultSchema)
    expect(seen).toEqual([{ method, params }])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })
})
