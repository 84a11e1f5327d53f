/** Tools that ask their client first (`input_required`, protocol 2026-07-28). The numbers are those of the acceptance cases. */

import { type GateOptions, gate } from '@countersign/mcp'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { inputRequired } from '@modelcontextprotocol/server'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CONFIG, Rig, say } from './rig.js'
import { type Caller, type CallResult, type ConnectedClient, connectStateless, SDKS } from './sdks.js'

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

/** What a client brings back, as a person or an attacker writes it. */
interface Brought {
  readonly requestState?: unknown
  readonly inputResponses?: unknown
}

interface Asking extends CallResult {
  readonly resultType?: string
  readonly requestState: string
  readonly inputRequests: Record<string, unknown>
}

const form = { type: 'object', properties: { account: { type: 'string' } } } as const
const answered = (account: string, key = 'account') => ({
  inputResponses: { [key]: { action: 'accept', content: { account } } },
})

/** Asks for the account, then for a second one, and runs once it has both: by its own state, and by nothing else. */
function askingTool({ n }: { n: number }, context: { mcpReq: Record<string, never> }): unknown {
  const { requestState, inputResponses } = context.mcpReq as unknown as {
    requestState(): string | undefined
    inputResponses?: Record<string, { content?: { account?: string } }>
  }
  const state = requestState()
  const account = inputResponses?.account?.content?.account
  const given = [...(state === undefined ? [] : state.split(',')), ...(account === undefined ? [] : [account])]
  runs.push(`${n} [${given}]`)
  if (given.length === 2) return say(`paid ${n} by ${given}`)
  return inputRequired({
    inputRequests: { account: inputRequired.elicit({ message: 'Which account?', requestedSchema: form }) },
    ...(given.length > 0 && { requestState: given.join() }),
  })
}

/** A server that is made anew for each request, and a client that answers nothing by itself. */
async function startServer(change: Partial<GateOptions> = {}, caller?: Caller) {
  const options = rig.options(change)
  const factory = () => {
    const server = SDKS[1]?.mcpServer()
    if (server === undefined) throw new Error('there is no such SDK')
    for (const name of ['allow', 'log', 'deny', 'review']) server.registerTool(name, CONFIG, askingTool as never)
    return gate(server, options)
  }
  const client = await connectStateless(factory, {
    capabilities: { elicitation: {} },
    ...(caller && { caller }),
  })
  open.push(client)
  const call = (name: string, n: number, brought: Brought = {}): Promise<Asking> =>
    client.sdk.callTool({ name, arguments: { n }, ...brought }, { allowInputRequired: true })
  return { client, call }
}

describe('a tool that asks its client', () => {
  it('25: is one decision and one run, however often it asks', async () => {
    const { call } = await startServer()
    const first = await call('allow', 1)
    expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { account: {} } })
    const { requestState } = first
    const second = await call('allow', 1, { requestState, ...answered('DE1') })
    expect(second).toMatchObject({ resultType: 'input_required' })
    const last = await call('allow', 1, { requestState: second.requestState, ...answered('DE2') })
    expect(last).toMatchObject(say('paid 1 by DE1,DE2'))
    expect(runs).toEqual(['1 []', '1 [DE1]', '1 [DE1,DE2]'])
    expect(await rig.statuses()).toEqual(['confirmed'])
  })
})
