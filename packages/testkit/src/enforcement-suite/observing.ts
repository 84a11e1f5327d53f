import type { Effect } from '@countersign/contract'
import { expect } from 'vitest'
import { type EnforcementCase, gist, RECEIPT } from './trial.js'

interface Observation {
  readonly effect: Effect | undefined
  /** What would have become of it. */
  readonly would: string
  /** What the decision point knows in the end; nobody has to review what has run. */
  readonly done: readonly string[]
  readonly told: readonly string[]
}

const OBSERVATIONS: Readonly<Record<string, Observation>> = {
  'is allowed': { effect: 'allow', would: 'allow', done: ['confirmed'], told: ['confirm'] },
  'is only to be recorded': { effect: 'log', would: 'allow', done: ['confirmed'], told: ['confirm'] },
  'is denied': { effect: 'deny', would: 'deny', done: [], told: [] },
  'no policy is about': { effect: undefined, would: 'deny', done: [], told: [] },
  'would await a review': { effect: 'review', would: 'review', done: ['rejected'], told: ['reject'] },
}

const observe = { mode: 'observe' } as const

/** Watching before enforcing. */
export const OBSERVING_CASES: readonly EnforcementCase[] = [
  ...Object.entries(OBSERVATIONS).map(
    ([what, { effect, would, done, told }]) =>
      ({
        title: `in the mode observe runs what ${what} once, tells what would have been, and confirms no more than that`,
        async run(trial) {
          const action = await trial.actionWith(effect)
          const guard = await trial.open({ options: observe })
          expect(gist(await guard.call({ action }))).toEqual({ kind: 'value', value: RECEIPT })
          expect(trial.runs).toHaveLength(1)
          const observed = trial.events.filter(({ type }) => type === 'observed')
          expect(observed).toMatchObject([{ would }])
          const { id } = trial.decision
          await trial.expectDone(id, done)
          await guard.expectFlushed()
          expect(trial.told).toEqual(told)
        },
      }) satisfies EnforcementCase,
  ),
  {
    title: 'in the mode observe runs also without a decision point, and tells that there was none',
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open({ options: observe })
      await trial.relay.close()
      expect(gist(await guard.call({ action }))).toEqual({ kind: 'value', value: RECEIPT })
      expect(trial.runs).toHaveLength(1)
      expect(trial.events.filter(({ type }) => type === 'observed')).toMatchObject([{ would: 'unavailable' }])
    },
  },
  {
    title: 'in the mode observe runs also what cannot be mapped to a question',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open({ options: observe })
      expect(gist(await guard.call({ action, mapping: 'throws' }))).toEqual({ kind: 'value', value: RECEIPT })
      expect(trial.runs).toHaveLength(1)
      expect(trial.relay.calls).toEqual([])
      expect(trial.events.filter(({ type }) => type === 'observed')).toMatchObject([{ would: 'deny' }])
    },
  },
]
