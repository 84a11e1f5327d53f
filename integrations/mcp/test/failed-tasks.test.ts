/** Tasks that fail (2025-11-25) settle their calls in the same way behind each kind of gate, however the client follows them. */
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { gateTransport } from '../src/messages/gate-transport.js'
import { CLIENT_V1, proxyOf, serveSessions } from './http-rig.js'
import { decisionOf, Rig, say } from './rig.js'
import { type CallResult, type HighLevelServer, SDKS, type Sdk } from './sdks.js'

const point = useDecisionPoint()
const [v1] = SDKS as [Sdk]
let rig: Rig
beforeAll(async () => {
  rig = await Rig.open(point())
})

interface Work {
  end(status: 'completed' | 'failed', result: CallResult): Promise<void>
  fail(message?: string): Promise<void>
}

type Request = (method: string, params: object) => Promise<Record<string, unknown>>

/** A server whose one tool answers by a task, and what ends the tasks. */
function serverWithTasks(): { make: () => HighLevelServer; works: Work[] } {
  const works: Work[] = []
  const make = (): HighLevelServer => {
    const taskStore = new InMemoryTaskStore()
    onTestFinished(() => taskStore.cleanup())
    const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
    const server = v1.mcpServer({ capabilities, taskStore })
    ;(server as unknown as McpServer).experimental.tasks.registerToolTask(
      'allow',
      { inputSchema: { n: z.number() }, execution: { taskSupport: 'required' } },
      {
        async createTask(_args, { taskStore: store }) {
          const task = await store.createTask({ ttl: 60_000, pollInterval: 10 })
          works.push({
            end: (status, result) => store.storeTaskResult(task.taskId, status, result as never),
            fail: (message) => store.updateTaskStatus(task.taskId, 'failed', message),
          })
          return { task }
        },
        getTask: (_args, { taskId, taskStore: store }) => store.getTask(taskId),
        getTaskResult: (_args, { taskId, taskStore: store }) => store.getTaskResult(taskId) as never,
      },
    )
    return server
  }
  return { make, works }
}

const GATES: Record<string, (make: () => HighLevelServer) => Promise<Request>> = {
  async gate(make) {
    const client = await v1.connect(rig.gate(make()))
    onTestFinished(() => client.close())
    return client.request
  },
  async gateTransport(make) {
    const around = (transport: unknown) => gateTransport(transport as never, rig.options())
    const client = await v1.connect(make(), { around: around as never })
    onTestFinished(() => client.close())
    return client.request
  },
  async 'the proxy'(make) {
    const { url } = await proxyOf(rig, (await serveSessions(v1, make)).url)
    const { client } = await CLIENT_V1.connect(url)
    return (method, params) => client.request({ method, params }, ResultSchema)
  },
}

const FAILURES: readonly (readonly [how: string, status: string, fail: (work: Work) => Promise<void>])[] = [
  ['by a result', 'rejected', ({ end }) => end('failed', { ...say('card declined'), isError: true })],
  ['by a result that says no error', 'rejected', ({ end }) => end('failed', say('card declined'))],
  ['by its status', 'rejected', ({ fail }) => fail('card declined')],
  ['as an answer was lost', 'authorized', ({ end }) => end('failed', say('bank: read ECONNRESET'))],
  ['as time ran out, by its status', 'authorized', ({ fail }) => fail('timed out')],
  ['without a word', 'authorized', ({ fail }) => fail()],
]

/** As a client polls, and as one waits. */
const FOLLOWING = ['tasks/get', 'tasks/result'] as const

describe.each(Object.entries(GATES))('behind %s', (_gate, connect) => {
  it.each(FAILURES.flatMap((failure) => FOLLOWING.map((method) => [...failure, method] as const)))(
    'a task that fails %s is %s',
    async (_how, status, fail, method) => {
      const { make, works } = serverWithTasks()
      const request = await connect(make)
      const call = async () => {
        const result = await request('tools/call', { name: 'allow', arguments: { n: 1 }, task: { ttl: 60_000 } })
        return {
          taskId: Object(result.task).taskId as string,
          id: Object(decisionOf(result as never)).id as string,
        }
      }
      const statusOf = async (id: string): Promise<string> => (await rig.operator.decision(id)).status
      const [failing, other] = [await call(), await call()]
      await fail(works[0] as Work)
      await request(method, { taskId: failing.taskId }).catch(() => undefined)
      if (status !== 'authorized') await expect.poll(() => statusOf(failing.id), { timeout: 10_000 }).toBe(status)
      // Told later, and settled by then.
      await works[1]?.end('completed', say('paid'))
      await request('tasks/result', { taskId: other.taskId })
      await expect.poll(() => statusOf(other.id), { timeout: 10_000 }).toBe('confirmed')
      expect(await statusOf(failing.id)).toBe(status)
    },
  )
})
