import type { DecisionStatus, Effect } from '@countersign/contract'
import { expect } from 'vitest'
import type { EnforcementCase, Outcome, Trial } from './trial.js'
import { gist } from './trial.js'

/** What may not run, by an answer that is clear. */
export const REFUSED_CASES: readonly EnforcementCase[] = [
  {
    title: 'does not run what is denied, and tells its caller so, with the decision',
    run: (trial) => expectRefused(trial, 'deny', 'denied', 'denied'),
  },
  {
    title: 'does not run what no policy is about',
    run: (trial) => expectRefused(trial, undefined, 'denied', 'denied'),
  },
  {
    title: 'does not run what awaits a review, and names the decision, which goes on waiting',
    run: (trial) => expectRefused(trial, 'review', 'review_required', 'awaiting_review'),
  },
  {
    title: 'runs and sends nothing when what maps the call to a question throws',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open()
      const outcome = await guard.call({ action, mapping: 'throws' })
      expect(gist(outcome)).toEqual({ kind: 'denied', reason: 'mapping_failed', decision_id: null })
      expect(trial.runs).toEqual([])
      expect(trial.relay.calls).toEqual([])
    },
  },
  {
    title: 'runs and sends nothing when nobody says which action it is',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open()
      const outcome = await guard.call({ action, mapping: 'unmapped' })
      expect(gist(outcome)).toEqual({ kind: 'denied', reason: 'unmapped', decision_id: null })
      expect(trial.runs).toEqual([])
      expect(trial.relay.calls).toEqual([])
    },
  },
  {
    title: 'runs and sends nothing when what maps the call misspells a member of the arguments',
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open()
      await expectNotAsked(trial, await guard.call({ action, mapping: 'misspelt' }), [
        'question_refused',
        'mapping_failed',
      ])
      expect(await guard.call({ action })).toMatchObject({ kind: 'value' })
    },
  },
  {
    title: 'runs and sends nothing when a part of the resource or the agent looks like a value that was missing',
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open()
      for (const resource of ['order:undefined', 'order:8812/null', 'order:NaN', 'order:[object Object]', 'order:']) {
        await expectNotAsked(trial, await guard.call({ action, resource }), ['question_refused'])
      }
      for (const agent_id of ['user:undefined', 'user:null', 'user:']) {
        await expectNotAsked(trial, await guard.call({ action, agent_id }), ['question_refused'])
      }
      expect(await guard.call({ action })).toMatchObject({ kind: 'value' })
    },
  },
  {
    title: 'runs and sends nothing when a part of the action looks like a value that was missing',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open()
      for (const missing of ['undefined', 'null', '']) {
        const outcome = await guard.call({ action: `${action}.${missing}` })
        await expectNotAsked(trial, outcome, ['question_refused'])
      }
      expect(await guard.call({ action })).toMatchObject({ kind: 'value' })
    },
  },
]

async function expectNotAsked(trial: Trial, outcome: Outcome, reasons: readonly string[]): Promise<void> {
  expect(gist(outcome)).toEqual({ kind: 'denied', reason: expect.toBeOneOf([...reasons]), decision_id: null })
  expect(trial.runs).toEqual([])
  expect(trial.relay.calls).toEqual([])
}

async function expectRefused(
  trial: Trial,
  effect: Effect | undefined,
  reason: string,
  status: DecisionStatus,
): Promise<void> {
  const action = await trial.actionWith(effect)
  const guard = await trial.open()
  const outcome = await guard.call({ action })
  expect(gist(outcome)).toEqual({ kind: 'denied', reason, decision_id: trial.decision.id })
  await guard.expectFlushed()
  expect(trial.runs).toEqual([])
  expect(trial.told).toEqual([])
  expect((await trial.operator.decision(trial.decision.id)).status).toBe(status)
}
