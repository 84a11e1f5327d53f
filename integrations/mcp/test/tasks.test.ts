/** Calls that are answered by a task at once (2025-11-25), which SDK 1.x has. The numbers are those of the acceptance cases. */
import { currentRun, type GateOptions, type ToolMapping } from '@countersign/mcp'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { decisionOf, Rig, say } from './rig.js'
import { type CallResult, type ConnectedClient, SDKS } from './sdks.js'

const point = useDecisionPoint()
const [sdk] = SDKS
let rig: Rig
let policy: string
const open: { close(): Promise<unknown> }[] = []
const stores: InMemoryTaskStore[] = []
beforeAll(async () => {
  rig = await Rig.open(point())
})
beforeEach(async () => {
  rig.events.length = 0
  action = `t.task-${crypto.randomUUID().slice(0, 8)}`
  policy = (await rig.operator.makePolicy(action, 'allow', { limit: 100, unit: 'EUR', period: 'total' })).id
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()))
  for (const store of stores.splice(0)) store.cleanup()
})
let action: string

/** What a tool can do about its task, whenever it likes. */
interface Work {
  end(status: 'completed' | 'failed', result: CallResult): Promise<void>
  say(status: 'working' | 'failed' | 'cancelled' | 'completed', message?: string): Promise<void>
  cost(amount: number): void
}

interface Started {
  readonly client: ConnectedClient
  /** Of the tasks that were begun. */
  readonly works: Work[]
  /** The task of a call, and what the result tells of its decision. */
  call(name?: string): Promise<{ readonly taskId: string; readonly id: string }>
  account(): Promise<unknown>
}

async function startServer(change: Partial<GateOptions> = {}, begins: (work: Work) => unknown = () => undefined) {
  if (sdk === undefined) throw new Error('there is no such SDK')
  const taskStore = new InMemoryTaskStore()
  stores.push(taskStore)
  const server = sdk.mcpServer({
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore,
    taskMessageQueue: new InMemoryTaskMessageQueue(),
  })
  const works: Work[] = []
  for (const [name, taskSupport] of [
    ['pay', 'required'],
    ['maybe', 'optional'],
    ['deny', 'required'],
    ['review', 'required'],
  ] as const)
    (server as unknown as McpServer).experimental.tasks.registerToolTask(
      name,
      { inputSchema: { amount: z.number() }, execution: { taskSupport } },
      {
        async createTask(_args, { taskStore: store }) {
          const task = await store.createTask({ ttl: 60_000, pollInterval: 10 })
          const run = currentRun()
          const work: Work = {
            end: (status, result) => store.storeTaskResult(task.taskId, status, result as never),
            say: (status, message) => store.updateTaskStatus(task.taskId, status, message),
            cost: (amount) => run?.setAmount(amount),
          }
          works.push(work)
          await begins(work)
          return { task }
        },
        getTask: (_args, { taskId, taskStore: store }) => store.getTask(taskId),
        getTaskResult: (_args, { taskId, taskStore: store }) => store.getTaskResult(taskId) as never,
      },
    )
  const mapped: ToolMapping = { action, resource: null, context: ({ amount }) => ({ amount }) }
  const map = { pay: mapped, maybe: mapped, deny: 't.deny', review: 't.review' }
  const client = await sdk.connect(rig.gate(server, { map, ...change }))
  open.push(client)
  const started: Started = {
    client,
    works,
    async call(name = 'pay') {
      const result = await client.request('tools/call', { name, arguments: { amount: 7 }, task: { ttl: 60_000 } })
      const { taskId } = result.task as { taskId: string }
      return { taskId, id: (decisionOf(result as never) as { id: string }).id }
    },
    account: () => rig.operator.account(policy),
  }
  return started
}

const statusOf = async (id: string): Promise<string> => (await rig.operator.decision(id)).status
/** What the gate was told is settled behind the caller's back. */
const settled = (id: string) => expect.poll(() => statusOf(id), { timeout: 10_000 })
const RESERVED = { spent: 0, reserved: 7 }

