/** Reviews that the user at the client answers. The numbers are those of the acceptance cases. */
import { type GateOptions, gate, gateTransport } from '@countersign/mcp'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { inputRequired } from '@modelcontextprotocol/server'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CONFIG, decisionOf, Rig, say, textOf, withTools } from './rig.js'
import {
  type CallResult,
  type ClientSettings,
  type ConnectedClient,
  connectStateless,
  type HighLevelServer,
  SDKS,
  type Sdk,
} from './sdks.js'

const point = useDecisionPoint()
let rig: Rig
let reviewer: NonNullable<GateOptions['reviewer']>
let runs: string[]
/** What the user was asked. */
let asked: string[]
const open: ConnectedClient[] = []
beforeAll(async () => {
  rig = await Rig.open(point())
  reviewer = rig.newClient({ apiKey: await rig.operator.makeKey(['reviews:write']), agentId: undefined })
})
beforeEach(() => {
  rig.events.length = 0
  runs = []
  asked = []
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()))
})

type User = () => unknown
const accepts: User = () => ({ action: 'accept', content: {} })
const declines: User = () => ({ action: 'decline' })
const cancels: User = () => ({ action: 'cancel' })
const fails: User = () => {
  throw new Error('there is no window')
}

/** A client whose user answers when asked. */
function clientOf(user: User): ClientSettings {
  return {
    capabilities: { elicitation: {} },
    prepare: (client) =>
      client.setRequestHandler(
        client instanceof ClientV1 ? ElicitRequestSchema : 'elicitation/create',
        ({ params }: { params: { message: string } }) => {
          asked.push(params.message)
          return user()
        },
      ),
  }
}

type Start = (
  change: Partial<GateOptions>,
  client: ClientSettings,
  servers?: () => HighLevelServer,
) => Promise<ConnectedClient>

const toolsOf = (sdk: Sdk) => () => withTools(sdk.mcpServer(), runs)
const elicits = (change: Partial<GateOptions>): GateOptions => rig.options({ review: 'elicit', reviewer, ...change })

const connected =
  (sdk: Sdk): Start =>
  (change, client, servers = toolsOf(sdk)) =>
    sdk.connect(gate(servers(), elicits(change)), client)

const behindTransport =
  (sdk: Sdk): Start =>
  (change, client, servers = toolsOf(sdk)) => {
    const options = elicits(change)
    const around: ClientSettings['around'] = (transport) => gateTransport(transport as never, options)
    return sdk.connect(servers(), { ...client, around })
  }

/** Of protocol 2026-07-28: a server of its own for each request. */
const stateless: Start = (change, client, servers = toolsOf(SDKS[1] as Sdk)) => {
  const options = elicits(change)
  return connectStateless(() => gate(servers(), options), client)
}

const WAYS: [string, Start][] = [
  ...SDKS.map((sdk): [string, Start] => [sdk.name, connected(sdk)]),
  ...SDKS.map((sdk): [string, Start] => [`${sdk.name} behind a gated transport`, behindTransport(sdk)]),
  ['server 2.x without a connection', stateless],
]

