/** Tools that are guarded by themselves, and nodes of plain graphs. The numbers are those of the acceptance cases. */
import { DeniedError, type EnforcementEvent } from '@countersign/client'
import { currentRun, guardTool } from '@countersign/langchain'
import { type GuardedToolNodeOptions, guardedToolNode } from '@countersign/langchain/langgraph'
import { until } from '@countersign/testkit'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { ToolMessage } from '@langchain/core/messages'
import { DynamicStructuredTool, DynamicTool, type StructuredToolInterface } from '@langchain/core/tools'
import {
  Command,
  END,
  getCurrentTaskInput,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { tool } from 'langchain'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { agentOf, type Call, callsOf, MAP, Rig, thread, toolMessages, toolsOf } from './rig.js'

const point = useDecisionPoint()
let rig: Rig
beforeAll(async () => {
  rig = await Rig.open(point())
})

const options = () => ({ client: rig.client, onEvent: (event: EnforcementEvent) => rig.events.push(event) })
const asked = { resource: (a: { n: number }) => `order:${a.n}`, context: (a: object) => ({ ...a }) }
const go = { messages: [{ role: 'human' as const, content: 'go' }] }

describe('a guarded tool', () => {
  const guardedTools = (runs: string[]) => {
    const [allow, deny] = toolsOf(runs)
    if (!allow || !deny) throw new Error('there are no tools')
    const safe = guardTool(allow, { ...options(), ...asked, action: 't.allow' })
    return { allow, deny, safe, unsafe: guardTool(deny, { ...options(), ...asked, action: 't.deny' }) }
  }
  const call = (name: string) => ({ type: 'tool_call' as const, id: 'call_0', name, args: { n: 1 } })

  it('33: runs only if it may, by each of its methods', async () => {
    const runs: string[] = []
    const { safe, unsafe } = guardedTools(runs)
    expect(await safe.invoke({ n: 1 })).toBe('did 1')
    expect(await safe.call({ n: 2 })).toBe('did 2')
    expect(await safe.batch([{ n: 3 }, { n: 4 }])).toEqual(['did 3', 'did 4'])
    const chunks: unknown[] = []
    for await (const chunk of await safe.stream({ n: 5 })) chunks.push(chunk)
    expect(chunks).toEqual(['did 5'])
    expect(await safe.invoke(call('allow'))).toMatchObject({
      content: 'did 1',
      status: 'success',
      tool_call_id: 'call_0',
    })
    expect(await rig.statuses()).toEqual(Array.from({ length: 6 }, () => 'confirmed'))
    expect(runs).toHaveLength(6)
    for (const refused of [
      unsafe.invoke({ n: 1 }),
      unsafe.call({ n: 1 }),
      unsafe.batch([{ n: 1 }]),
      unsafe.stream({ n: 1 }),
    ]) {
      expect(DeniedError.isInstance(await refused.catch((error) => error))).toBe(true)
    }
    const denied = await unsafe.invoke(call('deny'))
    expect(denied).toMatchObject({
      status: 'error',
      tool_call_id: 'call_0',
      name: 'deny',
      artifact: { denied: { reason: 'denied' } },
    })
    expect(runs).toHaveLength(6)
  })

  it('33: runs only if it may in an agent and in a plain ToolNode', async () => {
    const runs: string[] = []
    const { safe, unsafe } = guardedTools(runs)
    const calls = [{ name: 'allow' }, { name: 'deny' }]
    const answers = [
      await agentOf({ calls, tools: [safe, unsafe], middleware: [] }).invoke(go, thread()),
      await graphOf(new ToolNode([safe, unsafe]), calls).invoke(go, thread()),
    ]
    for (const answer of answers) {
      expect(toolMessages(answer).map(({ name, status }) => `${name} ${status}`)).toEqual([
        'allow success',
        'deny error',
      ])
    }
    expect(runs).toEqual(['allow 1', 'allow 1'])
  })

  it('is guarded by its function, too, and so is a tool that is made of it', async () => {
    const runs: string[] = []
    const { safe, unsafe } = guardedTools(runs)
    const rebuilt = (from: typeof safe) => [
      tool(from.func as never, { name: from.name, schema: from.schema }) as unknown as typeof safe,
      new DynamicStructuredTool({ ...from }) as unknown as typeof safe,
    ]
    rig.decisionIds()
    expect(await safe.func({ n: 1 })).toBe('did 1')
    for (const made of rebuilt(safe)) expect(await made.invoke({ n: 2 })).toBe('did 2')
    expect(await rig.statuses()).toEqual(['confirmed', 'confirmed', 'confirmed'])
    const refused = [() => unsafe.func({ n: 3 }), ...rebuilt(unsafe).map((made) => () => made.invoke({ n: 3 }))]
    for (const call of refused) await expect(call()).rejects.toMatchObject({ reason: 'denied' })
    expect(runs).toEqual(['allow 1', 'allow 2', 'allow 2'])
  })

  it('34: gives artifacts, and a denial in their place', async () => {
    const schema = z.object({ n: z.number() })
    const drawn = tool(({ n }) => [`drew ${n}`, { n }], {
      name: 'draw',
      schema,
      responseFormat: 'content_and_artifact',
    })
    const safe = guardTool(drawn, { ...options(), action: 't.allow' })
    expect(await safe.invoke(call('draw'))).toMatchObject({ content: 'drew 1', artifact: { n: 1 }, status: 'success' })
    expect(await safe.invoke({ n: 2 })).toBe('drew 2')
    const unsafe = guardTool(drawn, { ...options(), action: 't.deny' })
    expect(await unsafe.invoke(call('draw'))).toMatchObject({ status: 'error', tool_call_id: 'call_0', name: 'draw' })
  })

  it('35, 36: is the same tool, and the one that was given stays as it was', async () => {
    const runs: string[] = []
    const direct = tool(({ n }) => `did ${runs.push(`${n}`)}`, {
      name: 'allow',
      schema: z.object({ n: z.number() }),
      returnDirect: true,
    })
    const before = Object.getOwnPropertyDescriptors(direct)
    const safe = guardTool(direct, { ...options(), action: 't.deny' })
    const { name, description, schema } = direct
    expect(safe).toMatchObject({ name, description, returnDirect: true })
    expect(safe.schema).toBe(schema)
    expect(safe).toBeInstanceOf(direct.constructor)
    expect(Object.getOwnPropertyDescriptors(direct)).toEqual(before)
    expect(await direct.invoke({ n: 1 })).toBe('did 1')
    const answer = await agentOf({ calls: [{ name: 'allow' }], tools: [safe], middleware: [] }).invoke(go, thread())
    expect(toolMessages(answer)).toMatchObject([{ status: 'error' }])
  })

  it('is not confirmed when its stream breaks off after its call has returned, and is when it ends', async () => {
    const chunks: unknown[] = []
    const flowing = (breaks: boolean) =>
      tool(
        async function* ({ n }) {
          yield `some of ${n}`
          if (breaks) throw new Error('it broke')
          return `all of ${n}`
        },
        { name: 'flow', schema: z.object({ n: z.number() }) },
      )
    rig.decisionIds()
    const callbacks = [{ handleToolEvent: (chunk: unknown) => void chunks.push(chunk) }]
    const broken = guardTool(flowing(true), { ...options(), action: 't.allow' })
    await expect(broken.invoke({ n: 1 }, { callbacks })).rejects.toThrow('it broke')
    expect(await rig.statuses()).toEqual(['rejected'])
    const whole = guardTool(flowing(false), { ...options(), action: 't.allow' })
    expect(await whole.invoke({ n: 1 }, { callbacks })).toBe('all of 1')
    expect(await rig.statuses()).toEqual(['confirmed'])
    expect(chunks).toEqual(['some of 1', 'some of 1'])
  })

  it('takes a tool of plain text, and knows within what permitted it', async () => {
    const seen: unknown[] = []
    const echo = new DynamicTool({
      name: 'echo',
      description: 'echo',
      func: async (text) => {
        seen.push(currentRun()?.permit_token, currentRun()?.decision?.resource)
        return text
      },
    })
    const safe = guardTool(echo, { ...options(), action: 't.allow', resource: (a) => `text:${a.input}` })
    expect(await safe.invoke('hello')).toBe('hello')
    expect(seen).toEqual([expect.stringMatching(/^eyJ/), 'text:hello'])
    expect(currentRun()).toBeUndefined()
  })

  it('is given arguments of its own, which it may change', async () => {
    const given = { lines: [1] }
    const schema = { type: 'object', properties: { lines: { type: 'array' } } } as const
    const change = tool((args) => `${(args as typeof given).lines.push(9)}`, { name: 'change', schema })
    const safe = guardTool(change, { ...options(), action: 't.allow', context: (a) => a })
    expect(await safe.invoke(given)).toBe('2')
    expect(given).toEqual({ lines: [1] })
  })

  it('is refused for what is no tool, and for options that say nothing', () => {
    const [allow] = toolsOf([])
    expect(() => guardTool({ name: 'x' } as unknown as StructuredToolInterface, options())).toThrow(/_call/)
    expect(() => guardTool(allow as StructuredToolInterface, { ...options(), acton: 't.allow' } as never)).toThrow(
      /acton/,
    )
  })
})

describe('a guarded tool that fails after a person approved it', () => {
  class Declined extends Error {
    readonly code = 402_001
    override readonly name = 'Declined'
  }
  const thrown = new Declined('card declined')
  const failing = tool(
    () => {
      throw thrown
    },
    { name: 'review', schema: z.object({ n: z.number() }) },
  )
  const settings = () => ({ ...options(), ...asked, action: 't.review', review: 'interrupt' as const })
  const calls = [{ name: 'review' }]
  const approvedText = async (graph: Resumable) => {
    const config = thread()
    const { __interrupt__ } = Object(await graph.invoke(go, config))
    await rig.operator.transition(__interrupt__[0].value.decision_id, 'approve', { comment: 'only once' })
    return toolMessages(Object(await graph.invoke(new Command({ resume: true }), config))).map(({ text }) => text)
  }
  const words = 'card declined\n\nThe reviewer wrote: "only once"'

  it('tells a model so in the words of the reviewer, in an agent and in each kind of node', async () => {
    const safe = guardTool(failing, settings())
    const guarded = guardedToolNode([failing], { ...options(), map: MAP, review: 'interrupt' })
    expect(await approvedText(agentOf({ calls, tools: [safe], middleware: [] }))).toEqual([
      expect.stringContaining(words),
    ])
    for (const tools of [new ToolNode([safe]), guarded])
      expect(await approvedText(graphOf(tools, calls))).toEqual([expect.stringContaining(words)])
    expect(thrown.message).toBe('card declined')
  })

  it('throws an error of the same class and members where the graph takes it', async () => {
    const onNode = { ...options(), map: MAP, review: 'interrupt' as const, handleToolErrors: false }
    const graph = graphOf(guardedToolNode([failing], onNode), calls)
    rig.events.length = 0
    const error = await approvedText(graph).catch((error) => error)
    expect(error).toBeInstanceOf(Declined)
    expect(error).toMatchObject({ name: 'Declined', code: 402_001, message: words, stack: thrown.stack })
  })

  it('gives a program the error itself', async () => {
    const safe = guardTool(failing, { ...settings(), review: 'wait', reviewTimeoutMs: 20_000 })
    rig.decisionIds()
    const call = safe.invoke({ n: 1 })
    const id = await until('the decision', () => rig.decisionIds()[0])
    await rig.operator.transition(id, 'approve', { comment: 'only once' })
    await expect(call).rejects.toBe(thrown)
  })
})

it('confirms an approved tool that ran and returned what JSON cannot hold', async () => {
  const big = tool(() => ({ big: 1n }) as never, { name: 'review', schema: z.object({ n: z.number() }) })
  const calls = [{ name: 'review' }]
  const safe = guardTool(big, { ...options(), ...asked, action: 't.review', review: 'interrupt' })
  const guarded = guardedToolNode([big], { ...options(), map: MAP, review: 'interrupt' })
  rig.events.length = 0
  for (const graph of [agentOf({ calls, tools: [safe], middleware: [] }), graphOf(guarded, calls)] as Resumable[]) {
    const config = thread()
    const { __interrupt__ } = Object(await graph.invoke(go, config))
    await rig.operator.transition(__interrupt__[0].value.decision_id, 'approve', { comment: 'only once' })
    const [message] = toolMessages(Object(await graph.invoke(new Command({ resume: true }), config)))
    expect(message).toMatchObject({ status: 'success', text: expect.stringContaining('only once') })
  }
  expect(await rig.statuses()).toEqual(['confirmed', 'confirmed'])
})

/** An agent or a graph. */
interface Resumable {
  invoke(input: unknown, config: ReturnType<typeof thread>): Promise<unknown>
}

describe('a guarded node', () => {
  const node = (tools: StructuredToolInterface[], more: Partial<GuardedToolNodeOptions> = {}) =>
    guardedToolNode(tools, { ...options(), map: MAP, review: 'interrupt', ...more })

  it('answers as a plain ToolNode does where it may run: errors, unknown tools and denials included', async () => {
    const runs: string[] = []
    const tools = toolsOf(runs, ({ n }) => {
      if (n === 2) throw new Error('card declined')
      return 'did it'
    })
    const calls = [
      { name: 'allow' },
      { name: 'allow', args: { n: 2 } },
      { name: 'unknown' },
      { name: 'allow', args: { n: 'x' } },
    ]
    rig.decisionIds()
    const plain = await graphOf(new ToolNode(tools), calls).invoke(go, thread())
    const guarded = await graphOf(node(tools), calls).invoke(go, thread())
    const shown = (answer: typeof plain) =>
      toolMessages(answer).map(({ text, status, name, tool_call_id }) => ({ text, status, name, tool_call_id }))
    expect(shown(guarded)).toEqual(shown(plain))
    expect((await rig.statuses()).sort()).toEqual(['confirmed', 'rejected'])
    const denied = await graphOf(node(tools), [{ name: 'deny' }]).invoke(go, thread())
    expect(toolMessages(denied)).toMatchObject([{ status: 'error', artifact: { denied: { reason: 'denied' } } }])
    expect(await node(tools).invoke({ messages: [callsOf({ name: 'allow' })] })).toMatchObject({
      messages: [{ content: 'did it' }],
    })
  })

  it('gives its tools the state of the graph, as a hand-over to another agent reads it', async () => {
    const handOver = tool(
      (_args, config) => {
        const { messages } = getCurrentTaskInput<typeof MessagesAnnotation.State>()
        const done = new ToolMessage({ content: `with ${messages.length}`, tool_call_id: config.toolCall?.id ?? '' })
        return new Command({ goto: 'other', graph: Command.PARENT, update: { messages: [...messages, done] } })
      },
      { name: 'allow', schema: z.object({ n: z.number() }) },
    )
    const handsOver = async (tools: ToolNode) => {
      const other = () => ({ messages: [new ToolMessage({ content: 'other is here', tool_call_id: 'x' })] })
      const graph = new StateGraph(MessagesAnnotation)
        .addNode('first', graphOf(tools, [{ name: 'allow' }]), { ends: ['other'] })
        .addNode('other', other)
        .addEdge(START, 'first')
        .compile({ checkpointer: new MemorySaver() })
      return toolMessages(await graph.invoke(go, thread())).map(({ text }) => text)
    }
    const plain = await handsOver(new ToolNode([handOver]))
    expect(plain).toEqual(['with 2', 'other is here'])
    expect(await handsOver(node([handOver]))).toEqual(plain)
  })

  it.each(['updates', 'messages', 'values', 'custom'] as const)(
    'streams %s as a plain ToolNode does, also after a review',
    async (streamMode) => {
      const calls: Call[] = [{ name: 'allow' }, { name: 'log', args: { n: 2 } }, { name: 'unknown' }]
      const streamed = async (tools: ToolNode, given: readonly Call[] = calls) => {
        const [graph, config] = [graphOf(tools, given), thread()]
        const read = async (input: Parameters<typeof graph.stream>[0]) => {
          const chunks: unknown[] = []
          for await (const chunk of await graph.stream(input, { ...config, streamMode })) chunks.push(chunk)
          return chunks
        }
        const chunks = await read(go)
        const [asking] = (await graph.getState(config)).tasks.flatMap(({ interrupts }) => interrupts)
        if (asking === undefined) return chunks.map(shape)
        await rig.operator.transition(asking.value.decision_id, 'approve')
        return (await read(new Command({ resume: true }))).map(shape)
      }
      const isOurs = (chunk: string) => chunk.includes('countersign.decision')
      const guarded = await streamed(node(toolsOf([])))
      expect(guarded.filter((chunk) => !isOurs(chunk))).toEqual(await streamed(new ToolNode(toolsOf([]))))
      expect(guarded.filter(isOurs)).toHaveLength(streamMode === 'custom' ? 2 : 0)
      const resumed = await streamed(node(toolsOf([])), [{ name: 'allow' }, { name: 'review', args: { n: 2 } }])
      // LangGraph shows again what had finished before the step ran again, marked as cached.
      if (streamMode === 'updates')
        expect(resumed.map((chunk) => JSON.parse(chunk))).toEqual([
          { tools: { messages: [expect.objectContaining({ lc: 1 })] }, __metadata__: { cached: true } },
          { tools: { messages: Array.from({ length: 2 }, () => expect.objectContaining({ lc: 1 })) } },
        ])
    },
  )

  it('24: runs no finished call again when another is resumed, and gives back what it had answered', async () => {
    const runs: string[] = []
    const tools = toolsOf(runs, ({ n }) => {
      if (n === 5)
        return new Command({ update: { messages: [new ToolMessage({ content: 'moved', tool_call_id: 'call_3' })] } })
      if (n === 6) throw new Error('card declined')
      return `did ${runs.length}`
    })
    const calls: Call[] = [
      { name: 'allow' },
      { name: 'review', args: { n: 2 } },
      { name: 'review', args: { n: 3 } },
      { name: 'allow', args: { n: 5 } },
      { name: 'allow', args: { n: 6 } },
    ]
    rig.decisionIds()
    const [graph, config] = [graphOf(node(tools), calls), thread()]
    await graph.invoke(go, config)
    const first = [...runs]
    expect(first.sort()).toEqual(['allow 1', 'allow 5', 'allow 6'])
    for (let round = 0; round < 2; round += 1) {
      const { tasks } = await graph.getState(config)
      const asked = tasks.flatMap(({ interrupts }) => interrupts)
      for (const { value } of asked)
        await rig.operator.transition(value.decision_id, 'approve', { comment: `fine for ${value.resource}` })
      await graph.invoke(new Command({ resume: Object.fromEntries(asked.map(({ id }) => [id, true])) }), config)
      if (runs.length === 5) break
    }
    expect(runs.slice(3).sort()).toEqual(['review 2', 'review 3'])
    const { values } = await graph.getState(config)
    const texts = toolMessages(values).map(({ text }) => text)
    expect(texts.map((text) => text.split('\n')[0])).toEqual(
      expect.arrayContaining(['did 1', 'did 4', 'did 5', 'moved', 'Error: card declined']),
    )
    for (const n of [2, 3]) expect(texts[n - 1]).toContain(`\n\nThe reviewer wrote: "fine for order:${n}"`)
    expect((await rig.statuses()).sort()).toEqual(['confirmed', 'confirmed', 'confirmed', 'confirmed', 'rejected'])
  })

  it('is not brought down by the name of a tool that a model makes up', async () => {
    const runs: string[] = []
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    const calls = ['allow', ...names].map((name) => ({ name }))
    const answer = await graphOf(node(toolsOf(runs)), calls).invoke(go, thread())
    expect(toolMessages(answer).map(({ name, status }) => `${name} ${status}`)).toEqual([
      'allow success',
      ...names.map((name) => `${name} error`),
    ])
    expect(runs).toEqual(['allow 1'])
  })

  it('gives an answer to the interrupt that was shown, and to no other, one after the other', async () => {
    const runs: string[] = []
    const tools = toolsOf(runs, async ({ n }) => {
      // Still at it when the others interrupt.
      if (n === 9) await new Promise((done) => setImmediate(() => setImmediate(done)))
      if (n === 9) return 'did 9'
      const answer = interrupt(`delete ${n}?`)
      return `${runs.push(`answered ${n} ${answer}${n === 3 ? interrupt('really?') : ''}`)}`
    })
    const calls = [{ name: 'review' }, ...[2, 3, 9].map((n) => ({ name: 'allow', args: { n } }))]
    const [graph, config] = [graphOf(node(tools), calls), thread()]
    const answered = () => runs.filter((run) => run.startsWith('answered'))
    const shown = async () => (await graph.getState(config)).tasks.flatMap(({ interrupts }) => interrupts)
    const answer = (resume: unknown) => graph.invoke(new Command({ resume }), config)
    rig.decisionIds()
    await graph.invoke(go, config)
    const [review] = await shown()
    await rig.operator.transition(review?.value.decision_id, 'approve')
    await answer('yes to the review')
    expect(answered()).toEqual([])
    for (const n of [1, 2]) {
      expect(await shown()).toMatchObject([{ value: `delete ${n}?` }])
      await answer(`yes to ${n}`)
    }
    expect(answered()).toEqual(['answered 1 yes to 1', 'answered 2 yes to 2'])
    const [last] = await shown()
    expect(last).toMatchObject({ value: 'delete 3?' })
    await answer({ [last?.id ?? '']: 'yes to 3' })
    expect(await shown()).toMatchObject([{ value: 'really?' }])
    const { messages } = await answer('really')
    expect(answered().slice(2)).toEqual(['answered 3 yes to 3really'])
    expect(toolMessages({ messages }).map(({ text }) => text)).toContain('did 9')
    expect(runs.filter((run) => run === 'allow 9')).toHaveLength(1)
    expect(await rig.statuses()).toEqual(['confirmed', 'confirmed', 'confirmed', 'confirmed'])
  })

  it('22: lets a tool interrupt itself twice, and runs it to its end once', async () => {
    const ends: unknown[] = []
    const tools = toolsOf([], () => `${ends.push([interrupt('first?'), interrupt('second?')])}`)
    const [graph, config] = [graphOf(node(tools), [{ name: 'allow' }]), thread()]
    rig.decisionIds()
    await graph.invoke(go, config)
    await graph.invoke(new Command({ resume: 'one' }), config)
    await graph.invoke(new Command({ resume: 'two' }), config)
    expect(ends).toEqual([['one', 'two']])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })
})

/** A graph whose messages are sent to one node of tools. */
function graphOf(tools: ToolNode, calls: readonly Call[]) {
  return new StateGraph(MessagesAnnotation)
    .addNode('model', () => ({ messages: [callsOf(...calls)] }))
    .addNode('tools', tools)
    .addEdge(START, 'model')
    .addEdge('model', 'tools')
    .addEdge('tools', END)
    .compile({ checkpointer: new MemorySaver() })
}

/** What a reader of a stream sees of a chunk, without ids that are new each time. */
function shape(chunk: unknown): string {
  return JSON.stringify(chunk, (name, value) =>
    ['id', 'thread_id', 'run_id', 'checkpoint_ns', 'langgraph_checkpoint_ns', '__pregel_task_id'].includes(name)
      ? undefined
      : value,
  )
}
