/** Steps of several calls that LangGraph runs again after a review: of an agent in version 1, of a node, and of an entrypoint. */
import { guardTool } from '@countersign/langchain'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { ToolMessage } from '@langchain/core/messages'
import type { StructuredToolInterface } from '@langchain/core/tools'
import { Command, entrypoint, MemorySaver } from '@langchain/langgraph'
import { createReactAgent, ToolNode } from '@langchain/langgraph/prebuilt'
import { tool } from 'langchain'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Call, callsOf, modelOf, Rig, thread, toolMessages, toolsOf } from './rig.js'

const point = useDecisionPoint()
let rig: Rig
beforeAll(async () => {
  rig = await Rig.open(point())
})

const go = { messages: [{ role: 'human' as const, content: 'go' }] }
const asked = { resource: (a: { n: number }) => `order:${a.n}`, context: (a: object) => ({ ...a }) }

/** Each tool guarded by itself, as another process would do it again. */
function guarded(tools: readonly StructuredToolInterface[]): StructuredToolInterface[] {
  const client = rig.newClient()
  const onEvent = (event: Rig['events'][number]) => void rig.events.push(event)
  return tools.map((one) =>
    guardTool(one, { client, onEvent, ...asked, action: `t.${one.name}`, review: 'interrupt' } as never),
  )
}

const decisionsOf = (answer: unknown) =>
  (answer as { __interrupt__?: { value: { decision_id: string; resource: string } }[] }).__interrupt__?.map(
    ({ value }) => value,
  ) ?? []