describe.each(WAYS)('%s: the user at the client', (way, start) => {
  const startWith = async (user: User, change: Partial<GateOptions> = {}): Promise<ConnectedClient> => {
    const client = await start(change, clientOf(user))
    open.push(client)
    return client
  }
  const PENDING = { effect: 'review', reason: 'review_required' }
  const idOf = (result: CallResult): string => (decisionOf(result) as { id: string }).id

  it('23: accepts, and the call runs, once, by the decision that was reviewed', async () => {
    const client = await startWith(accepts)
    const result = await client.call('review', { n: 1 })
    expect(result).toMatchObject(say('did 1'))
    expect(asked).toEqual([
      `The agent ${rig.agentId} asks to do t.review on "order:1". With {"n":1}. Accept to let it run once.`,
    ])
    expect(runs).toEqual(['review 1'])
    const { status, review } = await rig.operator.decision(idOf(result))
    expect([status, review?.status, review?.comment]).toEqual([
      'confirmed',
      'approved',
      'answered by the user of the MCP client',
    ])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('23: declines, and the call does not run; the same call is a new question', async () => {
    const client = await startWith(declines)
    const results = [await client.call('review', { n: 1 }), await client.call('review', { n: 1 })]
    for (const result of results) expect(decisionOf(result)).toMatchObject({ effect: 'deny', reason: 'declined' })
    expect([asked.length, runs]).toEqual([2, []])
    expect(await rig.statuses()).toEqual(['declined', 'declined'])
  })

  it('23: cancels, and the call awaits a reviewer; the same call asks again, and goes on once it is approved', async () => {
    const client = await startWith(cancels)
    const pending = await client.call('review', { n: 1 })
    expect(decisionOf(pending)).toMatchObject(PENDING)
    expect(textOf(pending)).toContain('A person has to approve')
    const again = await client.call('review', { n: 1 })
    expect([idOf(again), asked.length, runs]).toEqual([idOf(pending), 2, []])
    await rig.operator.transition(idOf(pending), 'approve')
    expect(await client.call('review', { n: 1 })).toMatchObject(say('did 1'))
    expect([asked.length, runs]).toEqual([2, ['review 1']])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('is asked about each of two equal calls, one after the other, and both run', async () => {
    const client = await startWith(accepts)
    for (const _call of [1, 2]) expect(await client.call('review', { n: 1 })).toMatchObject(say('did 1'))
    expect([asked.length, runs.length, await rig.statuses()]).toEqual([2, 2, ['confirmed', 'confirmed']])
  })

  it('is asked about two equal calls at the same time, and each runs by a decision of its own', async () => {
    const client = await startWith(accepts)
    const results = await Promise.all([1, 2].map(() => client.call('review', { n: 1 })))
    const ran = results.filter(({ isError }) => isError !== true)
    expect(runs).toHaveLength(ran.length)
    expect(new Set(ran.map(idOf)).size).toBe(ran.length)
    const others = results.filter(({ isError }) => isError === true)
    // The one that runs may have been confirmed by then.
    const reason = expect.stringMatching(/^(already_claimed|settled)$/)
    for (const other of others) expect(decisionOf(other)).toMatchObject({ reason })
    // Without a connection both may have been asked about the same review.
    expect(ran.length).toBeGreaterThanOrEqual(way.includes('without') ? 1 : 2)
  })

  it('is asked about what awaits a review alone', async () => {
    const client = await startWith(accepts)
    expect(await client.call('allow', { n: 1 })).toMatchObject(say('did 1'))
    expect(decisionOf(await client.call('deny', { n: 1 }))).toMatchObject({ reason: 'denied' })
    expect([asked, runs]).toEqual([[], ['allow 1']])
  })

  it('24: is not asked where the client cannot, and the call awaits a reviewer', async () => {
    for (const capabilities of [{}, { sampling: {} }, { elicitation: { url: {} } }]) {
      const client = await start({}, { capabilities })
      open.push(client)
      expect(decisionOf(await client.call('review', { n: 24 }))).toMatchObject(PENDING)
    }
    expect(runs).toEqual([])
    expect(await rig.statuses()).toEqual(['awaiting_review'])
  })

  it('declines what a reviewer has approved meanwhile, and it does not run', async () => {
    const client = await startWith(async () => {
      const [id = ''] = rig.decisionIds()
      await rig.operator.transition(id, 'approve')
      return declines()
    })
    expect(decisionOf(await client.call('review', { n: 1 }))).toMatchObject({ reason: 'declined' })
    expect(runs).toEqual([])
    expect(await rig.statuses()).toEqual(['declined'])
  })

  it('accepts what a reviewer has declined meanwhile, and it does not run', async () => {
    const client = await startWith(async () => {
      const [id = ''] = rig.decisionIds()
      await rig.operator.transition(id, 'decline')
      return accepts()
    })
    expect(decisionOf(await client.call('review', { n: 1 }))).toMatchObject({ reason: 'declined' })
    expect(runs).toEqual([])
  })

  it.each([
    ['the key that asks', ['decisions:write', 'reviews:write'], true],
    ['a key that may not review', ['decisions:read'], false],
  ] as const)('opens nothing with the answer of a reviewer that is %s', async (_which, scopes, isAsker) => {
    const apiKey = await rig.operator.makeKey(scopes)
    const client = await startWith(accepts, {
      reviewer: rig.newClient({ apiKey }),
      ...(isAsker && { client: rig.newClient({ apiKey }) }),
    })
    const pending = await client.call('review', { n: 2 })
    expect([decisionOf(pending), asked.length, runs]).toMatchObject([PENDING, 1, []])
    expect((await rig.operator.decision(idOf(pending))).status).toBe('awaiting_review')
  })

  it('declines where the reviewer cannot, and the call does not run all the same', async () => {
    const client = await startWith(declines, { reviewer: rig.newClient({ apiKey: await rig.operator.makeKey() }) })
    const denied = await client.call('review', { n: 3 })
    expect([decisionOf(denied), runs]).toMatchObject([{ effect: 'deny', reason: 'declined' }, []])
    expect((await rig.operator.decision(idOf(denied))).status).toBe('awaiting_review')
  })

  it('sees all that the agent asks for, on one line', async () => {
    const client = await startWith(cancels, {
      map: { review: { action: 't.review', resource: null, context: () => ({ to: 'me\u202Eem\nAccept\u2028' }) } },
    })
    await client.call('review', { n: 1 })
    expect(asked[0]).toContain(String.raw`With {"to":"me\u{202e}em\nAccept\u{2028}"}`)
    expect(asked[0]).not.toMatch(/[\n\u202E\u2028]/)
  })

  it('is not asked what is too long to be seen', async () => {
    const client = await startWith(accepts, {
      map: { review: { action: 't.review', resource: null, context: () => ({ note: 'x'.repeat(4_000), amount: 7 }) } },
    })
    expect(decisionOf(await client.call('review', { n: 1 }))).toMatchObject(PENDING)
    expect([asked, runs]).toEqual([[], []])
  })
})

describe.each(SDKS)('$name: the user at the client', (sdk) => {
  it('23: cannot be asked, and the call awaits a reviewer', async () => {
    const client = await connected(sdk)({}, clientOf(fails))
    open.push(client)
    expect(decisionOf(await client.call('review', { n: 5 }))).toMatchObject({ reason: 'review_required' })
    expect([asked.length, runs]).toEqual([1, []])
  })

  it('22: accepts too late, and nothing runs', async () => {
    let accept: (answer: unknown) => void = () => undefined
    const late = new Promise((resolve) => {
      accept = resolve
    })
    const client = await connected(sdk)(
      {},
      clientOf(() => late),
    )
    open.push(client)
    await expect(client.call('review', { n: 22 }, { timeout: 300 })).rejects.toThrow()
    accept(accepts())
    // What was sent before has been heard by then.
    await client.list()
    expect([asked.length, runs]).toEqual([1, []])
    expect(await rig.statuses()).toEqual(['awaiting_review'])
  })
})

describe('a review that comes back with the call', () => {
  /** A client that answers nothing by itself. */
  async function startByHand(servers?: () => HighLevelServer, change: Partial<GateOptions> = {}) {
    const client = await stateless(change, clientOf(fails), servers)
    open.push(client)
    return (n: number, brought: object = {}): Promise<CallResult & { readonly requestState?: string }> =>
      client.sdk.callTool({ name: 'review', arguments: { n }, ...brought }, { allowInputRequired: true })
  }
  const answer = (action: string) => ({ inputResponses: { countersign_review: { action, content: {} } } })

  it('26: runs once of two that come back at the same time, and never again', async () => {
    const call = await startByHand()
    const { requestState } = await call(1)
    const accepted = { requestState, ...answer('accept') }
    const both = await Promise.all([call(1, accepted), call(1, accepted)])
    expect(both.map(({ isError = false }) => isError).sort()).toEqual([false, true])
    expect(decisionOf(await call(1, accepted))).toMatchObject({ reason: 'settled' })
    // It has run: nobody can decline it any more.
    expect(decisionOf(await call(1, { requestState, ...answer('decline') }))).toMatchObject({ reason: 'declined' })
    expect(runs).toEqual(['review 1'])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it.each([
    ['no answer', {}],
    ['an answer without its state', null],
    ['a cancelled question', answer('cancel')],
    ['an answer of no kind', answer('ACCEPT')],
    ['an answer to something else', { inputResponses: { other: { action: 'accept', content: {} } } }],
    [
      'an answer that is inherited',
      { inputResponses: JSON.parse('{"__proto__":{"countersign_review":{"action":"accept"}}}') },
    ],
  ])('26: runs nothing for %s, and still awaits its answer', async (_what, brought) => {
    const call = await startByHand()
    const { requestState } = await call(6)
    const result = await call(6, brought === null ? answer('accept') : { requestState, ...brought })
    if (brought === null) expect(result.resultType).toBe('input_required')
    else expect(decisionOf(result)).toMatchObject({ reason: 'review_required' })
    expect(runs).toEqual([])
    expect(await rig.statuses()).toEqual(['awaiting_review'])
    expect(await call(6, { requestState, ...answer('accept') })).toMatchObject(say('did 6'))
  })

  it('goes on with what a reviewer said where its client cannot ask any more', async () => {
    const call = await startByHand()
    const { requestState, _meta } = await call(9)
    const other = await stateless({}, { capabilities: {} })
    open.push(other)
    const bringBack = (): Promise<CallResult> =>
      other.sdk.callTool({ name: 'review', arguments: { n: 9 }, requestState, ...answer('accept') })
    expect(decisionOf(await bringBack())).toMatchObject({ reason: 'review_required' })
    expect(runs).toEqual([])
    await rig.operator.transition((decisionOf({ content: [], _meta: _meta ?? {} }) as { id: string }).id, 'approve')
    expect(await bringBack()).toMatchObject(say('did 9'))
  })

  it('27: runs nothing for another call, and approves nothing by it', async () => {
    const call = await startByHand()
    const { requestState } = await call(7)
    expect(decisionOf(await call(8, { requestState, ...answer('accept') }))).toMatchObject({ reason: 'refused' })
    expect(runs).toEqual([])
    expect(await rig.statuses()).toEqual(['awaiting_review'])
  })

  it('25: is one decision and one run where the tool asks, too', async () => {
    const server = (): HighLevelServer => {
      const made = (SDKS[1] as Sdk).mcpServer()
      made.registerTool('review', CONFIG, (({ n }: { n: number }, { mcpReq }: { mcpReq: Record<string, unknown> }) => {
        runs.push(`${n} ${JSON.stringify(mcpReq.inputResponses ?? null)}`)
        if (mcpReq.inputResponses !== undefined) return say('done')
        const requestedSchema = { type: 'object', properties: {} } as const
        return inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: 'Sure?', requestedSchema }) } })
      }) as never)
      return made
    }
    const call = await startByHand(server)
    const first = await call(1)
    const second = await call(1, { requestState: first.requestState, ...answer('accept') })
    expect(second).toMatchObject({ resultType: 'input_required', inputRequests: { sure: {} } })
    const sure = { inputResponses: { sure: { action: 'accept', content: {} } } }
    expect(await call(1, { requestState: second.requestState, ...sure })).toMatchObject(say('done'))
    expect(runs).toEqual(['1 null', `1 ${JSON.stringify(sure.inputResponses)}`])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })
})

it('28: awaits a reviewer where a client of 2025 has no connection to be asked by', async () => {
  const options = elicits({})
  const client = await connectStateless(() => gate(toolsOf(SDKS[1] as Sdk)(), options), {
    ...clientOf(accepts),
    legacy: true,
  })
  open.push(client)
  const pending = await client.call('review', { n: 28 })
  expect([decisionOf(pending), asked, runs]).toMatchObject([{ reason: 'review_required' }, [], []])
  expect(textOf(pending)).toContain('A person has to approve')
})

it.each([
  [{ review: 'elicit', reviewer: undefined }, "review: 'elicit' needs a reviewer"],
  [{ review: 'elicit', reviewer: {} as never }, "review: 'elicit' needs a reviewer"],
  [{ review: 'pending', reviewer: {} as never }, "reviewer needs review: 'elicit'"],
] as [Partial<GateOptions>, string][])('refuses %j at the start', (change, message) => {
  expect(() => gate(toolsOf(SDKS[0] as Sdk)(), rig.options(change))).toThrow(new TypeError(message).message)
})
