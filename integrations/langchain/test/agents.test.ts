/** `countersignGuard` on agents of `createAgent`. The numbers are those of the acceptance cases. */
import { countersignGuard } from '@countersign/langchain'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { ToolMessage } from '@langchain/core/messages'
import { Command, interrupt } from '@langchain/langgraph'
import {
  type AgentMiddleware,
  createAgent,
  createMiddleware,
  humanInTheLoopMiddleware,
  tool,
  toolRetryMiddleware,
} from 'langchain'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { agentOf, MAP, modelOf, Rig, thread, toolMessages, toolsOf } from './rig.js'

const point = useDecisionPoint()
let rig: Rig
let runs: string[]
let tools: ReturnType<typeof toolsOf>
beforeAll(async () => {
  rig = await Rig.open(point())
  await rig.operator.makePolicy('t.pay', 'allow', { period: 'total', limit: 3, unit: 'calls', amount: 1 })
})
const start = (work?: Parameters<typeof toolsOf>[1]) => {
  rig.events.length = 0
  runs = []
  tools = toolsOf(runs, work)
}
const go = { messages: [{ role: 'human' as const, content: 'go' }] }

describe('a call that is decided at once', () => {
  it('1, 2, 3, 4, 10, 41: runs what is allowed or to be recorded, once; answers the others with an error message', async () => {
    start()
    const other = tool(() => 'did it', { name: 'other', schema: z.object({}) })
    const calls = ['allow', 'deny', 'log', 'other'].map((name) => ({ name }))
    const map = { ...MAP, other: 't.unheard' }
    const agent = agentOf({ calls, tools: [...tools, other], middleware: [rig.guard({ map })] })
    const answer = await agent.invoke(go, thread())
    expect(runs.sort()).toEqual(['allow 1', 'log 1'])
    const [allowed, denied, logged, unheard] = toolMessages(answer)
    expect(allowed).toMatchObject({ content: 'did 1', status: 'success', tool_call_id: 'call_0', name: 'allow' })
    expect(denied).toMatchObject({ status: 'error', tool_call_id: 'call_1', name: 'deny' })
    expect(denied?.artifact).toEqual({ denied: { reason: 'denied', decision_id: expect.stringMatching(/^dec_/) } })
    expect(denied?.text).toContain(denied?.artifact.denied.decision_id)
    expect(logged).toMatchObject({ content: 'did 1', status: 'success' })
    expect(unheard).toMatchObject({ status: 'error', artifact: { denied: { reason: 'denied' } } })
    expect(answer.messages.at(-1)?.text).toBe('done')
    const decisions = rig.events.flatMap((event) => (event.type === 'decision' ? [event.decision] : []))
    for (const { policy_id, reason_code } of decisions) {
      expect(JSON.stringify(answer.messages)).not.toMatch(`${policy_id ?? reason_code}`)
    }
    expect(JSON.stringify(answer.messages)).not.toMatch(/eyJ|policy that decides/)
    expect((await rig.statuses()).sort()).toEqual(['confirmed', 'confirmed', 'denied', 'denied'])
  })

  it.each(['constructor', '__proto__', 'allow2'])('of a tool that nobody mapped is denied: %s', async (name) => {
    start()
    const odd = tool(() => void runs.push(name), { name, schema: z.object({}) })
    const agent = createAgent({ model: modelOf({ name, args: {} }), tools: [odd], middleware: [rig.guard()] })
    const [message] = toolMessages(await agent.invoke(go))
    expect(message).toMatchObject({ status: 'error', artifact: { denied: { reason: 'unmapped', decision_id: null } } })
    expect(runs).toEqual([])
  })

  it('8, 9: an unknown tool does not run, and what other middleware runs for it does, if it may', async () => {
    start()
    const calls = [{ name: 'allow' }, { name: 'unknown', args: {} }]
    const map = { ...MAP, unknown: 't.allow' }
    const unknown = createAgent({ model: modelOf(...calls), tools: [], middleware: [rig.guard({ map })] })
    const messages = toolMessages(await unknown.invoke(go))
    expect(messages.map(({ status }) => status)).toEqual(['error', 'error'])
    expect(await rig.statuses()).toEqual(['rejected', 'rejected'])

    const [allow] = tools
    const giving = createMiddleware({
      name: 'giving',
      wrapToolCall: (request, handler) => handler({ ...request, tool: allow }),
    })
    const model = modelOf({ name: 'allow' }, { name: 'deny' })
    const dynamic = createAgent({ model, tools: [], middleware: [rig.guard(), giving] })
    expect(toolMessages(await dynamic.invoke(go)).map(({ status }) => status)).toEqual(['success', 'error'])
    expect(runs).toEqual(['allow 1'])
    expect((await rig.statuses()).sort()).toEqual(['confirmed', 'denied'])
  })

  it('11: runs as many of eight parallel calls as the budget pays for: three', async () => {
    start()
    const pay = tool(({ n }) => `paid ${runs.push(`pay ${n}`)}`, { name: 'pay', schema: z.object({ n: z.number() }) })
    const calls = Array.from({ length: 8 }, (_, n) => ({ name: 'pay', args: { n } }))
    const middleware = [rig.guard({ map: { pay: 't.pay' } })]
    const answer = await createAgent({ model: modelOf(...calls), tools: [pay], middleware }).invoke(go)
    expect(runs).toHaveLength(3)
    expect(toolMessages(answer).filter(({ status }) => status === 'error')).toHaveLength(5)
    expect((await rig.statuses()).filter((status) => status === 'confirmed')).toHaveLength(3)
  })

  it('12, 13: a missing id is no fault, and two calls with one id are two decisions', async () => {
    start()
    const calls = [
      { name: 'allow', id: null },
      { name: 'deny', id: null },
      { name: 'allow', id: 'same' },
      { name: 'allow', id: 'same' },
    ]
    const agent = agentOf({ calls, tools, middleware: [rig.guard()] })
    const answer = await agent.invoke(go, thread())
    expect(runs).toEqual(['allow 1', 'allow 1', 'allow 1'])
    expect(toolMessages(answer)[1]).toMatchObject({ status: 'error', tool_call_id: '', name: 'deny' })
    expect((await rig.statuses()).sort()).toEqual(['confirmed', 'confirmed', 'confirmed', 'denied'])
  })

  it('14, 15: confirms a command, and rejects what a tool calls an error', async () => {
    start(({ n }) =>
      n === 1
        ? new Command({ update: { messages: [new ToolMessage({ content: 'moved', tool_call_id: 'call_0' })] } })
        : new ToolMessage({ content: 'card declined', status: 'error', tool_call_id: 'call_1' }),
    )
    const calls = [{ name: 'allow' }, { name: 'allow', args: { n: 2 } }]
    const answer = await agentOf({ calls, tools, middleware: [rig.guard()] }).invoke(go, thread())
    expect(toolMessages(answer).map(({ text }) => text)).toEqual(['moved', 'card declined'])
    expect((await rig.statuses()).sort()).toEqual(['confirmed', 'rejected'])
  })

  it('38, 39: a mapping that throws, gives a promise or has no plain data is a deny, and so is a missing value', async () => {
    start()
    const faults: Record<string, (a: Record<string, unknown>) => unknown> = {
      throws: () => {
        throw new Error('no such order')
      },
      promise: async () => ({ action: 't.allow' }),
      misspelt: (a) => ({ action: 't.allow', resource: `order:${a.m}` }),
      missing: (a) => ({ action: 't.allow', resource: a.m }),
      circular: () => {
        const self: Record<string, unknown> = {}
        self.self = self
        return { action: 't.allow', context: self }
      },
      big: () => ({ action: 't.allow', context: { n: 1n } }),
      stranger: () => ({ action: 't.allow', resorce: 'order:1' }),
    }
    const denied: Record<string, unknown> = {}
    for (const [what, map] of Object.entries(faults)) {
      const middleware = [rig.guard({ map: { allow: map as never } })]
      const [message] = toolMessages(
        await agentOf({ calls: [{ name: 'allow' }], tools, middleware }).invoke(go, thread()),
      )
      denied[what] = message?.artifact.denied.reason
    }
    const nobody = agentOf({
      calls: [{ name: 'allow' }],
      tools,
      middleware: [rig.guard({ agentId: (c) => c.context.agent })],
    })
    denied.nobody = toolMessages(await nobody.invoke(go, thread()))[0]?.artifact.denied.reason
    const { misspelt, ...others } = denied
    expect(misspelt).toBe('question_refused')
    expect(new Set(Object.values(others))).toEqual(new Set(['mapping_failed']))
    expect(runs).toEqual([])
    expect(rig.decisionIds()).toEqual([])
  })

  it('asks for the agent that the invocation names, about the arguments as the tool has them', async () => {
    start()
    const seen: unknown[] = []
    const trimmed = tool(({ order }) => void seen.push(order), {
      name: 'allow',
      schema: z.object({ order: z.string().trim(), how: z.string().default('fast') }),
    })
    const map = {
      allow: {
        action: 't.allow',
        resource: (a: { order: string }) => `order:${a.order}`,
        context: (a: object) => ({ ...a }),
      },
    }
    const model = modelOf({ name: 'allow', args: { order: '  8812 ' } })
    const client = rig.newClient({ agentId: undefined })
    const middleware = [rig.guard({ client, map, agentId: (call) => call.context.agentId })]
    const contextSchema = z.object({ agentId: z.string() })
    const agent = createAgent({ model, tools: [trimmed], middleware, contextSchema })
    await agent.invoke(go, { context: { agentId: `${rig.agentId}-2` } })
    const [id = ''] = rig.decisionIds()
    expect(await rig.operator.decision(id)).toMatchObject({
      agent_id: `${rig.agentId}-2`,
      resource: 'order:8812',
      context: { order: '8812', how: 'fast' },
    })
    expect(seen).toEqual(['8812'])
  })

  it('44: tells a stream what was decided', async () => {
    start()
    const calls = [{ name: 'allow' }, { name: 'deny' }]
    const agent = agentOf({ calls, tools, middleware: [rig.guard()] })
    const told: unknown[] = []
    for await (const chunk of await agent.stream(go, { ...thread(), streamMode: 'custom' })) told.push(chunk)
    expect(told).toHaveLength(2)
    expect(told).toEqual(
      expect.arrayContaining([
        {
          type: 'countersign.decision',
          tool: 'allow',
          tool_call_id: 'call_0',
          outcome: 'permitted',
          reason: null,
          decision_id: expect.any(String),
        },
        {
          type: 'countersign.decision',
          tool: 'deny',
          tool_call_id: 'call_1',
          outcome: 'denied',
          reason: 'denied',
          decision_id: expect.any(String),
        },
      ]),
    )
  })

  it('42: two guards of one agent need two names', async () => {
    start()
    const twice = [rig.guard(), rig.guard()]
    expect(() => agentOf({ calls: [], tools, middleware: twice })).toThrow(/CountersignGuard/)
    const middleware = [rig.guard(), rig.guard({ name: 'Second' })]
    await agentOf({ calls: [{ name: 'allow' }], tools, middleware }).invoke(go, thread())
    expect(runs).toEqual(['allow 1'])
  })
})

