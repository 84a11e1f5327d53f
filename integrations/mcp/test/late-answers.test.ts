/** What a hostile server gets by answers that come late, twice, or by the ids of others, also after more requests than are remembered. */
import { describe, expect, it } from 'vitest'
import { type GateOptions, toolGate } from '../src/gate-options.js'
import { MessageGate } from '../src/messages/message-gate.js'
import { callMessage } from './http-rig.js'
import { say, useRig } from './rig.js'

const rig = useRig()

type Message = Readonly<Record<string, unknown>>

const jsonrpc = '2.0'
const answer = (id: unknown, result: object): Message => ({ jsonrpc, id, result })
const until = (holds: () => boolean) => expect.poll(holds, { interval: 1, timeout: 5_000 }).toBe(true)

function connection(change: Partial<GateOptions> = {}) {
  const [toServer, toClient]: [Message[], Message[]] = [[], []]
  const tell = (message: object): void => void toClient.push({ ...message })
  const gate = new MessageGate<string, string>(toolGate('gateTransport', rig().options(change)), {
    toServer: (message) => void toServer.push({ ...message }),
    toClient: tell,
    answer: tell,
    answerServer: () => undefined,
  })
  return {
    toServer,
    toClient,
    send: (message: object) => gate.fromClient(message, 'client'),
    receive: (message: object) => gate.fromServer(message, 'server'),
    /** Asks, and is answered. */
    async exchange(id: unknown, method = 'ping', result: object = {}): Promise<void> {
      gate.fromClient({ jsonrpc, id, method }, 'client')
      await gate.fromServer(answer(id, result), 'server')
    },
    /** Sends a call, and gives the id by which the server has it. */
    async call(id: unknown, name = 'allow'): Promise<unknown> {
      const count = toServer.length
      gate.fromClient(callMessage(id, name), 'client')
      await until(() => toServer.length > count)
      return toServer.at(-1)?.id
    },
  }
}

describe.each([
  ['a few requests', 0],
  ['more requests than are remembered', 1_100],
])('after %s', (_name, count) => {
  const afterMany = async (id: (index: number) => unknown, change: Partial<GateOptions> = {}) => {
    const all = connection(change)
    for (let index = 0; index < count; index += 1) await all.exchange(id(index))
    return all
  }

  it('a call that awaits its decision is answered by nobody but the gate', async () => {
    const { send, receive, toClient } = await afterMany((index) => index)
    toClient.length = 0
    send(callMessage(5_000, 'deny'))
    await receive(answer(5_000, say('not permitted')))
    await until(() => toClient.length === 1)
    expect(toClient).toMatchObject([{ id: 5_000, result: { isError: true } }])
    expect(JSON.stringify(toClient)).not.toContain('not permitted')
  })

  it('answers by ids that the client has not asked by reach nobody', async () => {
    const { receive, toClient } = await afterMany((index) => (index % 2 === 0 ? index * 2 : `id ${index}`))
    toClient.length = 0
    for (const id of [-1, 3, 1_001, 99_999, 'other', 'x'.repeat(65)]) await receive(answer(id, say('unasked')))
    expect(toClient).toEqual([])
  })

  it('a list of tasks shows no tasks of others, and a result asks nothing that is closed, when it comes once more', async () => {
    const { exchange, receive, toClient } = await afterMany((index) => index, { pass: ['roots/list'] })
    const tasks = { tasks: [{ taskId: 'of another client' }], Tasks: [{ taskId: 'of another client' }] }
    await exchange(5_000, 'tasks/list', tasks)
    await receive(answer(5_000, tasks))
    const inputRequests = { ask: { method: 'sampling/createMessage', params: {} } }
    await receive(answer(5_000, { resultType: 'input_required', inputRequests }))
    const [first, second, third] = toClient.slice(-3)
    expect([first, second]).toEqual([answer(5_000, { tasks: [] }), answer(5_000, { tasks: [] })])
    expect(third).toMatchObject({ id: 5_000, error: { code: -32_003 } })
  })
})

describe('while an id is in use again, an answer by it that the server gives once more reaches nobody', () => {
  it('of a call that awaits its decision', async () => {
    const { exchange, send, receive, toClient } = connection()
    await exchange(7)
    toClient.length = 0
    send(callMessage(7, 'deny'))
    await receive(answer(7, say('of the earlier request')))
    await until(() => toClient.length === 1)
    expect(toClient).toMatchObject([{ id: 7, result: { isError: true } }])
  })

  it('of a call that the server has got', async () => {
    const { exchange, call, receive, toClient } = connection()
    await exchange(7)
    const sentId = await call(7)
    toClient.length = 0
    await receive(answer(7, say('of the earlier request')))
    expect(toClient).toEqual([])
    await receive(answer(sentId, say('of the call')))
    expect(toClient).toMatchObject([{ id: 7, result: say('of the call') }])
    expect(await rig().statuses()).toEqual(['confirmed'])
  })

  it('of a subscription that awaits its decision', async () => {
    const { exchange, send, receive, toClient } = connection({ others: 'map' })
    await exchange(7)
    toClient.length = 0
    const notifications = { resourceSubscriptions: ['hr://salary'] }
    send({ jsonrpc, id: 7, method: 'subscriptions/listen', params: { notifications } })
    await receive(answer(7, {}))
    await until(() => toClient.length === 1)
    expect(toClient).toMatchObject([{ id: 7, error: { code: -32_003 } }])
  })
})

it('the answer to a call that was cancelled reaches nobody, however many were', async () => {
  const { call, send, receive, toClient } = connection()
  const ids = Array.from({ length: 102 }, (_, index) => index)
  for (const id of ids) {
    await call(id)
    send({ jsonrpc, method: 'notifications/cancelled', params: { requestId: id } })
  }
  for (const id of ids) await receive(answer(id, say('late')))
  expect(toClient).toEqual([])
})
