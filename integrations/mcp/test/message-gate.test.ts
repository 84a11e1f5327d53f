/** A gate of messages, between a client and a server that write them by hand. The numbers are those of the acceptance cases. */
import { type Relay, startRelay, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type GateOptions, toolGate } from '../src/gate-options.js'
import { definitionHash } from '../src/lists/tool-definitions.js'
import type { RequestMessage } from '../src/messages/json-rpc.js'
import { MessageGate } from '../src/messages/message-gate.js'
import { decisionOf, Rig, say } from './rig.js'
import type { CallResult } from './sdks.js'

const point = useDecisionPoint()
let rig: Rig
let relay: Relay
beforeAll(async () => {
  rig = await Rig.open(point())
  relay = await startRelay(point().url)
})
afterAll(() => relay.close())
beforeEach(() => {
  rig.events.length = 0
})

/** One that came out at the client's end: of the server, or the gate's own. */
interface Told {
  readonly id?: unknown
  readonly method?: string
  readonly result?: CallResult
  readonly error?: { readonly code: number; readonly message: string }
}

type Gate = MessageGate<string, string>
interface Both {
  readonly gate: Gate
  /** What came out at either end, in order. */
  readonly toServer: RequestMessage[]
  readonly toClient: Told[]
  /** `via` of each: of the client's message for what the gate itself answers, else of the server's. */
  readonly vias: string[]
  readonly dropped: string[]
  send(message: unknown, via?: string, signal?: AbortSignal): void
  receive(message: unknown, via?: string): Promise<void>
  /** Sends a call and resolves when it was forwarded. */
  call(id: string | number, name?: string): Promise<void>
}

function connection(change: Partial<GateOptions> = {}, options = rig.options(change)): Both {
  const [toServer, toClient, vias, dropped]: [RequestMessage[], Told[], string[], string[]] = [[], [], [], []]
  const tell = (message: object, via: string): void => {
    toClient.push(message as Told)
    vias.push(via)
  }
  const gate: Gate = new MessageGate(toolGate('gateTransport', options), {
    toServer: (message) => void toServer.push(message as RequestMessage),
    toClient: tell,
    answer: tell,
    answerServer: (message) => void toServer.push(message as never),
    dropped: (via) => void dropped.push(via),
  })
  return {
    gate,
    toServer,
    toClient,
    vias,
    dropped,
    send: (message, via = 'client', signal = undefined) => gate.fromClient(message, via, { signal }),
    receive: (message, via = 'server') => gate.fromServer(message, via),
    async call(id, name) {
      gate.fromClient(callOf(id, name), 'client')
      await until(() => toServer.some((message) => message.id === id))
    },
  }
}

const callOf = (id: unknown, name: unknown = 'allow', args: unknown = { n: 1 }) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})
const request = (id: unknown, method: string, params?: object) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params && { params }),
})
const notification = (method: string, params?: object) => ({ jsonrpc: '2.0', method, ...(params && { params }) })
const cancelled = (requestId: unknown) => notification('notifications/cancelled', { requestId })
const resultOf = (id: unknown, result: unknown = say('done')) => ({ jsonrpc: '2.0', id, result })
const errorOf = (id: unknown, code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } })
const until = (holds: () => boolean) => expect.poll(holds, { interval: 1, timeout: 5_000 }).toBe(true)

/** A tool of its own, whose calls reserve 1 of a budget each. */
async function budgeted(limit: number): Promise<{ change: Partial<GateOptions>; account: () => Promise<unknown> }> {
  const action = `t.${crypto.randomUUID().slice(0, 8)}`
  const budget = { limit, unit: 'calls', period: 'total', amount: 1 }
  const { id } = await rig.operator.makePolicy(action, 'allow', budget)
  return {
    change: { map: { pay: action } },
    account: async () => {
      await rig.client.flush()
      return rig.operator.account(id)
    },
  }
}