describe('results of finished calls, after a review of a sibling', () => {
  const calls: Call[] = [
    { name: 'allow' },
    { name: 'review', args: { n: 2 } },
    { name: 'allow', args: { n: 5 } },
    { name: 'allow', args: { n: 6 } },
    { name: 'log', args: { n: 7 } },
  ]
  const work = (runs: string[]) =>
    toolsOf(runs, ({ n }) => {
      if (n === 5)
        return new Command({ update: { messages: [new ToolMessage({ content: 'moved', tool_call_id: 'call_2' })] } })
      if (n === 6) throw new Error('card declined')
      return `did ${n}, as run ${runs.length}`
    })

  it('are there in an agent of version 1, in another process too, and no tool runs twice', async () => {
    const runs: string[] = []
    rig.decisionIds()
    const checkpointer = new MemorySaver()
    const agentOf = () =>
      createReactAgent({ version: 'v1', llm: modelOf(...calls) as never, tools: guarded(work(runs)), checkpointer })
    const config = thread()
    const [review] = decisionsOf(await agentOf().invoke(go, config))
    await rig.operator.transition(review?.decision_id ?? '', 'approve')
    const { messages } = await agentOf().invoke(new Command({ resume: true }), config)
    expect(runs.toSorted()).toEqual(['allow 1', 'allow 5', 'allow 6', 'log 7', 'review 2'])
    const texts = toolMessages({ messages }).map(({ text }) => text.split('\n')[0])
    expect(texts.toSorted()).toEqual([
      expect.stringMatching(/^Error: card declined/),
      expect.stringMatching(/^did 1, as run [1-4]$/),
      'did 2, as run 5',
      expect.stringMatching(/^did 7, as run [1-4]$/),
      'moved',
    ])
    expect((await rig.statuses()).toSorted()).toEqual([...Array.from({ length: 4 }, () => 'confirmed'), 'rejected'])
  })

  it('are there in an entrypoint that calls the tools by itself', async () => {
    const runs: string[] = []
    const config = thread()
    const checkpointer = new MemorySaver()
    const [allow, , review] = guarded(toolsOf(runs, ({ n }) => `did ${n}, as run ${runs.length}`))
    const flow = entrypoint({ name: 'flow', checkpointer }, async (n: number) => [
      await allow?.invoke({ n }),
      await review?.invoke({ n: n + 1 }),
    ])
    const [asking] = decisionsOf(await flow.invoke(1, config))
    await rig.operator.transition(asking?.decision_id ?? '', 'approve')
    expect(await flow.invoke(new Command({ resume: true }), config)).toEqual(['did 1, as run 1', 'did 2, as run 2'])
    expect(runs).toEqual(['allow 1', 'review 2'])
  })

  it('have what the reviewer wrote on each resume, and each review is parked until it is answered', async () => {
    const runs: string[] = []
    const reviewed = [1, 2, 3]
    const checkpointer = new MemorySaver()
    const llm = modelOf(...reviewed.map((n) => ({ name: 'review', args: { n } })))
    const agentOf = () =>
      createReactAgent({ version: 'v1', llm: llm as never, tools: guarded(toolsOf(runs)), checkpointer })
    const config = thread()
    let answer: unknown = await agentOf().invoke(go, config)
    for (const _ of reviewed) {
      const [review] = decisionsOf(answer)
      const comment = `fine for ${review?.resource}`
      await rig.operator.transition(review?.decision_id ?? '', 'approve', { comment })
      answer = await agentOf().invoke(new Command({ resume: true }), config)
    }
    expect(runs.toSorted()).toEqual(reviewed.map((n) => `review ${n}`))
    expect(toolMessages(answer as never).map(({ text }) => text)).toEqual(
      reviewed.map((n) => `did ${n}\n\nThe reviewer wrote: "fine for order:${n}"`),
    )
  })

  it('come with their artifact', async () => {
    const runs: string[] = []
    const found = tool(({ n }) => [`found ${n}, as run ${runs.push('allow')}`, { rows: [n] }], {
      name: 'allow',
      schema: z.object({ n: z.number() }),
      responseFormat: 'content_and_artifact',
    })
    const tools = guarded([found as never, ...toolsOf(runs).filter(({ name }) => name === 'review')])
    const llm = modelOf({ name: 'allow' }, { name: 'review', args: { n: 2 } })
    const agent = createReactAgent({ version: 'v1', llm: llm as never, tools, checkpointer: new MemorySaver() })
    const config = thread()
    const [review] = decisionsOf(await agent.invoke(go, config))
    await rig.operator.transition(review?.decision_id ?? '', 'approve')
    const [first] = toolMessages(await agent.invoke(new Command({ resume: true }), config))
    expect(first).toMatchObject({ content: 'found 1, as run 1', artifact: { rows: [1] } })
    expect(runs).toEqual(['allow', 'review 2'])
  })

  it('are for their own call: another thread runs it again', async () => {
    const runs: string[] = []
    const checkpointer = new MemorySaver()
    const agent = createReactAgent({
      version: 'v1',
      llm: modelOf({ name: 'allow' }) as never,
      tools: guarded(toolsOf(runs)),
      checkpointer,
    })
    await agent.invoke(go, thread())
    await agent.invoke(go, thread())
    expect(runs).toEqual(['allow 1', 'allow 1'])
  })

  it('are not written for agents that make a step of each call', async () => {
    const written: string[] = []
    class Watched extends MemorySaver {
      override putWrites(...args: Parameters<MemorySaver['putWrites']>): Promise<void> {
        written.push(...args[1].map(([channel]) => channel))
        return super.putWrites(...args)
      }
    }
    for (const version of ['v1', 'v2'] as const) {
      written.length = 0
      const llm = modelOf({ name: 'allow' }) as never
      const agent = createReactAgent({ version, llm, tools: guarded(toolsOf([])), checkpointer: new Watched() })
      await agent.invoke(go, thread())
      expect(written.includes('__countersign_result__'), version).toBe(version === 'v1')
    }
  })

  it('cost no call its result where they cannot be written', async () => {
    class Failing extends MemorySaver {
      override putWrites(...args: Parameters<MemorySaver['putWrites']>): Promise<void> {
        const isOurs = args[1].some(([channel]) => channel.startsWith('__countersign'))
        return isOurs ? Promise.reject(new Error('disk full')) : super.putWrites(...args)
      }
    }
    const llm = modelOf({ name: 'allow' }) as never
    const tools = guarded(toolsOf([]))
    const agent = createReactAgent({ version: 'v1', llm, tools, checkpointer: new Failing() })
    expect(toolMessages(await agent.invoke(go, thread()))).toMatchObject([{ content: 'did 1', status: 'success' }])
  })
})

it('a plain ToolNode of guarded tools answers outside of a graph', async () => {
  const node = new ToolNode(guarded(toolsOf([])))
  expect(await node.invoke({ messages: [callsOf({ name: 'allow' })] })).toMatchObject({
    messages: [{ content: 'did 1' }],
  })
})
