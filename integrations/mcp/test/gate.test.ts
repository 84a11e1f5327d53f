/** `gate` on servers of both majors. The numbers are those of the acceptance cases. */
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { CONFIG, decisionOf, Rig, say, textOf, withTools } from './rig.js'
import {
  type CallResult,
  type ClientSettings,
  type ConnectedClient,
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

const connect = async (sdk: Sdk, server: HighLevelServer | LowLevelServer, settings?: ClientSettings) => {
  const client = await sdk.connect(server, settings)
  open.push(client)
  return client
}
const one = { n: 1 }

describe.each(SDKS)('$name', (sdk) => {
  it('1, 2: runs what is allowed or to be recorded, once; answers the others with an error that says why', async () => {
    const client = await connect(sdk, withTools(rig.gate(sdk.mcpServer()), runs))
    const allowed = await client.call('allow', one)
    const denied = await client.call('deny', one)
    const pending = await client.call('review', one)
    const logged = await client.call('log', one)
    expect(runs).toEqual(['allow 1', 'log 1'])
    expect(allowed).toMatchObject({ content: [{ type: 'text', text: 'did 1' }] })
    expect(decisionOf(allowed)).toEqual({ id: expect.stringMatching(/^dec_/), effect: 'allow' })
    expect(logged).toMatchObject(say('did 1'))
    const shown = { id: expect.stringMatching(/^dec_/), effect: 'deny', reason: 'denied' }
    expect(denied.isError).toBe(true)
    expect(decisionOf(denied)).toEqual(shown)
    expect(pending.isError).toBe(true)
    expect(decisionOf(pending)).toEqual({ ...shown, effect: 'review', reason: 'review_required' })
    expect(textOf(pending)).toContain(idOf(pending))
    const policies = rig.events.flatMap((event) => (event.type === 'decision' ? [`${event.decision.policy_id}`] : []))
    expect(policies).toHaveLength(4)
    for (const secret of [...policies, 'eyJ', 'policy that decides'])
      expect(JSON.stringify([allowed, denied, pending, logged])).not.toContain(secret)
    expect(await rig.statuses()).toEqual(['confirmed', 'denied', 'awaiting_review', 'confirmed'])
  })

  it('1: runs what a person approves when it is called once more, and then asks again', async () => {
    const client = await connect(sdk, withTools(rig.gate(sdk.mcpServer()), runs))
    const pending = await client.call('review', one)
    await rig.operator.transition(idOf(pending), 'approve')
    expect(idOf(await client.call('review', { n: 2 }))).not.toBe(idOf(pending))
    expect(runs).toEqual([])
    const approved = await client.call('review', one)
    expect(approved).toMatchObject(say('did 1'))
    expect(idOf(approved)).toBe(idOf(pending))
    expect(await client.call('review', one)).toMatchObject({ isError: true })
    expect(runs).toEqual(['review 1'])
  })

  it('1: runs what a person approved with no other arguments, also where the mapping leaves them out', async () => {
    const map = { review: 't.review' }
    const client = await connect(sdk, withTools(rig.gate(sdk.mcpServer(), { map }), runs))
    const pending = await client.call('review', one)
    await rig.operator.transition(idOf(pending), 'approve')
    expect(idOf(await client.call('review', { n: 1_000 }))).not.toBe(idOf(pending))
    expect(runs).toEqual([])
    expect(await client.call('review', one)).toMatchObject(say('did 1'))
  })

  it('3: gates tools that were there before it', async () => {
    const client = await connect(sdk, rig.gate(withTools(sdk.mcpServer(), runs)))
    expect(await client.call('allow', one)).toMatchObject(say('did 1'))
    expect(await client.call('deny', one)).toMatchObject({ isError: true })
    expect(runs).toEqual(['allow 1'])
    expect(await rig.statuses()).toEqual(['confirmed', 'denied'])
  })

  it('4, 5: gates tools of a capability that was declared at once, and those that come after the connection', async () => {
    const server = rig.gate(sdk.mcpServer({ capabilities: { tools: {} } }))
    const client = await connect(sdk, server)
    expect(await client.list()).toEqual([])
    withTools(server, runs)
    expect(await client.list()).toEqual(['allow', 'deny', 'review', 'log'])
    expect(await client.call('allow', one)).toMatchObject(say('did 1'))
    expect(await client.call('deny', one)).toMatchObject({ isError: true })
    expect(runs).toEqual(['allow 1'])
    expect(await rig.statuses()).toEqual(['confirmed', 'denied'])
  })

  it('gates a server that is connected already', async () => {
    const server = withTools(sdk.mcpServer(), runs)
    const client = await connect(sdk, server)
    rig.gate(server)
    expect(await client.call('deny', one)).toMatchObject({ isError: true })
    expect(await client.call('allow', one)).toMatchObject(say('did 1'))
    expect(runs).toEqual(['allow 1'])
  })

  it('6, 7: gates a tool whose work, name or being there changes', async () => {
    const server = rig.gate(sdk.mcpServer())
    const tool = server.registerTool('deny', CONFIG, () => void runs.push('first'))
    const client = await connect(sdk, server)
    tool.update({ callback: () => void runs.push('second') })
    expect(decisionOf(await client.call('deny', one))).toMatchObject({ reason: 'denied' })
    tool.update({ name: 'other' })
    expect(decisionOf(await client.call('other', one))).toMatchObject({ reason: 'unmapped', id: null })
    expect(decisionOf(await client.call('deny', one))).toMatchObject({ reason: 'denied' })
    tool.update({ name: 'allow', callback: () => say(`ran ${runs.push('allow')}`) })
    expect(await client.call('allow', one)).toMatchObject(say('ran 1'))
    expect(await rig.statuses()).toEqual(['denied', 'denied', 'confirmed'])
    tool.disable()
    await failed(client.call('allow', one))
    tool.enable()
    expect(await client.call('allow', one)).toMatchObject(say('ran 2'))
    const other = server.registerTool('log', CONFIG, () => say(`ran ${runs.push('log')}`))
    other.remove()
    await failed(client.call('log', one))
    expect(await rig.statuses()).toEqual(['rejected', 'confirmed', 'rejected'])
    expect(runs).toEqual(['allow', 'allow'])
  })

  it('8: gates the handlers of a low-level server, of others too', async () => {
    const server = rig.gate(sdk.lowLevelServer({ capabilities: { tools: {} } }), { pass: ['own/method'] })
    sdk.setHandler(server, 'tools/call', ({ params }) => say(`did ${runs.push(nameIn(params))}`))
    sdk.setHandler(server, 'tools/list', () => ({ tools: [] }))
    const client = await connect(sdk, server)
    expect(await client.call('allow', one)).toMatchObject(say('did 1'))
    expect(await client.call('deny', one)).toMatchObject({ isError: true })
    sdk.setHandler(server, 'tools/call', ({ params }) => say(`did again ${runs.push(nameIn(params))}`))
    expect(await client.call('deny', one)).toMatchObject({ isError: true })
    expect(await client.call('allow', one)).toMatchObject(say('did again 2'))
    server.removeRequestHandler('tools/call')
    await expect(client.call('allow', one)).rejects.toThrow('Method not found')
    server.fallbackRequestHandler = async ({ method, params }) =>
      method === 'tools/call' ? say(`fell back ${runs.push(nameIn(params))}`) : { is: method }
    expect(await client.call('deny', one)).toMatchObject({ isError: true })
    expect(await client.call('allow', one)).toMatchObject(say('fell back 3'))
    expect(await client.request('own/method')).toMatchObject({ is: 'own/method' })
    expect(await rig.statuses()).toEqual(['confirmed', 'denied', 'denied', 'confirmed', 'denied', 'confirmed'])
    expect(runs).toEqual(['allow', 'allow', 'allow'])
  })

  it('11: asks about a mapped tool that is not there, and holds nothing for it', async () => {
    const policy = await rig.operator.makePolicy(`t.absent.${sdk.major}`, 'allow', {
      period: 'total',
      limit: 1,
      unit: 'calls',
      amount: 1,
    })
    const map = { absent: `t.absent.${sdk.major}` }
    const client = await connect(sdk, withTools(rig.gate(sdk.mcpServer(), { map }), runs))
    await failed(client.call('absent', one))
    await failed(client.call('absent', one))
    expect(await rig.statuses()).toEqual(['rejected', 'rejected'])
    expect(await rig.operator.account(policy.id)).toEqual({ spent: 0, reserved: 0 })
    expect(decisionOf(await client.call('nowhere', one))).toMatchObject({ reason: 'unmapped', id: null })
  })

  it('12: arguments that the tool does not take are rejected, and what it says of them is told', async () => {
    const map = { allow: 't.allow' }
    const client = await connect(sdk, withTools(rig.gate(sdk.mcpServer(), { map }), runs))
    const refused = await client.call('allow', { n: 'one' })
    expect(refused.isError).toBe(true)
    expect(textOf(refused)).toContain('Invalid arguments for tool allow')
    expect(await client.call('allow')).toMatchObject({ isError: true })
    expect(await rig.statuses()).toEqual(['rejected', 'rejected'])
    expect(runs).toEqual([])
  })

  it('12: is mapped by the arguments that the tool has, and runs with those that came', async () => {
    const seen: unknown[] = []
    const map = { pay: { action: 't.allow', resource: (a: { to?: unknown }) => `account:${a.to}` } }
    const server = rig.gate(sdk.mcpServer(), { map })
    const inputSchema = z.object({ to: z.string().trim().default('cash'), n: z.coerce.number().optional() })
    server.registerTool('pay', { inputSchema }, (args) => {
      seen.push(args)
      return say('paid')
    })
    const client = await connect(sdk, server)
    await client.call('pay', { to: ' bob ', n: '3', extra: 1 })
    await client.call('pay')
    await client.call('pay', {})
    expect(seen).toEqual([{ to: 'bob', n: 3 }, { to: 'cash' }, { to: 'cash' }])
    const asked = rig.events.flatMap((event) => (event.type === 'decision' ? [event.asked.resource] : []))
    expect(asked).toEqual(['account:bob', 'account:cash', 'account:cash'])
    expect(await rig.statuses()).toEqual(['confirmed', 'confirmed', 'confirmed'])
  })

  it('13: what a tool throws is told as without a gate, and rejected; where an answer was lost, the money is held', async () => {
    const lost = new Error('Stripe is away', { cause: Object.assign(new Error('read'), { code: 'ECONNRESET' }) })
    const errors = [new Error('card declined'), 'no reason', lost]
    const work = ({ n }: { n: number }) => {
      throw errors[n]
    }
    const plain = await connect(sdk, withTools(sdk.mcpServer(), runs, work))
    const client = await connect(sdk, withTools(rig.gate(sdk.mcpServer()), runs, work))
    for (const n of errors.keys()) {
      const { _meta, ...result } = await client.call('allow', { n })
      expect(result).toEqual(withoutMeta(await plain.call('allow', { n })))
      expect(result.isError).toBe(true)
    }
    expect(await rig.statuses()).toEqual(['rejected', 'rejected', 'authorized'])
  })

  it('13: an error that a tool gives back is rejected, and an error of the protocol passes', async () => {
    const work = ({ n }: { n: number }) => ({ ...say(n === 1 ? 'card declined' : 'read ECONNRESET'), isError: true })
    const client = await connect(sdk, withTools(rig.gate(sdk.mcpServer()), runs, work))
    expect(await client.call('allow', one)).toMatchObject({ ...say('card declined'), isError: true })
    expect(await client.call('allow', { n: 2 })).toMatchObject({ isError: true })
    const server = rig.gate(sdk.lowLevelServer({ capabilities: { tools: {} } }))
    sdk.setHandler(server, 'tools/call', () => {
      throw Object.assign(new Error('not now'), { code: -32_050, data: { why: 'full' } })
    })
    const other = await connect(sdk, server)
    await expect(other.call('allow', one)).rejects.toMatchObject({ code: -32_050, data: { why: 'full' } })
    expect(await rig.statuses()).toEqual(['rejected', 'authorized', 'rejected'])
  })

  it('14, 15, 16: keeps what is structured, rejects what fails the schema, and may deny a tool that has one', async () => {
    const server = rig.gate(sdk.mcpServer())
    const outputSchema = z.object({ balance: z.number() })
    const work = ({ n }: { n: number }) => ({
      ...say('x'),
      structuredContent: n === 1 ? { balance: 7 } : { balance: 'x' },
    })
    for (const name of ['allow', 'deny', 'review']) server.registerTool(name, { ...CONFIG, outputSchema }, work)
    const client = await connect(sdk, server)
    // The client knows the schema from here on, and holds results to it.
    await client.list()
    expect(await client.call('allow', one)).toMatchObject({ structuredContent: { balance: 7 } })
    const faulty = await client.call('allow', { n: 2 })
    expect(faulty.isError).toBe(true)
    expect(textOf(faulty)).toContain('Output validation error')
    for (const name of ['deny', 'review'])
      expect(decisionOf(await client.call(name, one))).toMatchObject({ id: expect.stringMatching(/^dec_/) })
    expect(await rig.statuses()).toEqual(['confirmed', 'rejected', 'denied', 'awaiting_review'])
  })

  it('17, 18: keeps what a tool gives, whatever it is, and its own notes', async () => {
    const given: CallResult = {
      content: [
        { type: 'text', text: 'a', annotations: { priority: 0.5 } },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
        { type: 'resource_link', uri: 'file:///a', name: 'a' },
        { type: 'resource', resource: { uri: 'file:///b', text: 'b' } },
      ],
      _meta: { 'own/note': { deep: [1] }, 'countersign/decision': 'forged' },
    }
    const plain = await connect(
      sdk,
      withTools(sdk.mcpServer(), runs, () => given),
    )
    const client = await connect(
      sdk,
      withTools(rig.gate(sdk.mcpServer()), runs, () => given),
    )
    const [gated, before] = [await client.call('allow', one), await plain.call('allow', one)]
    expect(withoutMeta(gated)).toEqual(withoutMeta(before))
    expect(gated._meta).toMatchObject({ ...before._meta, 'countersign/decision': { effect: 'allow' } })
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('19: tells of progress meanwhile', async () => {
    const work = async (_args: unknown, context: Record<string, never>) => {
      const { _meta, sendNotification } = Object(context)
      const { mcpReq } = Object(context)
      const notify = sendNotification ?? mcpReq.notify
      const { progressToken } = _meta ?? mcpReq._meta
      await notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } })
      return say('done')
    }
    const client = await connect(sdk, withTools(rig.gate(sdk.mcpServer()), runs, work))
    const told: number[] = []
    const onprogress = ({ progress }: { progress: number }) => told.push(progress)
    expect(await client.call('allow', one, { onprogress })).toMatchObject(say('done'))
    expect(told).toEqual([1])
    expect(await client.call('deny', one, { onprogress })).toMatchObject({ isError: true })
    expect(told).toEqual([1])
  })

  it('41: of 100 parallel calls, as many run as the budget pays for', async () => {
    const action = `t.pay.${sdk.major}`
    const budget = { period: 'total', limit: 30, unit: 'calls', amount: 1 }
    const { id } = await rig.operator.makePolicy(action, 'allow', budget)
    const server = rig.gate(sdk.mcpServer(), { map: { pay: { action, resource: (a) => `order:${a.n}` } } })
    server.registerTool('pay', CONFIG, ({ n }) => say(`paid ${runs.push(`pay ${n}`)}`))
    const client = await connect(sdk, server)
    const results = await Promise.all(Array.from({ length: 100 }, (_, n) => client.call('pay', { n })))
    expect(runs).toHaveLength(30)
    expect(new Set(runs).size).toBe(30)
    expect(results.filter(({ isError }) => isError === true)).toHaveLength(70)
    expect((await rig.statuses()).filter((status) => status === 'confirmed')).toHaveLength(30)
    expect(await rig.operator.account(id)).toEqual({ spent: 30, reserved: 0 })
  })
})