describe('a call that is answered by a task', () => {
  it('32: is settled when the task ends, and not before', async () => {
    const { client, works, call, account } = await startServer()
    const { taskId, id } = await call()
    expect(await client.request('tasks/get', { taskId })).toMatchObject({ status: 'working' })
    await works[0]?.say('working', 'half of it')
    await rig.client.flush()
    expect([await statusOf(id), await account()]).toEqual(['authorized', RESERVED])
    works[0]?.cost(5)
    await works[0]?.end('completed', say('paid'))
    await settled(id).toBe('confirmed')
    expect(await account()).toEqual({ spent: 5, reserved: 0 })
    expect(await client.request('tasks/result', { taskId })).toMatchObject(say('paid'))
    expect([rig.decisionIds(), works.length]).toEqual([[id], 1])
  })

  it('32: is settled by a task that ends before the call is answered', async () => {
    const { call, account } = await startServer({}, (work) => work.end('completed', say('paid')))
    const { id } = await call()
    await settled(id).toBe('confirmed')
    expect(await account()).toEqual({ spent: 7, reserved: 0 })
  })

  it('32: is settled by its own task alone', async () => {
    const { works, call, account } = await startServer()
    const calls = [await call(), await call(), await call()]
    await works[1]?.end('completed', say('paid'))
    await settled(calls[1]?.id ?? '').toBe('confirmed')
    await works[2]?.end('failed', say('card declined'))
    await settled(calls[2]?.id ?? '').toBe('rejected')
    expect([await statusOf(calls[0]?.id ?? ''), await account()]).toEqual(['authorized', { spent: 7, reserved: 7 }])
  })

  it.each<[string, (work: Work) => Promise<void>]>([
    ['with words', (work) => work.end('failed', { ...say('card declined'), isError: true })],
    ['with a result that says no error', (work) => work.end('failed', say('card declined'))],
    ['with a status', (work) => work.say('failed', 'card declined')],
    ['with an error that is complete', (work) => work.end('completed', { ...say('card declined'), isError: true })],
  ])('33: is rejected when the task fails %s', async (_how, end) => {
    const { works, call, account } = await startServer()
    const { id } = await call()
    await end(works[0] as Work)
    await settled(id).toBe('rejected')
    expect(await account()).toEqual({ spent: 0, reserved: 0 })
  })

  it.each<[string, (work: Work) => Promise<void>]>([
    ['fails as an answer was lost', (work) => work.end('failed', say('bank: read ECONNRESET'))],
    ['fails as time ran out, by its status', (work) => work.say('failed', 'timed out')],
    ['fails without a word', (work) => work.say('failed')],
    ['is cancelled by its tool', (work) => work.say('cancelled', 'somebody asked for it')],
    ['is completed without a result', (work) => work.say('completed')],
  ])('33, 34: is left when the task %s', async (_how, end) => {
    const { works, call, account } = await startServer()
    const [left, other] = [await call(), await call()]
    await end(works[0] as Work)
    // Told later, and settled by then.
    await works[1]?.end('completed', say('paid'))
    await settled(other.id).toBe('confirmed')
    expect([await statusOf(left.id), await account()]).toEqual(['authorized', { spent: 7, reserved: 7 }])
  })

  it('34: is left when the client cancels the task, and confirmed if the tool has done it all the same', async () => {
    const { client, works, call, account } = await startServer()
    const { taskId, id } = await call()
    expect(await client.request('tasks/cancel', { taskId })).toMatchObject({ status: 'cancelled' })
    await rig.client.flush()
    expect([await statusOf(id), await account()]).toEqual(['authorized', RESERVED])
    await expect(works[0]?.end('completed', say('paid'))).rejects.toThrow('terminal status')
    await settled(id).toBe('confirmed')
  })

  it('35: is the result itself where the client asks for no task and the tool has one', async () => {
    const { client, works, account } = await startServer({}, (work) => void work.end('completed', say('paid')))
    const result = await client.call('maybe', { amount: 7 })
    expect(result).toMatchObject(say('paid'))
    await settled((decisionOf(result) as { id: string }).id).toBe('confirmed')
    expect([works.length, await account(), rig.decisionIds().length]).toEqual([1, { spent: 7, reserved: 0 }, 1])
  })

  it('35: is settled by the task of the same tool where the client asks for one', async () => {
    const { works, call } = await startServer()
    const { id } = await call('maybe')
    await works[0]?.end('completed', say('paid'))
    await settled(id).toBe('confirmed')
  })

  it('35: runs nothing where the tool needs a task and the client asks for none', async () => {
    const { client, works, account } = await startServer()
    expect(await client.call('pay', { amount: 7 })).toMatchObject({ isError: true })
    expect([works.length, await rig.statuses(), await account()]).toEqual([0, ['rejected'], { spent: 0, reserved: 0 }])
  })

  it.each([
    ['deny', 'denied', 'No policy'],
    ['review', 'review_required', 'A person has to approve'],
  ])('is refused as an error, as its client knows no result in the place of a task: %s', async (name, reason) => {
    const { call, works } = await startServer()
    const refused = await call(name).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: -32003, data: { 'countersign/decision': { reason } } })
    expect(String(refused)).toContain('The call did not run.')
    expect(works).toEqual([])
  })

  it('is left when it fails as an answer was lost before there was a task', async () => {
    const lost = Object.assign(new Error('the bank did not answer'), { code: 'ETIMEDOUT' })
    const { call, account } = await startServer({}, () => Promise.reject(lost))
    await expect(call()).rejects.toThrow()
    await rig.client.flush()
    expect([await rig.statuses(), await account()]).toEqual([['authorized'], RESERVED])
  })
})
