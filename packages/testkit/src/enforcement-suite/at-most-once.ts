import { expect } from 'vitest'
import { answerJson, answerProblem, answerReset, answerText } from '../stub-answers.js'
import type { StubAnswer } from '../stub-decision-point.js'
import { type EnforcementCase, RECEIPT } from './trial.js'

const RUNS = { runs: 'at-most-once' } as const

/** What else may come where a permit is redeemed, with the reason that the caller is told. */
const UNREDEEMED: Readonly<Record<string, readonly [answer: StubAnswer, reason: string]>> = {
  'the decision point breaks off': [answerReset, 'unavailable'],
  'the decision point answers a page': [answerText(200, '<html>redeemed</html>'), 'unavailable'],
  'the decision point answers no decision': [answerJson(200, {}), 'unavailable'],
  'the decision point is not able to': [answerProblem(503, 'store_unavailable'), 'unavailable'],
  'the key lacks the scope': [answerProblem(403, 'insufficient_scope'), 'refused'],
  'the agent was suspended meanwhile': [answerProblem(409, 'agent_suspended'), 'agent_suspended'],
}

/** An action that is to run at most once begins once its permit is used up, and else not at all. */
export const AT_MOST_ONCE_CASES: readonly EnforcementCase[] = [
  {
    title: 'redeems the permit of what is to run at most once before it runs',
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget({ limit: 100, unit: 'EUR' })
      const before: string[] = []
      const guard = await trial.open({
        options: RUNS,
        async act() {
          before.push(...trial.told)
          return { value: RECEIPT }
        },
      })
      expect(await guard.call({ action })).toMatchObject({ kind: 'value' })
      expect(before).toEqual(['redeem'])
      const { id } = trial.decision
      await trial.expectDone(id, ['redeemed', 'confirmed'])
      expect(await trial.operator.account(policyId)).toEqual({ spent: 40, reserved: 0 })
    },
  },
  {
    title: 'does not run at most once what somebody else has redeemed, and leaves it',
    async run(trial) {
      const action = await trial.actionWith('allow')
      trial.relay.answer('redeem', answerProblem(409, 'permit_already_used'))
      const guard = await trial.open({ options: RUNS })
      expect(await guard.call({ action })).toMatchObject({ kind: 'denied', reason: 'permit_already_used' })
      await guard.expectFlushed()
      expect(trial.runs).toEqual([])
      expect(trial.told).toEqual(['redeem'])
    },
  },
  {
    title: 'does not run at most once what was redeemed for an answer that is lost, and rejects it',
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget({ limit: 100, unit: 'EUR' })
      trial.relay.lose('redeem')
      const guard = await trial.open({ options: RUNS })
      expect(await guard.call({ action })).toMatchObject({ kind: 'denied', reason: 'unavailable' })
      expect(trial.runs).toEqual([])
      await trial.expectDone(trial.decision.id, ['redeemed', 'rejected'])
      expect(await trial.operator.account(policyId)).toEqual({ spent: 0, reserved: 0 })
    },
  },
  ...Object.entries(UNREDEEMED).map(([what, [answer, reason]]) => ({
    title: `does not run at most once what cannot be redeemed, where ${what}`,
    async run(trial: Parameters<EnforcementCase['run']>[0]) {
      const action = await trial.actionWith('allow')
      trial.relay.answer('redeem', answer)
      const guard = await trial.open({ options: RUNS })
      expect(await guard.call({ action })).toMatchObject({ kind: 'denied', reason })
      expect(trial.runs).toEqual([])
      await trial.expectDone(trial.decision.id, ['rejected'])
    },
  })),
]