it('9: gates the older way to register tools, of 1.x alone', async () => {
  const [v1] = SDKS as [Sdk]
  const server = rig.gate(v1.mcpServer())
  const { tool } = server as unknown as { tool: (...given: unknown[]) => void }
  const shape = { n: z.number() }
  tool.call(server, 'allow', 'allows', shape, ({ n }: { n: number }) => say(`did ${runs.push(`allow ${n}`)}`))
  tool.call(server, 'deny', shape, () => void runs.push('deny'))
  tool.call(server, 'log', () => say(`did ${runs.push('log')}`))
  const client = await connect(v1, server)
  expect(await client.call('allow', one)).toMatchObject(say('did 1'))
  expect(await client.call('deny', one)).toMatchObject({ isError: true })
  expect(await client.call('log', one)).toMatchObject(say('did 2'))
  expect(runs).toEqual(['allow 1', 'log'])
  expect(await rig.statuses()).toEqual(['confirmed', 'denied', 'confirmed'])
})

function idOf(result: CallResult): string {
  return Object(decisionOf(result)).id
}

function nameIn(params: unknown): string {
  return Object(params).name
}

function withoutMeta({ _meta, ...result }: CallResult): object {
  return result
}

/** 1.x says that a tool is unknown by a result, 2.x by an error. */
async function failed(call: Promise<CallResult>): Promise<void> {
  const result = await call.catch(() => ({ isError: true }))
  expect(result.isError).toBe(true)
}
