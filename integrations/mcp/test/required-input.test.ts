/** Tools that ask their client first (`input_required`, protocol 2026-07-28). The numbers are those of the acceptance cases. */
import { type GateOptions, gate, gateTransport } from '@countersign/mcp'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { createRequestStateCodec, inputRequired } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CONFIG, decisionOf, Rig, say } from './rig.js'
import { type Caller, type CallResult, connectStateless, type HighLevelServer, SDKS } from './sdks.js'

const point = useDecisionPoint()
const [, sdk] = SDKS
let rig: Rig
/** What the tool was given, leg by leg. */
let runs: string[]
const open: { close(): Promise<unknown> }[] = []
beforeAll(async () => {
  rig = await Rig.open(point())
})
beforeEach(() => {
  rig.events.length = 0
  runs = []
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()))
})

/** What a client brings back, as anybody may write it. */
interface Brought {
  readonly requestState?: unknown
  readonly inputResponses?: unknown
}

interface Asking extends CallResult {
  readonly requestState: string
}

const form = { type: 'object', properties: { account: { type: 'string' } } } as const
const accept = (account: string) => ({ inputResponses: { account: { action: 'accept', content: { account } } } })

/** Asks for an account, and for a second one, and pays once it has both: it knows the first by its own state alone. */
function askingTool({ n }: { n: number }, { mcpReq }: { mcpReq: object }): unknown {
  const { requestState, inputResponses } = mcpReq as {
    requestState(): string | undefined
    inputResponses?: Record<string, { content?: { account?: string } }>
  }
  const account = inputResponses?.account?.content?.account
  const given = [requestState(), account].filter((one) => one !== undefined).join()
  runs.push(`${n} [${given}]`)
  if (given.includes(',')) return say(`paid ${n} from ${given}`)
  return inputRequired({
    inputRequests: { account: inputRequired.elicit({ message: 'Which account?', requestedSchema: form }) },
    ...(given !== '' && { requestState: given }),
  })
}

function newServer(): HighLevelServer {
  if (sdk === undefined) throw new Error('there is no such SDK')
  const server = sdk.mcpServer()
  for (const name of ['allow', 'log', 'review', 'pay']) server.registerTool(name, CONFIG, askingTool as never)
  return server
}

type Call = (name: string, n: number, brought?: Brought) => Promise<Asking>

const callBy =
  ({ callTool }: { callTool: (params: object, options: object) => Promise<Asking> }): Call =>
  (name, n, brought = {}) =>
    callTool({ name, arguments: { n }, ...brought }, { allowInputRequired: true })

/** A new server for each request, and a client that answers nothing by itself. */
async function startServer(change: Partial<GateOptions> = {}, caller?: Caller): Promise<Call> {
  const options = rig.options(change)
  const client = await connectStateless(() => gate(newServer(), options), {
    capabilities: { elicitation: {} },
    ...(caller && { caller }),
  })
  open.push(client)
  return callBy({ callTool: (params, settings) => client.sdk.callTool(params, settings) })
}

/** A server whose transport is gated. */
async function startTransport(change: Partial<GateOptions> = {}): Promise<Call> {
  const [near, far] = InMemoryTransport.createLinkedPair()
  const gated = gateTransport(far, rig.options(change))
  const handle = serveStdio(() => newServer() as never, { transport: gated as never })
  const client = new Client(
    { name: 'rig', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: {} } },
  )
  await client.connect(near)
  open.push(client, handle)
  return callBy({ callTool: (params, settings) => client.callTool(params as never, settings as never) as never })
}

const WAYS = [
  ['gate', startServer],
  ['gateTransport', startTransport],
] as const