describe('a tool that fails', () => {
  const failing = () => {
    throw new Error('card declined')
  }
  const texts = async (middleware: Parameters<typeof agentOf>[0]['middleware'], args: Record<string, unknown>) =>
    toolMessages(await agentOf({ calls: [{ name: 'allow', args }], tools, middleware }).invoke(go, thread())).map(
      ({ text, status, name, tool_call_id }) => ({
        text: text.replace(/ {4}at .*\n/g, ''),
        // LangChain up to 1.5.12 gives its own message of an error no status.
        status: status ?? 'error',
        name,
        tool_call_id,
      }),
    )

  it('5: is rejected, and its model reads what it would read without a guard', async () => {
    start(failing)
    expect(await texts([rig.guard()], { n: 1 })).toEqual(await texts([], { n: 1 }))
    expect(await rig.statuses()).toEqual(['rejected'])
  })

  it('6: is rejected, and its own error is the cause where onToolError says throw', async () => {
    const own = new Error('card declined')
    start(() => {
      throw own
    })
    const agent = agentOf({ calls: [{ name: 'allow' }], tools, middleware: [rig.guard({ onToolError: 'throw' })] })
    const error = await agent.invoke(go, thread()).catch((thrown) => thrown)
    expect([error, error.cause]).toContain(own)
    expect(await rig.statuses()).toEqual(['rejected'])
  })

  it('7: by its arguments is rejected, and the model corrects itself as without a guard', async () => {
    start()
    const guarded = await texts([rig.guard()], { n: 'one' })
    expect(guarded).toEqual(await texts([], { n: 'one' }))
    expect(guarded[0]?.status).toBe('error')
    expect(runs).toEqual([])
    expect(await rig.statuses()).toEqual(['rejected'])
  })

  it('by an answer that was lost is left, for its action may have happened', async () => {
    start(() => {
      throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
    })
    await texts([rig.guard()], { n: 1 })
    expect(await rig.statuses()).toEqual(['authorized'])
  })

  it('26: is asked about once by a guard around its retries, and for each try by a guard within them', async () => {
    const retry = (onFailure: 'error' | 'continue') =>
      toolRetryMiddleware({ maxRetries: 2, initialDelayMs: 1, jitter: false, onFailure })
    start(failing)
    await texts([rig.guard(), retry('error')], { n: 1 })
    expect(runs).toHaveLength(3)
    expect(await rig.statuses()).toEqual(['rejected'])
    await texts([retry('continue'), rig.guard({ onToolError: 'throw' })], { n: 1 })
    expect(runs).toHaveLength(6)
    expect(await rig.statuses()).toEqual(['rejected', 'rejected', 'rejected'])
  })

  it('25: does not have a sibling that has finished asked about again', async () => {
    let isBroken = true
    start(({ n }) => {
      if (n === 2 && isBroken) throw new Error('crash')
      return 'did it'
    })
    const calls = [{ name: 'allow' }, { name: 'allow', args: { n: 2 } }]
    const agent = agentOf({ calls, tools, middleware: [rig.guard({ onToolError: 'throw' })] })
    const config = thread()
    await expect(agent.invoke(go, config)).rejects.toThrow('crash')
    isBroken = false
    await agent.invoke(null, config)
    expect(runs.filter((run) => run === 'allow 1')).toHaveLength(1)
    expect((await rig.statuses()).filter((status) => status === 'confirmed')).toHaveLength(1)
  })
})

