/** A gate of messages, with a client and a server that write them by hand. The numbers are those of the acceptance cases. */
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { toolGate } from '../src/gate-options.js'
import type { JsonRpcMessage, RequestMessage } from '../src/json-rpc.js'
import { MessageGate } from '../src/message-gate.js'
import { Rig, say } from './rig.js'

const point = useDecisionPoint()
let rig: Rig
beforeAll(async () => {
  rig = await Rig.open(point())
})
beforeEach(() => {
  rig.events.length = 0
})

/** What came out at both ends, in order. */
function connection(change = {}) {
  const toServer: RequestMessage[] = []
  const toClient: Record<string, unknown>[] = []
  let dropped = 0
  const gate = new MessageGate<undefined, undefined>(toolGate('gateTransport', rig.options(change)), {
    toServer: (message) => void toServer.push(message as RequestMessage),
    toClient: (message) => void toClient.push({ ...message }),
    answer: (message) => void toClient.push({ ...message }),
    dropped: () => {
      dropped += 1
    },
  })
  return {
    gate,
    toServer,
    toClient,
    dropped: () => dropped,
    send: (message: unknown) => gate.fromClient(message, undefined),
    receive: (message: unknown) => gate.fromServer(message, undefined),
  }
}

const call = (id: unknown, name: unknown = 'allow', args: unknown = { n: 1 }) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})
const result = (id: unknown, value: unknown = say('done')) => ({ jsonrpc: '2.0', id, result: value })
const until = (holds: () => boolean) => expect.poll(holds, { interval: 1, timeout: 5_000 }).toBe(true)

describe('a call', () => {
  it('is forwarded when it may run, and settled by its response', async () => {
    const { send, receive, toServer, toClient } = connection()
    send(call(1))
    await until(() => toServer.length === 1)
    expect(toServer).toEqual([call(1)])
    await receive(result(1))
    expect(toClient).toEqual([
      {
        ...result(1),
        result: { ...say('done'), _meta: { 'countersign/decision': expect.objectContaining({ effect: 'allow' }) } },
      },
    ])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('is answered by the gate when it may not', async () => {
    const { send, toServer, toClient } = connection()
    send(call('a', 'deny'))
    send(call('b', 'nothing of the map'))
    await until(() => toClient.length === 2)
    expect(toServer).toEqual([])
    expect(toClient.map(({ result: given }) => given)).toEqual([
      expect.objectContaining({ isError: true }),
      expect.objectContaining({ isError: true }),
    ])
  })

  it('53: does not hold up what comes after it', async () => {
    const { send, toServer } = connection()
    const ping: JsonRpcMessage = { jsonrpc: '2.0', id: 2, method: 'ping' }
    send(call(1))
    send(ping)
    expect(toServer).toEqual([ping])
    await until(() => toServer.length === 2)
  })
})
