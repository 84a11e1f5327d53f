/** `gate` on servers of both majors. The numbers are those of the acceptance cases. */
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decisionOf, Rig, say, textOf, withTools } from './rig.js'
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

const connect = async (sdk: Sdk, server: HighLevelServer | LowLevelServer, settings?: ClientSettings) => {
  const client = await sdk.connect(server, settings)
  open.push(client)
  return client
}

describe.each(SDKS)('$name', (sdk) => {
  it('1, 2: runs what is allowed or to be recorded, once; answers the others with an error that says why', async () => {
    const server = withTools(rig.gate(sdk.mcpServer()), runs)
    const client = await connect(sdk, server)
    const allowed = await client.call('allow', { n: 1 })
    const denied = await client.call('deny', { n: 1 })
    const pending = await client.call('review', { n: 1 })
    const logged = await client.call('log', { n: 1 })
    expect(runs).toEqual(['allow 1', 'log 1'])
    expect(allowed).toMatchObject({ content: [{ type: 'text', text: 'did 1' }] })
    expect(decisionOf(allowed)).toEqual({ id: expect.stringMatching(/^dec_/), effect: 'allow' })
    expect(logged).toMatchObject(say('did 1'))
    expect(denied).toMatchObject({ isError: true })
    const shown = { id: expect.stringMatching(/^dec_/), effect: 'deny', reason: 'denied' }
    expect(decisionOf(denied)).toEqual(shown)
    expect(decisionOf(pending)).toEqual({ ...shown, effect: 'review', reason: 'review_required' })
    expect(textOf(pending)).toContain((decisionOf(pending) as { id: string }).id)
    expect(await rig.statuses()).toEqual(['confirmed', 'denied', 'awaiting_review', 'confirmed'])
  })

  it('3: gates tools that were there before it', async () => {
    const client = await connect(sdk, rig.gate(withTools(sdk.mcpServer(), runs)))
    expect(await client.call('allow', { n: 1 })).toMatchObject(say('did 1'))
    expect(await client.call('deny', { n: 1 })).toMatchObject({ isError: true })
    expect(runs).toEqual(['allow 1'])
  })
})