describe('a call that a person reviews', () => {
  const reviewed = (calls = [{ name: 'review' }] as Parameters<typeof agentOf>[0]['calls']) =>
    agentOf({ calls, tools, middleware: [rig.guard({ review: 'interrupt' })] })
  type Interrupts = { __interrupt__?: { id: string; value: { decision_id: string } }[] }
  const interruptsOf = (answer: unknown) => (answer as Interrupts).__interrupt__ ?? []

  it('is told of an interrupt that a retry around the guard swallows, once, and leaves no review behind', async () => {
    start()
    const warned: [code: string, text: string][] = []
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation((text, options) => {
      warned.push([(options as { code: string }).code, String(text)])
    })
    const retry = toolRetryMiddleware({ maxRetries: 3, initialDelayMs: 1, jitter: false })
    const guard = rig.guard({ review: 'interrupt', onToolError: 'throw' })
    const run = (...middleware: AgentMiddleware[]) =>
      agentOf({ calls: [{ name: 'review' }], tools, middleware }).invoke(go, thread())
    expect(interruptsOf(await run(guard, retry))).toHaveLength(1)
    expect(await rig.statuses()).toEqual(['awaiting_review'])
    expect(warned).toEqual([])
    for (const _ of [1, 2]) {
      const answer = toolMessages(await run(retry, guard))
      expect(answer).toMatchObject([{ status: 'error', artifact: { denied: { reason: 'withdrawn' } } }])
    }
    emitWarning.mockRestore()
    expect(await rig.statuses()).toEqual(['rejected', 'rejected'])
    expect(runs).toEqual([])
    const fix = expect.stringContaining('Put the guard around the retry: middleware: [guard, retry].')
    expect(warned).toEqual([['COUNTERSIGN_INTERRUPT_SWALLOWED', fix]])
  })

  it('16: interrupts, and runs once after the approval, by the same decision', async () => {
    start()
    const [agent, config] = [reviewed(), thread()]
    const [asked] = interruptsOf(await agent.invoke(go, config))
    expect(asked?.value).toMatchObject({
      type: 'countersign.review',
      question: expect.stringContaining(rig.agentId),
      action: 't.review',
      resource: 'order:1',
      context: { n: 1 },
      tool: 'review',
      tool_call_id: 'call_0',
    })
    expect(runs).toEqual([])
    await rig.operator.transition(asked?.value.decision_id ?? '', 'approve')
    const answer = await agent.invoke(new Command({ resume: true }), config)
    expect(toolMessages(answer)).toMatchObject([{ content: 'did 1', status: 'success' }])
    expect(runs).toEqual(['review 1'])
    expect(rig.events.filter(({ type }) => type === 'denied')).toEqual([])
    expect(rig.decisionIds()).toEqual([asked?.value.decision_id])
    await rig.client.flush()
    expect(await rig.operator.told(asked?.value.decision_id ?? '')).toEqual(['approved', 'claimed', 'confirmed'])
  })

  it('that fails has what the reviewer wrote behind its error', async () => {
    start(() => {
      throw new Error('card declined')
    })
    const [agent, config] = [reviewed(), thread()]
    const [asked] = interruptsOf(await agent.invoke(go, config))
    await rig.operator.transition(asked?.value.decision_id ?? '', 'approve', { comment: 'only once' })
    const [answer] = toolMessages(await agent.invoke(new Command({ resume: true }), config))
    expect(answer).toMatchObject({
      status: 'error',
      content: 'Error: card declined\n Please fix your mistakes.\n\nThe reviewer wrote: "only once"',
    })
    expect(await rig.statuses()).toEqual(['rejected'])
  })

  it('17: does not run after it was declined', async () => {
    start()
    const [agent, config] = [reviewed(), thread()]
    const [asked] = interruptsOf(await agent.invoke(go, config))
    await rig.operator.transition(asked?.value.decision_id ?? '', 'decline')
    const answer = await agent.invoke(new Command({ resume: { approved: true } }), config)
    expect(toolMessages(answer)).toMatchObject([{ status: 'error', artifact: { denied: { reason: 'declined' } } }])
    expect(runs).toEqual([])
  })

  it('18: two are two interrupts, each with its own answer', async () => {
    start()
    const [agent, config] = [reviewed([{ name: 'review' }, { name: 'review', args: { n: 2 } }]), thread()]
    const asked = interruptsOf(await agent.invoke(go, config))
    expect(asked).toHaveLength(2)
    await rig.operator.transition(asked[0]?.value.decision_id ?? '', 'approve')
    await rig.operator.transition(asked[1]?.value.decision_id ?? '', 'decline')
    const resume = Object.fromEntries(asked.map(({ id }) => [id, 'answered']))
    const answer = await agent.invoke(new Command({ resume }), config)
    expect(
      toolMessages(answer)
        .map(({ status }) => status)
        .sort(),
    ).toEqual(['error', 'success'])
    expect(runs).toHaveLength(1)
    expect(await rig.statuses()).toEqual(['confirmed', 'declined'])
  })

  it('19: is denied without a checkpointer, and runs when it is called again after the approval', async () => {
    start()
    const agent = createAgent({
      model: modelOf({ name: 'review' }),
      tools,
      middleware: [rig.guard({ review: 'interrupt' })],
    })
    const [denied] = toolMessages(await agent.invoke(go))
    expect(denied).toMatchObject({ status: 'error', artifact: { denied: { reason: 'review_required' } } })
    expect(runs).toEqual([])
    await rig.operator.transition(denied?.artifact.denied.decision_id, 'approve')
    expect(toolMessages(await agent.invoke(go))).toMatchObject([{ status: 'success' }])
    expect(runs).toEqual(['review 1'])
  })

  it('20: is denied when the graph is resumed and nobody has approved it', async () => {
    start()
    const [agent, config] = [reviewed(), thread()]
    const [asked] = interruptsOf(await agent.invoke(go, config))
    const resume = { ok: true, approved: true, decision_id: asked?.value.decision_id }
    const answer = await agent.invoke(new Command({ resume }), config)
    const [message] = toolMessages(answer)
    expect(message).toMatchObject({ status: 'error', artifact: { denied: { reason: 'withdrawn' } } })
    expect(message?.text).toContain('was withdrawn')
    expect(message?.text).not.toContain('Wait for')
    expect(runs).toEqual([])
    expect((await rig.operator.decision(asked?.value.decision_id ?? '')).review?.status).toBe('withdrawn')
  })

  it('22: a tool that interrupts itself twice runs to its end once, by one decision, with its own answers', async () => {
    for (const name of ['allow', 'review']) {
      const answers: unknown[] = []
      start(({ n }) => {
        answers.push(interrupt('first?'), interrupt('second?'))
        runs.push(`${name} ${n} to its end`)
        return 'did it'
      })
      const [agent, config] = [reviewed([{ name }]), thread()]
      const [asked] = interruptsOf(await agent.invoke(go, config))
      if (name === 'review') {
        await rig.operator.transition(asked?.value.decision_id ?? '', 'approve')
        expect(interruptsOf(await agent.invoke(new Command({ resume: 'reviewed' }), config))).toMatchObject([
          { value: 'first?' },
        ])
      }
      expect(await agent.invoke(new Command({ resume: 'one' }), config)).toMatchObject({
        __interrupt__: [{ value: 'second?' }],
      })
      const [id = ''] = rig.decisionIds()
      expect((await rig.operator.decision(id)).status).toBe('authorized')
      await agent.invoke(new Command({ resume: 'two' }), config)
      expect(runs.filter((run) => run.endsWith('end'))).toHaveLength(1)
      expect(answers.slice(-2)).toEqual(['one', 'two'])
      expect(rig.decisionIds()).toEqual([id])
      await rig.client.flush()
      expect((await rig.operator.decision(id)).status).toBe('confirmed')
    }
  })

  it('27: is asked about as a person has edited it', async () => {
    start()
    const hitl = humanInTheLoopMiddleware({ interruptOn: { allow: true } } as never)
    const agent = agentOf({ calls: [{ name: 'allow' }], tools, middleware: [hitl, rig.guard()] })
    const config = thread()
    await agent.invoke(go, config)
    const edit = { type: 'edit', editedAction: { name: 'allow', args: { n: 50 } } }
    await agent.invoke(new Command({ resume: { decisions: [edit] } }), config)
    expect(runs).toEqual(['allow 50'])
    expect((await rig.operator.decision(rig.decisionIds()[0] ?? '')).resource).toBe('order:50')
  })

  it('43: of two threads are two decisions, and an approval is for one of them', async () => {
    start()
    const agent = reviewed()
    const [first, second] = [thread(), thread()]
    const [one] = interruptsOf(await agent.invoke(go, first))
    const [two] = interruptsOf(await agent.invoke(go, second))
    expect(one?.value.decision_id).not.toBe(two?.value.decision_id)
    await rig.operator.transition(one?.value.decision_id ?? '', 'approve')
    const denied = await agent.invoke(new Command({ resume: true }), second)
    expect(toolMessages(denied)).toMatchObject([{ status: 'error' }])
    expect(runs).toEqual([])
    expect(toolMessages(await agent.invoke(new Command({ resume: true }), first))).toMatchObject([
      { status: 'success' },
    ])
    expect(runs).toEqual(['review 1'])
  })
})

it('names a faulty option', () => {
  const { client } = rig
  expect(() => countersignGuard({ client, failMode: 'open' } as never)).toThrow(/failMode/)
  expect(() => countersignGuard({ client, onUnavailable: 'allow' } as never)).toThrow(/onUnavailable/)
  expect(() => countersignGuard({ client, review: 'throw' } as never)).toThrow(/review/)
  expect(() => countersignGuard({ client, map: { pay: { resorce: 'x' } } } as never)).toThrow(/resorce/)
  expect(() => countersignGuard({} as never)).toThrow(/client/)
})
