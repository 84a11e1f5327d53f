/** Guards whose decision point, caller or own settings are at fault. The numbers are those of the acceptance cases. */
import type { GuardCanary } from '@countersign/client/verify'
import { verifyGuard } from '@countersign/client/verify'
import { AuditCallbackHandler, BlockingCallbackHandler, guardTool } from '@countersign/langchain'
import { answerProblem } from '@countersign/testkit'
import { type RealDecisionPoint, startRelay, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { Command, interrupt } from '@langchain/langgraph'
import { createAgent, tool } from 'langchain'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { agentOf, MAP, modelOf, Rig, thread, toolMessages, toolsOf } from './rig.js'

const point: () => RealDecisionPoint = useDecisionPoint()
let rig: Rig
let runs: string[]
beforeAll(async () => {
  rig = await Rig.open(point())
})
const go = { messages: [{ role: 'human' as const, content: 'go' }] }
const start = (work?: Parameters<typeof toolsOf>[1]) => {
  rig.events.length = 0
  runs = []
  return toolsOf(runs, work)
}
const calls = [{ name: 'allow' }]

describe('a caller that leaves', () => {
  it('28: before the answer, has nothing run, and the decision is taken back', async () => {
    const tools = start()
    const relay = await startRelay(point().url)
    const answer = relay.hold('ask')
    const leaving = new AbortController()
    const middleware = [rig.guard({ client: rig.newClient({ baseUrl: relay.url }) })]
    const agent = createAgent({ model: modelOf(...calls), tools, middleware })
    const running = agent.invoke(go, { signal: leaving.signal }).catch((error) => error)
    await answer.arrived
    leaving.abort()
    answer.release()
    expect(await running).toBeInstanceOf(Error)
    await vi.waitFor(() => expect(relay.calls).toContain('reject'), { timeout: 20_000 })
    expect(runs).toEqual([])
    await relay.close()
  })

  it('29: in the middle of a tool, leaves the decision open', async () => {
    const leaving = new AbortController()
    const tools = start(() => {
      leaving.abort()
      return new Promise(() => undefined)
    })
    await agentOf({ calls, tools, middleware: [rig.guard()] })
      .invoke(go, { ...thread(), signal: leaving.signal })
      .catch(() => undefined)
    await vi.waitFor(() => expect(rig.events.map(({ type }) => type)).toContain('settled'), { timeout: 20_000 })
    expect(await rig.statuses()).toEqual(['authorized'])
  })
})

describe('a decision point that is at fault', () => {
  it('30: is away: nothing runs, and in the mode observe everything does', async () => {
    const tools = start()
    const client = rig.newClient({ baseUrl: 'http://127.0.0.1:9', maxRetries: 0 })
    const closed = agentOf({ calls, tools, middleware: [rig.guard({ client })] })
    expect(toolMessages(await closed.invoke(go, thread()))).toMatchObject([
      { status: 'error', artifact: { denied: { reason: 'unavailable', decision_id: null } } },
    ])
    expect(runs).toEqual([])
    const watched = agentOf({ calls, tools, middleware: [rig.guard({ client, mode: 'observe' })] })
    expect(toolMessages(await watched.invoke(go, thread()))).toMatchObject([{ status: 'success' }])
  })

  it('31: is asked too often: it is waited for within the time, and else nothing runs', async () => {
    const tools = start()
    const relay = await startRelay(point().url)
    const client = rig.newClient({ baseUrl: relay.url })
    relay.answer('ask', (request, response) => {
      relay.heal()
      answerProblem(429, 'rate_limited', { 'retry-after': '1' })(request, response)
    })
    const agent = agentOf({ calls, tools, middleware: [rig.guard({ client })] })
    expect(toolMessages(await agent.invoke(go, thread()))).toMatchObject([{ status: 'success' }])
    relay.answer('ask', answerProblem(429, 'rate_limited', { 'retry-after': '60' }))
    expect(toolMessages(await agent.invoke(go, thread())).at(-1)).toMatchObject({ status: 'error' })
    expect(runs).toEqual(['allow 1'])
    await relay.close()
  })

  it('21: says that the review is over, although somebody has approved it: nothing runs', async () => {
    const tools = start()
    const relay = await startRelay(point().url)
    const middleware = [rig.guard({ client: rig.newClient({ baseUrl: relay.url }), review: 'interrupt' })]
    const [agent, config] = [agentOf({ calls: [{ name: 'review' }], tools, middleware }), thread()]
    await agent.invoke(go, config)
    await rig.operator.transition(relay.decisions[0]?.id ?? '', 'approve')
    relay.change('ask', { status: 'expired' })
    const answer = await agent.invoke(new Command({ resume: true }), config)
    expect(toolMessages(answer)).toMatchObject([{ status: 'error', artifact: { denied: { reason: 'expired' } } }])
    expect(runs).toEqual([])
    await relay.close()
  })

  it('32: takes no settlement: the result comes all the same, and is told later', async () => {
    const tools = start()
    const relay = await startRelay(point().url)
    const client = rig.newClient({ baseUrl: relay.url, maxRetries: 0 })
    relay.answer('confirm', answerProblem(503, 'store_unavailable'))
    const agent = agentOf({ calls, tools, middleware: [rig.guard({ client, settleTimeoutMs: 100 })] })
    expect(toolMessages(await agent.invoke(go, thread()))).toMatchObject([{ status: 'success' }])
    relay.heal()
    expect(await client.flush({ timeoutMs: 20_000 })).toBe(0)
    expect(await rig.statuses()).toEqual(['confirmed'])
    await relay.close()
  })
})

it.each(['tool', 'agent'] as const)(
  '37, 42: a guard within the guard of an agent, around its %s, asks once, and it runs once',
  async (where) => {
    const [allow] = start()
    if (!allow) throw new Error('there is no tool')
    const onEvent = (event: Rig['events'][number]) => rig.events.push(event)
    const tools = [
      where === 'tool' ? guardTool(allow, { client: rig.client, ...(MAP.allow as object), onEvent }) : allow,
    ]
    const within = where === 'agent' ? [rig.guard({ name: 'Second' })] : []
    await agentOf({ calls, tools, middleware: [rig.guard(), ...within] }).invoke(go, thread())
    expect(runs).toEqual(['allow 1'])
    expect(await rig.statuses()).toEqual(['confirmed'])
  },
)

it('37: a reviewed tool that is guarded itself, in a guarded agent, interrupts once for its review, and runs once', async () => {
  const [, , review] = start()
  if (!review) throw new Error('there is no tool')
  const guarded = guardTool(review, { client: rig.client, review: 'interrupt', ...(MAP.review as object) })
  const middleware = [rig.guard({ review: 'interrupt' })]
  const agent = agentOf({ calls: [{ name: 'review' }], tools: [guarded], middleware })
  const config = thread()
  await agent.invoke(go, config)
  const [id = ''] = rig.decisionIds()
  await rig.operator.transition(id, 'approve')
  const answer = await agent.invoke(new Command({ resume: true }), config)
  expect(answer).not.toHaveProperty('__interrupt__')
  expect(toolMessages(answer)).toMatchObject([{ content: 'did 1', status: 'success' }])
  expect(runs).toEqual(['review 1'])
})

describe('a callback handler', () => {
  const onEvent = (event: Rig['events'][number]) => rig.events.push(event)

  it('40: that audits stops nothing, and tells what would have been', async () => {
    const tools = start()
    const audit = new AuditCallbackHandler({ client: rig.client, map: MAP, onEvent })
    const agent = agentOf({ calls: [{ name: 'allow' }, { name: 'deny' }], tools, middleware: [] })
    await agent.invoke(go, { ...thread(), callbacks: [audit] })
    expect(runs.sort()).toEqual(['allow 1', 'deny 1'])
    await vi.waitFor(() => expect(rig.events.filter(({ type }) => type === 'observed')).toHaveLength(2), {
      timeout: 20_000,
    })
    await vi.waitFor(() => expect(rig.events.map(({ type }) => type)).toContain('settled'), { timeout: 20_000 })
    expect((await rig.statuses()).sort()).toEqual(['confirmed', 'denied'])
    const broken = new AuditCallbackHandler({
      client: rig.newClient({ baseUrl: 'http://127.0.0.1:9' }),
      map: MAP,
      onEvent,
    })
    await agentOf({ calls, tools, middleware: [] }).invoke(go, { ...thread(), callbacks: [broken] })
    expect(runs).toHaveLength(3)
  })

  it('40: that blocks keeps a tool from running, and leaves one that interrupts itself alone', async () => {
    const tools = start(({ n }) => (n === 2 ? interrupt('go on?') : 'did it'))
    const blocking = new BlockingCallbackHandler({ client: rig.client, map: MAP, tools, onEvent })
    const many = [{ name: 'allow' }, { name: 'deny' }, { name: 'allow', args: { n: 2 } }]
    await agentOf({ calls: many, tools, middleware: [] }).invoke(go, { ...thread(), callbacks: [blocking] })
    expect(runs.sort()).toEqual(['allow 1', 'allow 2'])
    await vi.waitFor(() => expect(rig.events.filter(({ type }) => type === 'settled').length).toBeGreaterThan(0))
    const statuses = (await rig.statuses()).sort()
    expect(statuses).toEqual(['authorized', 'confirmed', 'denied'])
  })

  it('that blocks asks about what a tool will make of its arguments, and runs none whose schema it does not know', async () => {
    start()
    const cents = z.object({ n: z.number().transform((euros) => euros * 100) })
    const days = z.object({ n: z.date() })
    const tools = [cents, days].map((schema) =>
      tool(({ n }) => `${runs.push(`${n}`)}`, { name: schema === cents ? 'allow' : 'log', schema }),
    )
    const [allow, log] = tools
    const handler = (tools: object[]) =>
      new BlockingCallbackHandler({ client: rig.client, map: MAP, tools: tools as never, onEvent })
    await allow?.invoke({ n: 5 } as never, { callbacks: [handler(tools)] })
    await rig.client.flush()
    const [id = ''] = rig.decisionIds()
    expect(await rig.operator.decision(id)).toMatchObject({ context: { n: 500 }, status: 'confirmed' })
    expect(runs).toEqual(['500'])
    await expect(allow?.invoke({ n: 5 } as never, { callbacks: [handler([])] })).rejects.toThrow(/did not run/)
    await expect(log?.invoke({ n: new Date() } as never, { callbacks: [handler(tools)] })).rejects.toThrow(
      /did not run/,
    )
    expect(() => new BlockingCallbackHandler({ client: rig.client, map: MAP } as never)).toThrow(/tools/)
    expect(runs).toEqual(['500'])
  })

  it.each(['audits', 'blocks'])('that %s a guarded tool asks for a decision of its own', async (what) => {
    const tools = start()
    const options = { client: rig.client, map: MAP, tools, onEvent }
    const handler = what === 'audits' ? new AuditCallbackHandler(options) : new BlockingCallbackHandler(options)
    const agent = agentOf({ calls: [{ name: 'allow' }], tools, middleware: [rig.guard()] })
    await agent.invoke(go, { ...thread(), callbacks: [handler] })
    expect(runs).toEqual(['allow 1'])
    await vi.waitFor(() => expect(rig.events.filter(({ type }) => type === 'settled')).toHaveLength(2))
    const permitted = rig.events.filter((event) => event.type === 'observed' && event.would === 'allow')
    expect(permitted).toHaveLength(what === 'audits' ? 1 : 0)
    expect(await rig.statuses()).toEqual(['confirmed', 'confirmed'])
  })

  it('that blocks runs a reviewed call with exactly the arguments that were approved', async () => {
    const tools = start()
    // The question leaves the arguments out.
    const map = { review: 't.review' }
    const callbacks = [new BlockingCallbackHandler({ client: rig.client, map, tools, onEvent })]
    const review = tools.find(({ name }) => name === 'review')
    await expect(review?.invoke({ n: 1 }, { callbacks })).rejects.toThrow(/did not run/)
    await rig.operator.transition(rig.decisionIds()[0] ?? '', 'approve')
    await expect(review?.invoke({ n: 2 }, { callbacks })).rejects.toThrow(/did not run/)
    await review?.invoke({ n: 1 }, { callbacks })
    expect(runs).toEqual(['review 1'])
  })
})

it('hides tools that may never run, and only unmapped ones when nobody says so', async () => {
  const tools = start()
  const shown = async (options: Parameters<Rig['guard']>[0]) => {
    const model = modelOf()
    const seen: string[] = []
    const bind = model.bindTools.bind(model)
    model.bindTools = (given) => {
      seen.push(...given.map(({ name }) => name))
      return bind(given)
    }
    await createAgent({ model, tools, middleware: [rig.guard({ hideForbidden: true, ...options })] }).invoke(go)
    return seen
  }
  const scoped = rig.newClient({ apiKey: await rig.operator.makeKey(['decisions:write', 'policies:read']) })
  expect(await shown({ client: scoped })).toEqual(['allow', 'review', 'log'])
  const { log: _unmapped, ...map } = MAP
  expect(await shown({ client: scoped, map })).toEqual(['allow', 'review'])
  const nobody = rig.newClient({ baseUrl: 'http://127.0.0.1:9', maxRetries: 0 })
  expect(await shown({ client: nobody })).toHaveLength(4)
  expect(await shown({ client: nobody, map })).toEqual(['allow', 'deny', 'review'])
})

it('passes the self-test of guards', async () => {
  const tools = start()
  const canary = (name: string): GuardCanary => ({
    attempt: (client) =>
      agentOf({ calls: [{ name }], tools, middleware: [rig.guard({ client: client as never })] }).invoke(go, thread()),
    runs: () => runs.length,
  })
  const { ok, checks } = await verifyGuard({
    client: rig.client,
    allowed: canary('allow'),
    denied: canary('deny'),
    review: canary('review'),
  })
  expect(checks.filter(({ outcome }) => outcome !== 'pass')).toEqual([])
  expect(ok).toBe(true)
})
