/** The golden cases of the ledger: through the whole application, and against the reference that other suites trust. */
import { stress } from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import { ON_MONGODB } from '../open-test-store.js'
import { type LedgerCase, ledgerCases } from './ledger-model/golden-cases.js'
import { LedgerServer } from './ledger-model/ledger-server.js'
import { ReferenceLedger } from './ledger-model/reference-ledger.js'
import type { Step, StepAnswer } from './ledger-model/step.js'

/** The cases for the server, each of which starts one. */
const EACH = ON_MONGODB ? stress.ledger_cases_for_each_on_mongodb : stress.ledger_cases_for_each
const CASES = ledgerCases.filter((_, i) => i % EACH === 0)
/** How many cases run side by side: while one waits for its disk, another has the processor. */
const LANES = 4
/** Far more than they need, also on a machine that has other work. */
const TIMEOUT_MS = 900_000

/** The steps with what is expected of them, and how to tell which one failed. */
function* stepsOf({ id, case: { steps }, expect: wanted }: LedgerCase) {
  for (const [i, { at, ...step }] of steps.entries())
    yield {
      at: new Date(at),
      step: step as Step,
      wanted: wanted.steps[i] as StepAnswer,
      place: `${id}, step ${i} at ${at}: ${JSON.stringify(step)}`,
    }
}

async function runOnServer(ledgerCase: LedgerCase): Promise<void> {
  const { policies, agents, steps } = ledgerCase.case
  const server = await LedgerServer.start(new Date(steps[0]?.at as string))
  try {
    for (const policy of policies) expect((await server.perform({ op: 'put_policy', policy })).http).toBe(200)
    for (const [id, { metadata, suspended }] of Object.entries(agents))
      await server.registerAgent(id, metadata, suspended)
    for (const { at, step, wanted, place } of stepsOf(ledgerCase)) {
      server.setTime(at)
      expect(await server.perform(step), place).toMatchObject(wanted)
    }
  } finally {
    await server.stop()
  }
}

it('are all here', () => {
  expect(ledgerCases).toHaveLength(261)
})

describe('the whole application', () => {
  it.each([...Array(LANES).keys()])(
    'answers as the golden cases say, lane %i',
    { concurrent: true, timeout: TIMEOUT_MS },
    async (lane) => {
      const faults: unknown[] = []
      for (const [i, ledgerCase] of CASES.entries())
        if (i % LANES === lane) await runOnServer(ledgerCase).catch((fault) => faults.push(fault))
      if (faults.length > 0)
        throw new AggregateError(faults, faults.map((fault) => (fault as Error).message).join('\n'))
    },
  )
})

describe('the reference ledger', () => {
  it.each(ledgerCases)('answers $id as it should', (ledgerCase) => {
    const ledger = new ReferenceLedger()
    for (const policy of ledgerCase.case.policies) ledger.perform({ op: 'put_policy', policy })
    for (const [id, { suspended }] of Object.entries(ledgerCase.case.agents)) ledger.registerAgent(id, suspended)
    for (const { at, step, wanted, place } of stepsOf(ledgerCase)) {
      ledger.nowMs = at.getTime()
      // It takes well-formed steps only.
      if (wanted.code !== 'validation_failed') expect(ledger.perform(step), place).toMatchObject(wanted)
    }
  })
})
