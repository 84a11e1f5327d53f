/**
 * What every integration has to keep, through its own framework. The cases are plain functions, so that they can also be
 * run against adapters that break a promise on purpose.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import type { EnforcementAdapter } from './adapter.js'
import { AT_MOST_ONCE_CASES } from './at-most-once.js'
import { FAULT_CASES } from './faulty-answers.js'
import { HELD_ARGUMENT_CASES } from './held-arguments.js'
import { LEAVING_CASES } from './leaving-callers.js'
import { OBSERVING_CASES } from './observing.js'
import { Operator, type RealDecisionPoint } from './operator.js'
import { PAUSE_CASES } from './pauses.js'
import { PERMITTED_CASES } from './permitted-actions.js'
import { REFUSED_CASES } from './refused-actions.js'
import { RESOURCE_CASES } from './resources.js'
import { REVIEW_CASES } from './reviews.js'
import { SECRET_CASES } from './secrets.js'
import { SETTLEMENT_CASES } from './settlements.js'
import { SINGLE_RUN_CASES } from './single-runs.js'
import { type EnforcementCase, Trial } from './trial.js'

export const ENFORCEMENT_CASES: readonly EnforcementCase[] = [
  ...PERMITTED_CASES,
  ...REFUSED_CASES,
  ...REVIEW_CASES,
  ...SINGLE_RUN_CASES,
  ...AT_MOST_ONCE_CASES,
  ...HELD_ARGUMENT_CASES,
  ...SETTLEMENT_CASES,
  ...PAUSE_CASES,
  ...LEAVING_CASES,
  ...FAULT_CASES,
  ...OBSERVING_CASES,
  ...SECRET_CASES,
  ...RESOURCE_CASES,
]

/** Of machines with a lot else to do. */
const PATIENCE_MS = 60_000

/** Of what is known to fail. */
const LITTLE_PATIENCE_MS = 1_000

/**
 * Runs every case through an integration, against a real decision point that the caller has started. A case that the
 * adapter says does not apply has to fail, so that nothing is left out that could be shown; one that has to apply to every
 * integration is run all the same.
 */
export function enforcementSuite(adapter: EnforcementAdapter, point: () => RealDecisionPoint): void {
  // Each case has its own agent, action and relay, and many wait for what has to happen: they run side by side.
  describe.concurrent(`enforcement by ${adapter.name}`, () => {
    const { doesNotApply = {} } = adapter
    let apiKey: string
    beforeAll(async () => {
      apiKey = await new Operator(point()).makeKey()
    })
    it('leaves out only cases that may be left out, each for a reason', () => {
      expect(declarationFaults(adapter)).toEqual([])
    })
    for (const one of ENFORCEMENT_CASES) {
      const run = (patienceMs: number) => Trial.run(one, { adapter, point: point(), apiKey, patienceMs })
      const reason = one.isOptional && doesNotApply[one.title]
      if (!reason) it(one.title, { timeout: 2 * PATIENCE_MS }, () => run(PATIENCE_MS))
      else it(`cannot show, as ${reason}, that it ${one.title}`, () => expectFailure(run(LITTLE_PATIENCE_MS)))
    }
  })
}

/** As an assertion fails, and in no other way. */
async function expectFailure(running: Promise<void>): Promise<void> {
  const failure = await running.then(
    () => null,
    (error: unknown) => error,
  )
  expect(failure).toMatchObject({ name: 'AssertionError' })
}

/** What is wrong with the cases that an adapter leaves out, one sentence each. */
export function declarationFaults({ doesNotApply = {} }: EnforcementAdapter): readonly string[] {
  return Object.entries(doesNotApply).flatMap(([title, reason]) => {
    const declared = ENFORCEMENT_CASES.find((one) => one.title === title)
    if (declared === undefined) return [`there is no case "${title}"`]
    if (!declared.isOptional) return [`"${title}" has to apply to every integration`]
    return reason.trim() === '' ? [`there is no reason for leaving out "${title}"`] : []
  })
}