describe.each(WAYS)('%s: a tool that asks its client', (way, start) => {
  /** The client has answered the first question: what comes back asks the second one. */
  async function halfWay(call: Call, name = 'allow'): Promise<[first: Asking, second: Asking]> {
    const first = await call(name, 1)
    return [first, await call(name, 1, { requestState: first.requestState, ...accept('DE1') })]
  }

  it('25: is one decision and one run, however often it asks, and has what it costs reserved meanwhile', async () => {
    const budget = { limit: 100, unit: 'EUR', period: 'total', amount: 7 }
    const { id } = await rig.operator.makePolicy(`t.pay.${way}`, 'allow', budget)
    const call = await start({ map: { pay: { action: `t.pay.${way}`, resource: null } } })
    const [first, second] = await halfWay(call, 'pay')
    expect([first, second]).toMatchObject([{ resultType: 'input_required' }, { resultType: 'input_required' }])
    expect(await rig.operator.account(id)).toEqual({ spent: 0, reserved: 7 })
    const last = await call('pay', 1, { requestState: second.requestState, ...accept('DE2') })
    expect(last).toMatchObject(say('paid 1 from DE1,DE2'))
    expect(decisionOf(last)).toEqual(decisionOf(first))
    expect(runs).toEqual(['1 []', '1 [DE1]', '1 [DE1,DE2]'])
    expect(await rig.statuses()).toEqual(['confirmed'])
    expect(await rig.operator.account(id)).toEqual({ spent: 7, reserved: 0 })
  })

  it('26: is given back no state that is forged, and nothing runs', async () => {
    const call = await start()
    const [{ requestState }, other] = await halfWay(call)
    const [payload = '', signature = ''] = requestState.split('.')
    const changed = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const encoded = (state: object): string => Buffer.from(JSON.stringify(state)).toString('base64url')
    runs.length = 0
    const forged: unknown[] = [
      '',
      'DE1',
      'DE1,DE2',
      '.',
      '..',
      payload,
      `${payload}.`,
      `.${signature}`,
      `${payload}.${signature.slice(0, -2)}`,
      `${payload}.${signature}.`,
      `${payload}.${signature}.${signature}`,
      `${encoded({ ...changed, state: 'DE1,DE2' })}.${signature}`,
      `${encoded({ ...changed, nonce: 'another' })}.${signature}`,
      `${other.requestState.split('.')[0]}.${signature}`,
      'x'.repeat(1_000_000),
      '\u0000',
      '__proto__',
    ]
    for (const state of forged) {
      const denied = await call('allow', 1, { requestState: state, ...accept('DE2') })
      expect([state, decisionOf(denied)]).toEqual([state, { id: null, effect: 'deny', reason: 'refused' }])
    }
    for (const state of [7, null, true, {}, [requestState], { requestState }])
      await expect(call('allow', 1, { requestState: state, ...accept('DE2') }).then(decisionOf)).resolves.toMatchObject(
        {
          effect: 'deny',
        },
      )
    expect(runs).toEqual([])
    expect(await rig.statuses()).toEqual(['authorized'])
  })

  it('26: is given back no state a second time', async () => {
    const call = await start()
    const [first, second] = await halfWay(call)
    const replay = { requestState: first.requestState, ...accept('DE7') }
    expect(decisionOf(await call('allow', 1, replay))).toMatchObject({ effect: 'deny', reason: 'already_claimed' })
    const end = { requestState: second.requestState, ...accept('DE2') }
    const both = await Promise.all([call('allow', 1, end), call('allow', 1, end)])
    expect(both.map(({ isError = false }) => isError).sort()).toEqual([false, true])
    for (const state of [replay, end])
      expect(decisionOf(await call('allow', 1, state))).toMatchObject({ effect: 'deny', reason: 'settled' })
    expect(runs).toEqual(['1 []', '1 [DE1]', '1 [DE1,DE2]'])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('26: is given back no state whose decision is over', async () => {
    let [lateMs, isSet] = [0, false]
    const call = await start({
      now: () => {
        isSet = true
        return Date.now() + lateMs
      },
    })
    const first = await call('allow', 1)
    lateMs = 3_600_000
    const late = await call('allow', 1, { requestState: first.requestState, ...accept('DE1') })
    expect([isSet, decisionOf(late)]).toMatchObject([true, { effect: 'deny', reason: 'expired' }])
    expect(runs).toEqual(['1 []'])
  })

  it('27: is given back no state of another call', async () => {
    // The question tells them apart by nothing.
    const call = await start({ map: { allow: 't.allow', log: 't.allow' } })
    const { requestState } = await call('allow', 1)
    runs.length = 0
    const brought = { requestState, ...accept('DE1') }
    for (const [name, n] of [
      ['allow', 2],
      ['log', 1],
    ] as const)
      expect(decisionOf(await call(name, n, brought))).toMatchObject({ effect: 'deny', reason: 'refused' })
    expect(runs).toEqual([])
    const again = await call('allow', 1, brought)
    expect([again.resultType, runs]).toEqual(['input_required', ['1 [DE1]']])
  })

  it('is denied as any other', async () => {
    const call = await start({ map: { pay: 't.deny' } })
    expect(decisionOf(await call('pay', 1, accept('DE1')))).toMatchObject({ effect: 'deny', reason: 'denied' })
    expect(runs).toEqual([])
  })

  it('that awaits a review is taken up by the same call, and then goes on by its state', async () => {
    const call = await start()
    const pending = decisionOf(await call('review', 1)) as { id: string; effect: string }
    expect(pending).toMatchObject({ effect: 'review' })
    await rig.operator.transition(pending.id, 'approve')
    const [, second] = await halfWay(call, 'review')
    const last = await call('review', 1, { requestState: second.requestState, ...accept('DE2') })
    expect([last, decisionOf(last)]).toMatchObject([say('paid 1 from DE1,DE2'), { id: pending.id }])
    expect(runs).toEqual(['1 []', '1 [DE1]', '1 [DE1,DE2]'])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('is given what came, and runs, where it is only observed', async () => {
    const call = await start({ mode: 'observe' })
    const [, second] = await halfWay(call)
    const last = await call('allow', 1, { requestState: second.requestState, ...accept('DE2') })
    expect(last).toMatchObject(say('paid 1 from DE1,DE2'))
    expect(await rig.statuses()).toEqual(['confirmed'])
    await call('allow', 1, { requestState: 'of its own', ...accept('DE2') })
    expect(runs.at(-1)).toBe('1 [of its own,DE2]')
  })

  it('of another key is another state; of the same key any process goes on with it, and one alone', async () => {
    const stateKey = 'k'.repeat(32)
    const [one, same, other] = await Promise.all([
      start({ stateKey }),
      start({ stateKey }),
      start({ stateKey: new Uint8Array(32) }),
    ])
    const { requestState } = await one('allow', 1)
    const brought = { requestState, ...accept('DE1') }
    expect(decisionOf(await other('allow', 1, brought))).toMatchObject({ reason: 'refused' })
    expect(await same('allow', 1, brought)).toMatchObject({ resultType: 'input_required' })
    expect(decisionOf(await one('allow', 1, brought))).toMatchObject({ reason: 'already_claimed' })
    expect(runs).toEqual(['1 []', '1 [DE1]'])
  })

  it('that runs at most once uses its permit up in its first leg, and goes on to its end', async () => {
    const call = await start({ runs: 'at-most-once' })
    const [, second] = await halfWay(call)
    expect(await call('allow', 1, { requestState: second.requestState, ...accept('DE2') })).toMatchObject(
      say('paid 1 from DE1,DE2'),
    )
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('goes on with no decision of another API key', async () => {
    const apiKey = await rig.operator.makeKey(['decisions:write', 'decisions:read'])
    const [one, other] = [await start(), await start({ client: rig.newClient({ apiKey }) })]
    const { requestState } = await one('allow', 1)
    const brought = { requestState, ...accept('DE1') }
    expect(decisionOf(await other('allow', 1, brought))).toMatchObject({ effect: 'deny' })
    expect(runs).toEqual(['1 []'])
  })

  it('shows its client neither permit nor key', async () => {
    const call = await start()
    const [first, second] = await halfWay(call)
    for (const { requestState } of [first, second]) {
      const payload = Buffer.from(String(requestState.split('.')[0]), 'base64url').toString()
      const { id } = decisionOf(first) as { id: string }
      expect(Object.keys(JSON.parse(payload)).filter((name) => name !== 'state')).toEqual([
        'decision_id',
        'awaits',
        'nonce',
        'endsAtMs',
      ])
      expect(JSON.parse(payload).decision_id).toBe(id)
    }
    expect(JSON.stringify([first, second])).not.toMatch(/cs_sk_|eyJhbGciOi/)
  })
})

it.each<[string, Partial<GateOptions>]>([
  ['who acts as himself', {}],
  ['for whom the same agent acts', { agentId: 'agent:of-all' }],
])('27: is given back no state of another caller, %s', async (_who, options) => {
  let clientId = 'agent:one'
  const caller = () => ({ clientId, token: 'opaque', scopes: [] })
  const call = await startServer({ client: rig.newClient({ agentId: undefined }), ...options }, caller)
  const { requestState } = await call('allow', 1)
  clientId = 'agent:two'
  const brought = { requestState, ...accept('DE1') }
  expect(decisionOf(await call('allow', 1, brought))).toMatchObject({ effect: 'deny', reason: 'refused' })
  clientId = 'agent:one'
  expect(await call('allow', 1, brought)).toMatchObject({ resultType: 'input_required' })
  expect(runs).toEqual(['1 []', '1 [DE1]'])
})

it('is given the state that it has signed itself, and checks, as it gave it', async () => {
  const codec = createRequestStateCodec<{ step: number }>({ key: 'of the server, and of nobody else' })
  const options = rig.options()
  const client = await connectStateless(() => {
    const server = sdk?.mcpServer({ requestState: { verify: codec.verify } }) as HighLevelServer
    server.registerTool('allow', CONFIG, async (_args, { mcpReq }) => {
      const state = mcpReq.requestState()
      runs.push(JSON.stringify(state ?? null))
      return state === undefined ? inputRequired({ requestState: await codec.mint({ step: 1 }) }) : say('did it')
    })
    return gate(server, options)
  })
  open.push(client)
  expect(await client.call('allow', { n: 1 })).toMatchObject(say('did it'))
  expect(runs).toEqual(['null', '{"step":1}'])
  expect(await rig.statuses()).toEqual(['confirmed'])
})

it('is asked about once where the SDK itself asks a client of 2025', async () => {
  if (sdk === undefined) throw new Error('there is no such SDK')
  const accounts = ['DE1', 'DE2']
  const server = rig.gate(newServer())
  const client = await sdk.connect(server, {
    capabilities: { elicitation: {} },
    prepare: (one) =>
      one.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { account: accounts.shift() } })),
  })
  open.push(client)
  expect(await client.call('allow', { n: 1 })).toMatchObject(say('paid 1 from DE1,DE2'))
  expect(await rig.statuses()).toEqual(['confirmed'])
})

it.each([
  ['too short', 'secret'],
  ['no secret', 7],
  ['too few bytes', new Uint8Array(31)],
])('takes no stateKey that is %s', (_what, stateKey) => {
  expect(() => rig.gate(newServer(), { stateKey: stateKey as never })).toThrow('stateKey must be a secret')
})
