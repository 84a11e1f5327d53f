/** Transports of both majors behind a gate. The numbers are those of the acceptance cases. */

import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { gateTransport } from '../src/gate-transport.js'
import { currentRun } from '../src/gated-tool-call.js'
import { decisionOf, Rig, say, withTools } from './rig.js'
import {
  type ClientSettings,
  type ConnectedClient,
  type HighLevelServer,
  type LowLevelServer,
  SDKS,
  type Sdk,
} from './sdks.js'

const point = useDecisionPoint()
let rig: Rig
let runs: string[]
const open: ConnectedClient[] = []
beforeAll(async () => {
  rig = await Rig.open(point())
})
beforeEach(() => {
  rig.events.length = 0
  runs = []
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()))
})

const connect = async (
  sdk: Sdk,
  server: HighLevelServer | LowLevelServer,
  options = rig.options(),
  settings: ClientSettings = {},
) => {
  const client = await sdk.connect(server, {
    around: (transport) => gateTransport(transport as never, options) as never,
    ...settings,
  })
  open.push(client)
  return client
}

describe.each(SDKS)('$name', (sdk) => {
  it('1: runs what may run, once, and answers the rest', async () => {
    const client = await connect(sdk, withTools(sdk.mcpServer(), runs))
    const allowed = await client.call('allow', { n: 1 })
    const denied = await client.call('deny', { n: 1 })
    const pending = await client.call('review', { n: 1 })
    await client.call('log', { n: 1 })
    expect(runs).toEqual(['allow 1', 'log 1'])
    expect(allowed).toMatchObject(say('did 1'))
    expect(decisionOf(allowed)).toEqual({ id: expect.stringMatching(/^dec_/), effect: 'allow' })
    expect(denied).toMatchObject({ isError: true })
    expect(pending).toMatchObject({ isError: true })
    expect(await rig.statuses()).toEqual(['confirmed', 'denied', 'awaiting_review', 'confirmed'])
  })

  it('10: denies whatever handler the server has', async () => {
    const server = sdk.lowLevelServer({ capabilities: { tools: {} } })
    const client = await connect(sdk, server)
    sdk.setHandler(server, 'tools/call', () => {
      runs.push('replaced')
      return say('did it')
    })
    expect(await client.call('deny', { n: 1 })).toMatchObject({ isError: true })
    server.fallbackRequestHandler = () => {
      runs.push('fallback')
      return say('did it')
    }
    server.removeRequestHandler('tools/call')
    expect(await client.call('deny', { n: 1 })).toMatchObject({ isError: true })
    expect(runs).toEqual([])
  })

  it('gates a transport that is connected already', async () => {
    let raw: never | undefined
    const settings: ClientSettings = { around: (transport) => (raw = transport as never) }
    const client = await connect(sdk, withTools(sdk.mcpServer(), runs), rig.options(), settings)
    gateTransport(raw as never, rig.options())
    expect(await client.call('deny', { n: 1 })).toMatchObject({ isError: true })
    expect(await client.call('allow', { n: 1 })).toMatchObject(say('did 1'))
    expect(runs).toEqual(['allow 1'])
  })

  it('shares one decision with a gate of the server', async () => {
    const options = rig.options()
    const server = rig.gate(withTools(sdk.mcpServer(), runs, () => say(currentRun()?.decision?.id ?? 'none')))
    const client = await connect(sdk, server, options)
    const allowed = await client.call('allow', { n: 1 })
    expect(allowed).toMatchObject(say((decisionOf(allowed) as { id: string }).id))
    expect(runs).toEqual(['allow 1'])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })

  it('36: asks as who calls, message by message', async () => {
    let clientId = `agent:${crypto.randomUUID()}`
    const options = rig.options({ client: rig.newClient({ agentId: undefined }) })
    const client = await connect(sdk, withTools(sdk.mcpServer(), runs), options, {
      caller: () => ({ clientId, token: 't', scopes: [] }),
    })
    const agents = [clientId]
    await client.call('allow', { n: 1 })
    clientId = `agent:${crypto.randomUUID()}`
    agents.push(clientId)
    await client.call('allow', { n: 1 })
    const asked = rig.decisionIds()
    const decisions = await Promise.all(asked.map((id) => rig.operator.decision(id)))
    expect(decisions.map(({ agent_id }) => agent_id)).toEqual(agents)
  })
})

it('takes what is given once, and nothing that is no transport', () => {
  const options = rig.options()
  const [transport] = InMemoryTransport.createLinkedPair()
  expect(gateTransport(gateTransport(transport, options), options)).toBe(transport)
  expect(() => gateTransport(transport, rig.options())).toThrow('other options')
  expect(() => gateTransport({} as never, options)).toThrow('transport')
  expect(() => gateTransport(Object.freeze(new StreamableHTTPServerTransport({})), options)).toThrow(TypeError)
  expect(() => gateTransport(transport, { ...options, lists: 'hide' } as never)).toThrow('lists')
})
