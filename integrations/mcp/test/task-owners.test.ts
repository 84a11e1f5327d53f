/** Tasks (2025-11-25) are for the client whose permitted call has made them, over reconnects as far as it is known. */
import { type GateOptions, gate, gateTransport } from '@countersign/mcp'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { PermittedTasks } from '../src/tasks/permitted-tasks.js'
import { JSON_HEADERS, openSession, post, proxyOf, serve } from './http-rig.js'
import { Rig } from './rig.js'
import { type Caller, type ConnectedClient, type LowLevelServer, SDKS } from './sdks.js'

const point = useDecisionPoint()
const [sdk] = SDKS
let rig: Rig
/** What reached the server about tasks. */
const seen: string[] = []
beforeAll(async () => {
  rig = await Rig.open(point())
})
beforeEach(() => {
  seen.length = 0
  rig.events.length = 0
})

/** Answers each call by a task that is named after its argument, and whatever is asked about tasks. */
function handle(method: string, params: unknown): object {
  const { taskId, name, arguments: args } = Object(params)
  const task = (id: unknown) => ({ taskId: id, status: 'working', ttl: null, createdAt: '', lastUpdatedAt: '' })
  if (method === 'tools/call') return name === 'allow' ? { task: task(args.id), content: [] } : {}
  seen.push(`${method} ${taskId ?? ''}`)
  if (method === 'tasks/list') return { tasks: ['a', 'b', 'secret'].map(task) }
  return { ...task(taskId), content: [{ type: 'text', text: '91000' }] }
}

function server(): LowLevelServer {
  const made = sdk!.lowLevelServer({ capabilities: { tools: {} } })
  made.fallbackRequestHandler = ({ method, params }) => handle(method, params)
  return made
}

const MAP = { allow: 't.allow', deny: 't.deny' }
const caller =
  (clientId: string): Caller =>
  () => ({ clientId, token: 't', scopes: [] })
const PLACES = ['gate', 'gateTransport'] as const

describe.each(PLACES)('by %s', (place) => {
  const connect = async (options: GateOptions, from?: Caller): Promise<ConnectedClient> => {
    const around = (one: object) => gateTransport(one as never, options) as never
    const settings = from === undefined ? {} : { caller: from }
    const client =
      place === 'gate'
        ? await sdk!.connect(gate(server() as never, options), settings)
        : await sdk!.connect(server(), { ...settings, around })
    onTestFinished(() => client.close())
    return client
  }
  const options = (change: Partial<GateOptions> = {}) =>
    rig.options({ map: MAP, agentId: () => rig.agentId, ...change })

  it('passes what is asked about the task of a permitted call, and lists it alone', async () => {
    const client = await connect(options())
    await client.request('tools/call', { name: 'allow', arguments: { id: 'a' } })
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update'])
      expect(await client.request(method, { taskId: 'a' })).toMatchObject({ taskId: 'a' })
    expect(Object(await client.request('tasks/list')).tasks).toMatchObject([{ taskId: 'a' }])
  })

  it('the result of a task tells the model what its approver wrote', async () => {
    const client = await connect(options({ map: { allow: 't.review' } }))
    const id = crypto.randomUUID()
    const call = () => client.request('tools/call', { name: 'allow', arguments: { id } })
    const asked = Object(await call())._meta['countersign/decision']
    await rig.operator.transition(asked.id, 'approve', { comment: 'only once' })
    expect(await call()).toMatchObject({ task: { taskId: id } })
    const words = { type: 'text', text: 'The reviewer wrote: "only once"' }
    for (const times of [1, 2]) {
      expect([times, await client.request('tasks/result', { taskId: id })]).toMatchObject([
        times,
        { content: [{ text: '91000' }, words] },
      ])
    }
    expect(JSON.stringify(await client.request('tasks/cancel', { taskId: id }))).not.toContain('only once')
  })

  it.each(['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update'])(
    'refuses %s of any other task, also if everything else is open',
    async (method) => {
      for (const change of [{}, { others: 'pass' }, { others: 'map' }] as const) {
        const client = await connect(options(change))
        await client.request('tools/call', { name: 'deny', arguments: { id: 'b' } }).catch(() => undefined)
        for (const taskId of ['b', 'secret', '', 7, undefined, ['a']])
          await expect(client.request(method, { taskId })).rejects.toMatchObject({
            code: -32_003,
            message: expect.stringContaining('This client has no such task.'),
            data: { 'countersign/decision': { id: null, effect: 'deny' } },
          })
        expect(Object(await client.request('tasks/list')).tasks).toEqual([])
      }
      expect(seen.filter((one) => one !== 'tasks/list ')).toEqual([])
    },
  )

  it.each(['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update'])(
    'refuses %s with a second task id, which a server could read instead',
    async (method) => {
      const client = await connect(options())
      await client.request('tools/call', { name: 'allow', arguments: { id: 'a' } })
      for (const params of [{ taskId: 'a', TaskId: 'secret' }, { TASKID: 'a' }])
        await expect(client.request(method, params)).rejects.toMatchObject({ code: -32_602 })
      for (const params of [{ taskId: 'a', of: { x: 1, X: 2 } }])
        await expect(client.request(method, params)).rejects.toMatchObject({ code: -32_003 })
      const params = { taskId: 'a', inputResponses: { ask: { action: 'accept' } } }
      expect(await client.request(method, params)).toMatchObject({ taskId: 'a' })
      expect(seen).toEqual([`${method} a`])
    },
  )

  it('recognizes a client that has connected again, and nobody else by its task', async () => {
    const shared = options()
    const first = await connect(shared, caller('ada'))
    await first.request('tools/call', { name: 'allow', arguments: { id: 'a' } })
    await first.close()
    const [again, other, nobody] = [
      await connect(shared, caller('ada')),
      await connect(shared, caller('eve')),
      await connect(shared),
    ]
    expect(await again.request('tasks/result', { taskId: 'a' })).toMatchObject({ taskId: 'a' })
    for (const one of [other, nobody])
      await expect(one.request('tasks/result', { taskId: 'a' })).rejects.toMatchObject({ code: -32_003 })
  })

  it('opens tasks of others by their method in pass alone', async () => {
    const client = await connect(options({ pass: ['tasks/get', 'tasks/list'] }))
    await client.request('tasks/get', { taskId: 'secret' })
    await expect(client.request('tasks/result', { taskId: 'secret' })).rejects.toMatchObject({ code: -32_003 })
    expect(Object(await client.request('tasks/list')).tasks).toHaveLength(3)
  })
})