describe('a call', () => {
  it('is forwarded when it may run, and settled by its response', async () => {
    const { call, receive, toServer, toClient, vias } = connection()
    await call(1)
    expect(toServer).toEqual([callOf(1)])
    await receive(resultOf(1, { ...say('done'), structuredContent: { a: 1 }, _meta: { mine: 1 } }))
    const shown = { id: expect.stringMatching(/^dec_/), effect: 'allow' }
    expect(toClient).toEqual([
      resultOf(1, { ...say('done'), structuredContent: { a: 1 }, _meta: { mine: 1, 'countersign/decision': shown } }),
    ])
    expect(vias).toEqual(['server'])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('is answered where it came from when it may not', async () => {
    const { gate, send, toServer, toClient, vias } = connection()
    send(callOf('a', 'deny'), 'one')
    await gate.idle()
    send(callOf('b', 'constructor'), 'other')
    await gate.idle()
    expect(toServer).toEqual([])
    expect(toClient.map(({ id, result }) => [id, result?.isError])).toEqual([
      ['a', true],
      ['b', true],
    ])
    expect(vias).toEqual(['one', 'other'])
    expect(decisionOf(toClient[1]?.result as CallResult)).toEqual({ id: null, effect: 'deny', reason: 'unmapped' })
  })

  it('is refused by an error of the protocol, where the gate denies so', async () => {
    const { gate, send, toClient } = connection({ denyAs: 'error' })
    send(callOf(1, 'deny'))
    await gate.idle()
    expect(toClient).toMatchObject([
      { id: 1, error: { code: -32003, data: { 'countersign/decision': { effect: 'deny' } } } },
    ])
  })

  it('53: holds up nothing that comes after it', async () => {
    const { send, receive, toServer, toClient } = connection()
    const messages = [request(2, 'ping'), notification('notifications/roots/list_changed'), resultOf('s1', {})]
    send(callOf(1))
    for (const message of messages) send(message)
    expect(toServer).toEqual(messages)
    void receive(resultOf(2, {}))
    void receive(request(1, 'roots/list'))
    void receive(notification('notifications/message', { level: 'info' }))
    expect(toClient).toEqual([
      resultOf(2, {}),
      request(1, 'roots/list'),
      notification('notifications/message', { level: 'info' }),
    ])
    await until(() => toServer.length === 4)
  })

  it.each([
    ['-32601 of the server', errorOf(1, -32_601, 'Method not found'), { spent: 0, reserved: 0 }],
    ['a tool that nobody knows', errorOf(1, -32_602, 'Tool pay not found'), { spent: 0, reserved: 0 }],
    ['an error after which nobody knows', errorOf(1, -32_603, 'Internal error'), { spent: 0, reserved: 1 }],
    ['an error of time, in any language', errorOf(1, -32_001, 'Zeitüberschreitung'), { spent: 0, reserved: 1 }],
    ['an error without words', errorOf(1, -32_603, ' '), { spent: 0, reserved: 1 }],
    ['a result that says so', resultOf(1, { ...say('card declined'), isError: true }), { spent: 0, reserved: 0 }],
    ['a result', resultOf(1), { spent: 1, reserved: 0 }],
  ])('is settled by %s, which the client is told', async (_what, response, settled) => {
    const { change, account } = await budgeted(10)
    const { call, receive, toClient } = connection(change)
    await call(1, 'pay')
    await receive(response)
    expect(toClient).toMatchObject([response])
    expect(await account()).toEqual(settled)
  })

  it.each([
    ['a text', 'done'],
    ['a list', [say('done')]],
    ['null', null],
    ['a number', 1],
  ])('is left, and answered by an error, when the result is %s', async (_what, result) => {
    const { change, account } = await budgeted(10)
    const { call, receive, toClient } = connection(change)
    await call(1, 'pay')
    await receive(resultOf(1, result))
    expect(toClient).toMatchObject([{ id: 1, error: { code: -32_603 } }])
    expect(await account()).toEqual({ spent: 0, reserved: 1 })
  })

  it('41: as many run as the budget has room for', async () => {
    const { change, account } = await budgeted(30)
    const { gate, send, receive, toServer, toClient } = connection(change)
    for (let id = 0; id < 100; id += 1) send(callOf(id, 'pay'))
    await until(() => toServer.length + toClient.length === 100)
    expect(toServer).toHaveLength(30)
    await Promise.all(toServer.map(({ id }) => receive(resultOf(id))))
    await gate.idle()
    expect(new Set(toClient.map(({ id }) => id)).size).toBe(100)
    expect(await account()).toEqual({ spent: 30, reserved: 0 })
  })

  it('48: may be answered by ten megabytes', async () => {
    const { call, receive, toClient } = connection()
    await call(1)
    const text = 'x'.repeat(10_000_000)
    await receive(resultOf(1, say(text)))
    expect(toClient[0]?.result?.content[0]?.text === text).toBe(true)
  })
})

describe('what is no call as the protocol has it', () => {
  const dropped = (message: unknown) => {
    const { send, dropped: drops, toServer, toClient } = connection()
    send(message)
    expect([toServer, toClient, drops]).toEqual([[], [], ['client']])
  }
  const refused = (message: unknown, code: number, id: unknown) => {
    const { send, toServer, toClient, gate } = connection()
    send(message)
    expect(toServer).toEqual([])
    expect(toClient).toMatchObject([{ id, error: { code } }])
    expect(gate.isPending(id as number)).toBe(false)
  }

  it('44: a call without an id goes nowhere', () => {
    dropped(notification('tools/call', { name: 'allow', arguments: { n: 1 } }))
    dropped({ ...callOf(undefined) })
  })

  it.each([[null], [{}], [[1]], [true], [1.5], [2 ** 53], [Number.NaN]])('an id %j is refused', (id) => {
    refused(callOf(id), -32_600, null)
    refused(request(id, 'ping'), -32_600, null)
  })

  it.each([
    ['no params', request(1, 'tools/call')],
    ['params that are a list', { ...request(1, 'tools/call'), params: ['allow', {}] }],
    ['a name that is no text', callOf(1, ['allow'])],
    ['arguments that are a list', callOf(1, 'allow', [1])],
    ['arguments that are a text', callOf(1, 'allow', '{"n":1}')],
    ['arguments that are null', callOf(1, 'allow', null)],
    ['_meta that is a text', request(1, 'tools/call', { name: 'allow', _meta: 'x' })],
    ['another Name', request(1, 'tools/call', { name: 'allow', Name: 'deny' })],
    ['another argumentſ', request(1, 'tools/call', { name: 'allow', arguments: {}, argumentſ: { n: 2 } })],
    ['a second taſk', request(1, 'tools/call', { name: 'allow', task: {}, taſk: {} })],
    [
      'a name by its prototype',
      JSON.parse('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"allow"}}}'),
    ],
  ])('%s is refused', (_what, message) => refused(message, -32_602, 1))

  it.each([['Tools/Call'], ['tools/call '], ['tools/call\0x'], ['ｔools/call'], ['tools\u200b/call'], ['TOOLS/LIST']])(
    'the method %j is not known',
    (method) => {
      refused(request(1, method, { name: 'allow' }), -32_601, 1)
      dropped(notification(method, { name: 'allow' }))
    },
  )

  it.each([
    ['no version', { id: 1, method: 'ping' }],
    ['another version', { jsonrpc: '1.0', id: 1, method: 'ping' }],
    ['a method that is no text', { jsonrpc: '2.0', id: 1, method: ['tools/call'] }],
    ['neither a method nor a response', { jsonrpc: '2.0', id: 1 }],
    ['both a result and an error', { jsonrpc: '2.0', id: 1, result: {}, error: { code: 1, message: '' } }],
  ])('%s is refused', (_what, message) => refused(message, -32_600, 1))

  it.each([['text'], [null], [1], [undefined]])('%j is refused', (message) => refused(message, -32_600, null))

  it('a call in the disguise of a response is a call', async () => {
    const { gate, send, toServer, toClient } = connection()
    send({ ...callOf(1, 'deny'), result: {} })
    await gate.idle()
    expect(toServer).toEqual([])
    expect(toClient).toMatchObject([{ id: 1, result: { isError: true } }])
  })

  it('forwards only what the protocol knows of a message: others may read more into it', () => {
    const { send, toServer } = connection()
    send(
      JSON.parse(
        '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","__proto__":{"method":"x"},"method":"p\\u0069ng"}',
      ),
    )
    expect(toServer).toEqual([request(1, 'ping')])
    expect(JSON.stringify(toServer)).not.toContain('tools/call')
  })

  it('reads a method as JSON does, escapes and repeated members included', async () => {
    const { gate, send, toServer, toClient } = connection()
    send(
      JSON.parse(
        '{"jsonrpc":"2.0","method":"ping","id":1,"params":{"name":"allow","name":"d\\u0065ny"},"method":"tools\\/c\\u0061ll"}',
      ),
    )
    await gate.idle()
    expect(toServer).toEqual([])
    expect(toClient).toMatchObject([{ id: 1, result: { isError: true } }])
  })

  it.each([
    ['a member __proto__', JSON.parse('{"n":1,"__proto__":{"n":2}}')],
    ['a member that differs in case alone', { n: 1, N: 2 }],
    ['one within another', { n: 1, to: [{ path: 'a', Path: 'b' }] }],
    ['a member with a NUL', { n: 1, 'n\0': 2 }],
    ['a depth that no stack has', JSON.parse(`{"n":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)],
  ])('arguments with %s are denied', async (_what, args) => {
    const { gate, send, toServer, toClient } = connection()
    send(callOf(1, 'allow', args))
    await gate.idle()
    expect(toServer).toEqual([])
    expect(decisionOf(toClient[0]?.result as CallResult)).toMatchObject({ reason: 'arguments_refused' })
  })

  it('46: an id that is pending is refused, whatever it asks; the first one goes on', async () => {
    const { send, receive, toServer, toClient } = connection()
    send(callOf(1))
    send(callOf(1), 'second')
    send(request(1, 'ping'), 'third')
    await until(() => toServer.length === 1)
    send(callOf(1), 'fourth')
    expect(toClient.map(({ error }) => error?.code)).toEqual([-32_600, -32_600, -32_600])
    await receive(resultOf(1))
    expect(toServer).toHaveLength(1)
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('46: an id that was given up or answered before is another one for the server, so that no late response settles a call', async () => {
    const { gate, call, send, receive, toServer, toClient } = connection({ pass: ['resources/read'] })
    send(request(5, 'resources/read', { uri: 'slow:' }))
    send(cancelled(5))
    send(callOf(5))
    await until(() => toServer.length === 3)
    const { id } = toServer[2]!
    await receive(errorOf(5, -32_000, 'no such resource'))
    expect([gate.isPending(5), gate.isPending(id)]).toEqual([false, true])
    await gate.failed(5, new TypeError('the first one was refused'))
    send(request(id, 'ping'))
    for (const one of [id, 5]) send(cancelled(one))
    expect(toServer.slice(2)).toEqual([{ ...callOf(5), id }, cancelled(id)])
    await receive(resultOf(id))
    await receive(resultOf(id, say('once more')))
    await call(6)
    expect(toServer.at(-1)).toEqual(callOf(6))
    await receive(resultOf(6))
    expect(toClient).toMatchObject([{ id, error: { code: -32_600 } }, resultOf(6)])
    expect(await rig.statuses()).toEqual(['confirmed', 'confirmed'])
  })

  it('a text and a number are two ids', async () => {
    const { call, receive, toClient } = connection()
    await call(1)
    await call('1')
    await receive(resultOf('1', say('text')))
    await receive(resultOf(1, say('number')))
    expect(toClient).toMatchObject([resultOf('1', say('text')), resultOf(1, say('number'))])
  })

  it('45: each message of a batch is gated by itself', async () => {
    const { send, toServer, toClient, dropped: drops } = connection()
    const call = { name: 'allow', arguments: { n: 1 } }
    send([request(1, 'ping'), callOf(2, 'deny'), callOf(3), notification('tools/call', call), callOf(3), null])
    await until(() => toServer.length === 2 && toClient.length === 3)
    expect(toServer.map(({ id }) => id)).toEqual([1, 3])
    expect(toClient.map(({ id, error }) => [id, error?.code])).toEqual([
      [3, -32_600],
      [null, -32_600],
      [2, undefined],
    ])
    expect(drops).toEqual(['client'])
  })

  it.each([
    ['nothing', []],
    ['batches', [[callOf(1)]]],
    ['more than a hundred', Array.from({ length: 101 }, (_, id) => callOf(id))],
  ])('45: a batch of %s is refused', (_what, batch) => refused(batch, -32_600, null))
})

describe('cancelling', () => {
  it('20: before it was asked about, keeps a call from running', async () => {
    const { gate, send, toServer, toClient, dropped } = connection()
    send(callOf(1))
    send(cancelled(1))
    send(cancelled(1))
    await gate.idle()
    expect([toServer, toClient]).toEqual([[], []])
    expect(dropped).toEqual(['client', 'client', 'client'])
  })

  it.each([
    ['20: by a message', (send: Both['send'], _leave: () => void) => send(cancelled(1))],
    ['20, 22: by leaving', (_send: Both['send'], leave: () => void) => leave()],
  ])('%s, while it is being asked about, keeps it from running', async (_what, cancel) => {
    const client = rig.newClient({ baseUrl: relay.url })
    const { gate, send, toServer, toClient, dropped } = connection({ client })
    const gone = new AbortController()
    const answer = relay.hold('ask')
    send(callOf(1), 'call', gone.signal)
    await answer.arrived
    cancel(send, () => gone.abort())
    answer.release()
    await gate.idle()
    relay.heal()
    expect([toServer, toClient]).toEqual([[], []])
    expect(dropped).toContain('call')
    await until(() => relay.calls.at(-1) === 'reject')
    const { id } = relay.decisions.at(-1) ?? { id: '' }
    await expect.poll(async () => (await rig.operator.decision(id)).status).toBe('rejected')
  })

  it('20: a call of somebody who has left already is asked about by nobody', async () => {
    const { gate, send, toServer, dropped } = connection()
    send(callOf(1), 'client', AbortSignal.abort())
    await gate.idle()
    expect([toServer, dropped]).toEqual([[], ['client']])
  })

  it('21: reaches the server once it runs, and the call is settled by how it ends', async () => {
    const { call, send, receive, toServer } = connection()
    await call(1)
    send(cancelled(1))
    expect(toServer.at(-1)).toEqual(cancelled(1))
    await receive(resultOf(1))
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('21: who leaves does not end what runs', async () => {
    const { gate, send, receive, toServer, toClient } = connection()
    const gone = new AbortController()
    send(callOf(1), 'client', gone.signal)
    await until(() => toServer.length === 1)
    gone.abort()
    expect(gate.isPending(1)).toBe(true)
    await receive(resultOf(1, { ...say('card declined'), isError: true }))
    expect(toClient).toHaveLength(1)
    expect(await rig.statuses()).toEqual(['rejected'])
  })

  it('is answered nothing, whatever the server answers', async () => {
    const { gate, call, send, receive, toServer, toClient, dropped } = connection()
    await call(1)
    for (const id of [2, 3, 4]) send(request(id, 'ping'))
    for (const id of [1, 2, 3]) send(cancelled(id))
    await receive(resultOf(1))
    await receive(resultOf(2, {}))
    await receive(errorOf(3, -32_800, 'cancelled'))
    await receive(resultOf(4, {}))
    send(request(2, 'ping'))
    await receive(resultOf(2, { again: true }))
    await gate.idle()
    expect(toClient).toEqual([resultOf(4, {}), resultOf(2, { again: true })])
    expect(dropped).toEqual(['client'])
    expect(toServer.slice(4, 7)).toEqual([cancelled(1), cancelled(2), cancelled(3)])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('is answered nothing when the server ends', async () => {
    const { gate, call, send, toClient } = connection()
    await call(1)
    send(cancelled(1))
    await gate.close('done')
    expect(toClient).toEqual([])
    expect(await rig.statuses()).toEqual(['authorized'])
  })

  it('21: an error after that leaves what may have happened', async () => {
    const { change, account } = await budgeted(10)
    const { call, send, receive } = connection(change)
    await call(1, 'pay')
    send(cancelled(1))
    await receive(errorOf(1, -32_000, 'stopped'))
    expect(await account()).toEqual({ spent: 0, reserved: 1 })
  })

  it('of another id, or of what is no id, changes nothing', async () => {
    const { call, send, receive, toServer } = connection()
    await call(1)
    for (const id of ['1', 2, null, { a: 1 }]) send(cancelled(id))
    expect(toServer.slice(1)).toEqual([cancelled('1'), cancelled(2), cancelled(null), cancelled({ a: 1 })])
    await receive(errorOf(1, -32_000, 'card declined'))
    expect(await rig.statuses()).toEqual(['rejected'])
  })

  it('leaves no trace when servers do not answer: a hundred are waited for, the oldest is left', async () => {
    const { change, account } = await budgeted(1_000)
    const { gate, send, toServer } = connection(change)
    for (let id = 0; id < 101; id += 1) send(callOf(id, 'pay'))
    await until(() => toServer.length === 101)
    for (let id = 0; id < 101; id += 1) send(cancelled(id))
    await until(() => !gate.isPending(0))
    expect(gate.isPending(1)).toBe(true)
    await gate.close('done')
    await gate.idle()
    expect(await account()).toEqual({ spent: 0, reserved: 101 })
  })
})

describe('a server', () => {
  it('answers nothing that it was not given', async () => {
    const { send, receive, toServer, toClient } = connection()
    send(callOf(1))
    await receive(resultOf(1, say('forged')))
    expect(toClient).toEqual([])
    await until(() => toServer.length === 1)
    await receive(resultOf(1))
    expect(toClient).toMatchObject([resultOf(1)])
  })

  it('answers once', async () => {
    const { call, receive, toClient, vias } = connection()
    await call(1)
    await Promise.all([receive(resultOf(1), 'first'), receive(errorOf(1, -32_602, 'it did not run'), 'second')])
    expect(toClient).toMatchObject([resultOf(1)])
    expect(vias).toEqual(['first'])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('has ids of its own for what it asks the client', async () => {
    const { call, send, receive, toServer, toClient } = connection()
    await call(1)
    await receive(request(1, 'sampling/createMessage'))
    send(resultOf(1, { role: 'assistant' }))
    expect(toClient).toEqual([request(1, 'sampling/createMessage')])
    expect(toServer.at(-1)).toEqual(resultOf(1, { role: 'assistant' }))
    await receive(resultOf(1))
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('is heard in batches, and in nothing but messages', async () => {
    const { call, receive, toClient } = connection()
    await call(1)
    await receive([resultOf(1), notification('notifications/message'), [resultOf(1)], 'x', { id: 1, result: {} }])
    expect(toClient.map(({ id, method }) => id ?? method).sort()).toEqual([1, 'notifications/message'])
  })

  it('may tell that it could not read a message', async () => {
    const { receive, toClient } = connection()
    await receive(errorOf(null, -32_700, 'Parse error'))
    await receive({ jsonrpc: '2.0', error: { code: -32_700, message: 'Parse error' } })
    expect(toClient).toHaveLength(2)
  })

  it.each([
    [
      'was not there',
      Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' }),
      0,
    ],
    ['has cut the line', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' }), 1],
  ])('that %s settles a call by the error', async (_what, error, reserved) => {
    const { change, account } = await budgeted(10)
    const { gate, call, send, toClient } = connection(change)
    await call(1, 'pay')
    send(request(2, 'ping'), 'ping')
    await Promise.all([gate.failed(1, error), gate.failed(2, error), gate.failed(3, error), gate.failed('1', error)])
    expect(toClient).toMatchObject([
      { id: 2, error: { code: -32_603 } },
      { id: 1, error: { code: -32_603 } },
    ])
    expect(await account()).toEqual({ spent: 0, reserved })
  })

  it('49: that is gone leaves what it was given; the rest never runs', async () => {
    const { change, account } = await budgeted(10)
    const { gate, call, send, toServer, toClient } = connection(change)
    await call(1, 'pay')
    send(request(2, 'ping'))
    send(callOf(3, 'pay'))
    await gate.close('it crashed')
    send(callOf(4, 'pay'))
    send(request(5, 'ping'))
    expect(toServer.map(({ id }) => id)).toEqual([1, 2])
    expect(toClient.map(({ id, error }) => [id, error?.code]).sort()).toEqual(
      [1, 2, 3, 4, 5].map((id) => [id, -32_000]),
    )
    expect(await account()).toEqual({ spent: 0, reserved: 1 })
  })

  it('that cannot be written to fails what was written', async () => {
    const { change, account } = await budgeted(10)
    const toClient: Told[] = []
    const gate: Gate = new MessageGate(toolGate('gateTransport', rig.options(change)), {
      toServer: (message) => {
        if ('id' in message && message.id === 1) throw new Error('it cannot be sent')
        return Promise.reject(Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' }))
      },
      toClient: () => undefined,
      answerServer: () => undefined,
      answer: (message) => void toClient.push(message as Told),
    })
    gate.fromClient(callOf(1, 'pay'), '')
    gate.fromClient(callOf(2, 'pay'), '')
    gate.fromClient(notification('notifications/initialized'), '')
    await gate.idle()
    expect(toClient.map(({ id, error }) => [id, error?.code]).sort()).toEqual([1, 2].map((id) => [id, -32_603]))
    expect(await account()).toEqual({ spent: 0, reserved: 1 })
  })

  it('is settled with though the client cannot be told', async () => {
    const toClient: Told[] = []
    const gate: Gate = new MessageGate(toolGate('gateTransport', rig.options()), {
      toServer: (message) => void gate.fromServer(resultOf((message as RequestMessage).id), '').catch(() => undefined),
      toClient: () => Promise.reject(new RangeError('it is nested too deeply')),
      answerServer: () => undefined,
      answer: (message) => {
        toClient.push(message as Told)
        return Promise.reject(new Error('gone'))
      },
    })
    gate.fromClient(callOf(1), '')
    await gate.idle()
    expect(toClient).toMatchObject([{ id: 1, error: { code: -32_603 } }])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })
})

it('holds no more than ten thousand requests', async () => {
  const { gate, send, toServer, toClient } = connection()
  for (let id = 0; id < 10_001; id += 1) send(request(id, 'ping'))
  expect(toServer).toHaveLength(10_000)
  expect(toClient).toMatchObject([{ id: 10_000, error: { code: -32_600 } }])
  await gate.close('done')
  expect(toClient).toHaveLength(10_001)
})

describe('tasks', () => {
  const task = (id: unknown, taskId: string) => resultOf(id, { task: { taskId, status: 'working' } })
  const status = (taskId: string, said: string) =>
    notification('notifications/tasks/status', { taskId, status: said, statusMessage: 'card declined' })

  const fetch = (both: Both, response: object = resultOf(2)) => {
    both.send(request(2, 'tasks/result', { taskId: 't' }))
    return both.receive({ ...response, id: both.toServer.at(-1)?.id })
  }
  const asked = (both: Both, method: string, said: string) => {
    both.send(request(2, method, { taskId: 't' }))
    return both.receive(resultOf(2, { taskId: 't', status: said, statusMessage: 'card declined' }))
  }
  const [REJECTED, CONFIRMED] = [
    { spent: 0, reserved: 0 },
    { spent: 1, reserved: 0 },
  ]

  it.each<[string, (both: Both) => Promise<void>, object]>([
    ['is told right after it', (both) => both.receive(status('t', 'failed')), REJECTED],
    ['is looked at', (both) => asked(both, 'tasks/get', 'failed'), REJECTED],
    ['is fetched', fetch, CONFIRMED],
    [
      'is fetched after the end of another task',
      (both) => both.receive(status('u', 'failed')).then(() => fetch(both)),
      CONFIRMED,
    ],
    [
      'is fetched after the client has told one',
      (both) => {
        both.send(status('t', 'failed'))
        return fetch(both)
      },
      CONFIRMED,
    ],
    [
      'is fetched once more',
      (both) => fetch(both, errorOf(2, -32_602, 'card declined')).then(() => fetch(both)),
      CONFIRMED,
    ],
  ])('32, 33: a call that one answers is settled when its end %s', async (_how, end, settled) => {
    const { change, account } = await budgeted(10)
    const both = connection(change)
    await both.call(1, 'pay')
    const answered = both.receive(task(1, 't'))
    await end(both)
    await answered
    expect(both.toClient).toMatchObject(expect.arrayContaining([expect.objectContaining({ id: 1 })]))
    expect(both.gate.isPending(1)).toBe(false)
    await expect.poll(account).toEqual(settled)
  })

  it('34: another connection knows nothing of it', async () => {
    const { change, account } = await budgeted(10)
    const options = rig.options(change)
    const [one, other] = [connection(change, options), connection(change, options)]
    await one.call(1, 'pay')
    await one.receive(task(1, 't'))
    await other.receive(status('t', 'failed'))
    await fetch(one)
    await expect.poll(account).toEqual(CONFIRMED)
  })
})

describe('definitions and lists', () => {
  const allow = { name: 'allow', description: 'does it', inputSchema: { type: 'object' } }
  const deny = { name: 'deny', inputSchema: { type: 'object' } }
  const definitions = { allow: definitionHash(allow) }

  it('29: asks the server itself what a tool is, for nobody else', async () => {
    const { gate, send, receive, toServer, toClient } = connection({ definitions })
    const version = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    send(request(1, 'tools/call', { name: 'allow', arguments: { n: 1 }, _meta: { ...version, progressToken: 1 } }))
    await until(() => toServer.length === 1)
    const [list] = toServer as [RequestMessage]
    expect(list).toEqual(request(expect.any(String), 'tools/list', { _meta: version }))
    expect([gate.isOwn(list), gate.isPending(list.id)]).toEqual([true, true])
    send(cancelled(list.id))
    send(request(list.id, 'ping'))
    expect(toClient).toMatchObject([{ id: list.id, error: { code: -32_600 } }])
    await receive(resultOf(list.id, { tools: [allow] }))
    await receive(resultOf(list.id, { tools: [deny] }))
    await until(() => toServer.length === 2)
    expect(toServer[1]).toMatchObject({ id: 1, method: 'tools/call' })
    expect(toClient).toHaveLength(1)
  })

  it.each([
    ['has changed', (id: unknown) => resultOf(id, { tools: [{ ...allow, description: 'does worse' }] })],
    ['is not shown', (id: unknown) => resultOf(id, { tools: [] })],
    ['nobody can tell of', (id: unknown) => errorOf(id, -32_601, 'Method not found')],
  ])('a tool that %s does not run', async (_what, answer) => {
    const { gate, send, receive, toServer, toClient } = connection({ definitions })
    send(callOf(1))
    await until(() => toServer.length === 1)
    await receive(answer(toServer[0]?.id))
    await gate.idle()
    expect(toServer).toHaveLength(1)
    expect(decisionOf(toClient[0]?.result as CallResult)).toMatchObject({ reason: 'unmapped' })
  })

  it('a look-up that the connection ends is a denial, and no answer of the gate to nobody', async () => {
    const { gate, send, toServer, toClient } = connection({ definitions })
    send(callOf(1))
    await until(() => toServer.length === 1)
    await gate.close('it crashed')
    await gate.idle()
    expect(decisionOf(toClient[0]?.result as CallResult)).toMatchObject({ reason: 'unmapped' })
    expect(toClient).toHaveLength(1)
  })

  it('shows the client no tool that may never run, in the order of the server', async () => {
    const { send, receive, toClient } = connection({ list: 'hide', client: rig.newClient({ agentId: rig.agentId }) })
    for (const id of [1, 2, 3]) send(request(id, 'tools/list', { cursor: `${id}` }))
    const first = { tools: [allow, { name: 'nothing of the map' }], nextCursor: 'c' }
    // Of the second one nobody has to ask anything.
    await Promise.all([receive(resultOf(2, first)), receive(resultOf(1, { tools: [] }))])
    await receive(errorOf(3, -32_603, 'no list'))
    await receive(resultOf(1, { tools: [{ name: 'nothing of the map' }] }))
    expect(toClient).toMatchObject([
      resultOf(2, { tools: [allow], nextCursor: 'c' }),
      resultOf(1, { tools: [] }),
      errorOf(3, -32_603, 'no list'),
      resultOf(1, { tools: [] }),
    ])
  })

  it('looks again when the server says that its list has changed', async () => {
    const { call, send, receive, toServer } = connection({ definitions })
    send(request(1, 'tools/list'))
    await receive(resultOf(1, { tools: [allow] }))
    await call(2)
    expect(toServer.map(({ method }) => method)).toEqual(['tools/list', 'tools/call'])
    await receive(notification('notifications/tools/list_changed'))
    send(callOf(3))
    await until(() => toServer.length === 3)
    expect(toServer[2]?.method).toBe('tools/list')
  })

  it('in front of another gate each looks and asks for itself', async () => {
    const [front, back] = [connection({ definitions }), connection({ definitions })]
    const pump = (): void => {
      for (const message of front.toServer.splice(0)) back.send(message)
      for (const message of back.toServer.splice(0)) {
        const { id, method } = message
        void back.receive(method === 'tools/list' ? resultOf(id, { tools: [allow] }) : resultOf(id, say('ran')))
      }
      for (const message of back.toClient.splice(0)) void front.receive(message)
    }
    front.send(callOf(1))
    await until(() => {
      pump()
      return front.toClient.length > 0
    })
    expect(front.toClient).toMatchObject([resultOf(1, say('ran'))])
    expect(await rig.statuses()).toEqual(['confirmed', 'confirmed'])
  })
})
