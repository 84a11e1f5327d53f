/**
 * What becomes of the money when a real library loses its answer: never given back where the other side may have acted, and
 * always where it surely has not.
 */
import { Countersign, type EnforcementEvent } from '@countersign/client'
import { type StubDecisionPoint, startStubDecisionPoint, startStubLifecycle } from '@countersign/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { actHeard } from './act-heard.js'
import { FAULTS, type Fault } from './fault.js'
import { LIBRARIES } from './libraries.js'

/** For what surely comes. */
const LONG_MS = 30_000

/** What a decision is settled by, unless a library has a reason. */
const SETTLED: Readonly<Record<Fault, 'leave' | 'reject'>> = {
  refused: 'reject',
  not_found: 'reject',
  untrusted: 'reject',
  reset_unread: 'leave',
  reset: 'leave',
  reset_then_refused: 'leave',
  reset_then_refusal: 'leave',
  closed: 'leave',
  cut: 'leave',
  hang: 'leave',
  refusal: 'reject',
  unpaid: 'leave',
  conflict: 'leave',
  failure: 'leave',
  failure_behind: 'leave',
}
/** The other side has heard nothing, or not all of it. */
const UNHEARD: ReadonlySet<Fault> = new Set(['refused', 'not_found', 'untrusted', 'reset_unread'])

let stub: StubDecisionPoint
let client: Countersign
beforeAll(async () => {
  stub = await startStubDecisionPoint(startStubLifecycle(() => 'allow').answer)
  client = new Countersign({
    baseUrl: stub.url,
    apiKey: 'key-of-a-test',
    timeoutMs: LONG_MS,
    connectTimeoutMs: LONG_MS,
  })
})
afterAll(async () => {
  client.close()
  await stub.close()
})

const cases = FAULTS.flatMap((fault) =>
  LIBRARIES.filter(({ without }) => !without?.includes(fault)).map((library) => ({
    fault,
    library,
    name: library.name,
  })),
)

it.concurrent.each(cases)('$fault: $name', async ({ library, fault }) => {
  const bank = await library.open(fault)
  const settled: string[] = []
  const onEvent = (event: EnforcementEvent): void => {
    if (event.type === 'settled') settled.push(event.settlement.settle)
  }
  const question = { agent_id: 'agent:desk-1', action: 'desk.refund', resource: 'order:8812' }
  const act = (): Promise<unknown> => (fault === 'hang' ? actHeard(library, bank) : library.act(bank, LONG_MS))
  const ending = client.guard(question, act, { onEvent, settleTimeoutMs: LONG_MS })
  await expect(ending.finally(() => bank.close())).rejects.toBeInstanceOf(Error)
  expect({ isHeard: bank.heard() > 0, settled }).toEqual({
    isHeard: !UNHEARD.has(fault),
    settled: [library.but?.[fault] ?? SETTLED[fault]],
  })
  // The refusal of a second act says nothing about the first.
  if (settled.includes('reject')) expect(bank.acts()).toBeLessThanOrEqual(1)
})