describe('by the proxy over HTTP', () => {
  const upstream = (hasSessions: boolean) =>
    serve((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        const { id, method, params } = JSON.parse(body || '{}')
        const isOpening = method === 'initialize'
        const headers = {
          'content-type': 'application/json',
          ...(isOpening && hasSessions && { 'mcp-session-id': crypto.randomUUID() }),
        }
        if (id === undefined) return response.writeHead(202).end()
        const result = isOpening
          ? { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} }
          : handle(method, params)
        response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      })
    })
  const ask = async (url: URL, method: string, params: object, headers: Record<string, string>) =>
    (await post(url, { jsonrpc: '2.0', id: 1, method, params }, { ...JSON_HEADERS, ...headers })).json()
  const call = { name: 'allow', arguments: { id: 'a' } }

  it('keeps the tasks of two sessions apart where nobody has a token', async () => {
    const { url } = await proxyOf(rig, (await upstream(true)).url, { gate: { map: MAP } })
    const [one, other] = [await openSession(url), await openSession(url)]
    await ask(url, 'tools/call', call, { 'mcp-session-id': one })
    const result = (session: string) => ask(url, 'tasks/result', { taskId: 'a' }, { 'mcp-session-id': session })
    expect(await result(one)).toMatchObject({ result: { taskId: 'a' } })
    expect(await result(other)).toMatchObject({ error: { code: -32_003 } })
  })

  it('knows the requests of one agent where the server has no sessions', async () => {
    const { url } = await proxyOf(rig, (await upstream(false)).url, { gate: { map: MAP }, forwardAuthorization: true })
    await ask(url, 'tools/call', call, { authorization: 'Bearer one' })
    const result = (token: string) => ask(url, 'tasks/result', { taskId: 'a' }, { authorization: token })
    expect(await result('Bearer one')).toMatchObject({ result: { taskId: 'a' } })
    expect(await result('Bearer other')).toMatchObject({ error: { code: -32_003 } })
  })
})

it('remembers a bounded number of tasks, and drops the oldest of the caller that has the most', () => {
  const tasks = new PermittedTasks()
  tasks.note('ada', 'first')
  for (let n = 0; n < 12_000; n += 1) tasks.note('eve', `task-${n}`)
  tasks.note('ada', 'x'.repeat(2_000))
  expect(tasks.has('ada', 'first')).toBe(true)
  expect(tasks.has('ada', 'x'.repeat(2_000))).toBe(false)
  expect([tasks.has('eve', 'task-0'), tasks.has('eve', 'task-2000'), tasks.has('eve', 'task-11999')]).toEqual([
    false,
    false,
    true,
  ])
})
