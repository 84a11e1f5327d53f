import { expect } from 'vitest'
import { type EnforcementCase, gist, RECEIPT } from './trial.js'

/** What becomes of an action that interrupts itself, and goes on later. */
export const PAUSE_CASES: readonly EnforcementCase[] = [
  {
    title: 'runs what pauses itself twice to its end once, by one decision, and settles it by its end alone',
    isOptional: true,
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget({ limit: 100, unit: 'EUR' })
      let endCount = 0
      const guard = await trial.open({
        async act(_given, pause) {
          pause?.()
          pause?.()
          endCount += 1
          return { value: RECEIPT }
        },
      })
      const call = { action, thread: crypto.randomUUID() }
      for (const passCount of [1, 2]) {
        expect(gist(await guard.call(call))).toEqual({ kind: 'paused' })
        await guard.expectFlushed()
        expect(trial.told).toEqual([])
        expect(await trial.operator.account(policyId)).toEqual({ spent: 0, reserved: 40 })
        expect([trial.runs.length, endCount]).toEqual([passCount, 0])
      }
      expect(gist(await guard.call(call))).toEqual({ kind: 'value', value: RECEIPT })
      expect([trial.runs.length, endCount]).toEqual([3, 1])
      const [id = '', ...others] = new Set(trial.relay.decisions.map((decision) => decision.id))
      expect(others).toEqual([])
      await trial.expectStatus(id, 'confirmed')
      expect(await trial.operator.told(id)).toEqual(['confirmed'])
      expect(await trial.operator.account(policyId)).toEqual({ spent: 40, reserved: 0 })
    },
  },
]
