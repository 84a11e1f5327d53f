import { expect } from 'vitest'
import { type EnforcementCase, gate } from './trial.js'

/** What is said of a decision that somebody else runs, or that has run. */
const TAKEN = /^(already_claimed|settled)$/

/** One decision runs once, no matter who asks for it again. */
export const SINGLE_RUN_CASES: readonly EnforcementCase[] = [
  {
    title: 'runs one of two calls that are made with one key at once',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const act = gate()
      const guard = await trial.open({ act: () => act.opened.then(() => ({ value: {} })) })
      const call = { action, idempotencyKey: crypto.randomUUID(), holder: 'job-1' }
      const calling = [guard.call(call), guard.call(call)]
      // While the one runs, the other has its answer.
      expectTaken([await Promise.race(calling)])
      act.open()
      expect((await Promise.all(calling)).filter(({ kind }) => kind === 'value')).toHaveLength(1)
      expect(trial.runs).toHaveLength(1)
    },
  },
  {
    title: 'does not run again what was confirmed, for the same key and another process',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const call = { action, idempotencyKey: crypto.randomUUID(), holder: 'job-1' }
      expect(await (await trial.open()).call(call)).toMatchObject({ kind: 'value' })
      const { id } = trial.decision
      await trial.expectStatus(id, 'confirmed')
      expectTaken([await (await trial.open()).call(call)])
      expect(trial.runs).toHaveLength(1)
      expect(await trial.operator.told(id)).toEqual(['confirmed'])
    },
  },
  {
    title: 'does not run again what was rejected, for the same key and another process',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const call = { action, idempotencyKey: crypto.randomUUID(), holder: 'job-1' }
      const guard = await trial.open({ act: () => Promise.reject(new Error('card declined')) })
      expect(await guard.call(call)).toMatchObject({ kind: 'failed' })
      await trial.expectStatus(trial.decision.id, 'rejected')
      expectTaken([await (await trial.open()).call(call)])
      expect(trial.runs).toHaveLength(1)
    },
  },
  {
    title: 'runs in one of four processes that race for one approved decision, each of them twice',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('review')
      const guards = await Promise.all(Array.from({ length: 4 }, () => trial.open()))
      const call = { action, idempotencyKey: crypto.randomUUID() }
      expect(await guards[0]?.call(call)).toMatchObject({ kind: 'denied', reason: 'review_required' })
      const { id } = trial.decision
      await trial.operator.transition(id, 'approve')
      const outcomes = await Promise.all(guards.flatMap((guard) => [guard.call(call), guard.call(call)]))
      expect(trial.runs).toHaveLength(1)
      expect(outcomes.filter(({ kind }) => kind === 'value')).toHaveLength(1)
      expectTaken(outcomes.filter(({ kind }) => kind !== 'value'))
      await trial.expectStatus(id, 'confirmed')
      expect(await trial.operator.told(id)).toEqual(['approved', 'claimed', 'confirmed'])
    },
  },
]

function expectTaken(outcomes: readonly object[]): void {
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ kind: 'denied', reason: expect.stringMatching(TAKEN) })
  }
}
