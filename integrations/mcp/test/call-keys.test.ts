/** Calls that are named by a key: the same one runs once, and a key means nothing to anybody else. */
import { Countersign } from '@countersign/client'
import { Operator, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { beforeAll, expect, it } from 'vitest'
import { DECISION_META } from '../src/calls/result.js'
import { runCall } from '../src/calls/run-call.js'
import { type GateOptions, toolGate } from '../src/gate-options.js'

const point = useDecisionPoint()
let client: Countersign

beforeAll(async () => {
  const operator = new Operator(point())
  client = new Countersign({ baseUrl: point().url, apiKey: await operator.makeKey(), timeoutMs: 20_000 })
  await operator.makePolicy('order.pay', 'allow')
  return () => client.close()
})

interface Called {
  readonly name?: string
  readonly agent?: string
  readonly key?: unknown
  readonly order?: string
}

/** Tools `pay` and `refund` of one server, which note their runs. */
function server(options: Partial<GateOptions> = {}) {
  const runs: unknown[] = []
  const mapping = { action: 'order.pay', resource: (args: { order?: string }) => `order:${args.order}` }
  const gate = toolGate('gate', {
    client,
    agentId: ({ meta }) => meta.agent,
    idempotencyKey: ({ meta }) => meta.key as string,
    map: { pay: mapping, refund: mapping },
    ...options,
  })
  const call = async ({ name = 'pay', agent = 'agent:a', key, order = '1' }: Called): Promise<string> => {
    const given = { method: 'tools/call', name, authInfo: undefined, sessionId: undefined, meta: { agent, key } }
    const result = await runCall(gate, { call: given, args: { order } }, async (args) => {
      runs.push(args)
      return { content: [] }
    })
    const { reason } = Object(Object(result._meta)[DECISION_META])
    return reason ?? 'ran'
  }
  return { runs, call }
}

/** What is said of a call that has run. */
const TAKEN = /^(already_claimed|settled)$/
const newKey = (): string => crypto.randomUUID()

it('runs the calls of one key once, and calls without a key each', async () => {
  const { runs, call } = server()
  const key = newKey()
  expect(await call({ key })).toBe('ran')
  expect(await call({ key })).toMatch(TAKEN)
  expect(await server().call({ key })).toMatch(TAKEN)
  expect(runs).toHaveLength(1)
  for (const none of [undefined, null])
    expect([await call({ key: none }), await call({ key: none })]).toEqual(['ran', 'ran'])
})

it('knows the key of another agent, and of another tool, as another one', async () => {
  const { call } = server()
  const key = newKey()
  for (const other of [{}, { agent: 'agent:b' }, { name: 'refund' }]) expect(await call({ key, ...other })).toBe('ran')
})

it('knows the key with other arguments as another one, also where the mapping leaves them out', async () => {
  const { runs, call } = server({ map: { pay: 'order.pay' } })
  const key = newKey()
  expect(await call({ key })).toBe('ran')
  expect(await call({ key })).toMatch(TAKEN)
  expect(await call({ key, order: '2' })).toBe('ran')
  expect(runs).toEqual([{ order: '1' }, { order: '2' }])
})

it.each([
  ['a rejected promise', () => Promise.reject()],
  ['an empty key', () => ''],
  ['a number', () => 7],
  ['a promise', async () => 'key'],
  [
    'nothing but an error',
    () => {
      throw undefined
    },
  ],
])('runs nothing where idempotencyKey gives %s', async (_what, idempotencyKey) => {
  const { runs, call } = server({ idempotencyKey: idempotencyKey as never })
  expect(await call({})).toBe('mapping_failed')
  expect(runs).toEqual([])
})
