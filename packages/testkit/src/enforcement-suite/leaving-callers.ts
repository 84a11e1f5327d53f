import { expect } from 'vitest'
import type { Act } from './adapter.js'
import { type EnforcementCase, gate, RECEIPT } from './trial.js'

/** What becomes of an action whose caller leaves. */
export const LEAVING_CASES: readonly EnforcementCase[] = [
  {
    title: 'does not run what its caller left before it was permitted, and rejects it when the answer comes',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open()
      const answer = trial.relay.hold('ask')
      const caller = trial.caller()
      const calling = guard.call({ action, ...caller.members })
      await answer.arrived
      await caller.leave()
      expect(await calling).toEqual({ kind: 'aborted' })
      answer.release()
      await trial.expectStatus(trial.decision.id, 'rejected')
      expect(trial.runs).toEqual([])
    },
  },
  {
    title: 'does not run what its caller left before a person approved it, and withdraws it',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('review')
      const guard = await trial.open({ options: { review: 'wait' } })
      const caller = trial.caller()
      const calling = guard.call({ action, ...caller.members })
      await trial.until(() => expect(trial.relay.calls).toContain('look'))
      await caller.leave()
      expect(await calling).toEqual({ kind: 'aborted' })
      await trial.expectStatus(trial.decision.id, 'rejected')
      expect(trial.runs).toEqual([])
    },
  },
  {
    title: 'confirms what succeeded after its caller had left',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const [begun, left] = [gate(), gate()]
      const act: Act = async () => {
        begun.open()
        await left.opened
        return { value: RECEIPT }
      }
      const guard = await trial.open({ act })
      const caller = trial.caller()
      const calling = guard.call({ action, ...caller.members })
      await begun.opened
      await caller.leave()
      left.open()
      await calling
      await trial.expectStatus(trial.decision.id, 'confirmed')
      expect(trial.runs).toHaveLength(1)
    },
  },
  {
    title: 'leaves open what was cut off because its caller left',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const [begun, left] = [gate(), gate()]
      const act: Act = async () => {
        begun.open()
        await left.opened
        throw new DOMException('The caller has left', 'AbortError')
      }
      const guard = await trial.open({ act })
      const caller = trial.caller()
      const calling = guard.call({ action, ...caller.members })
      await begun.opened
      await caller.leave()
      left.open()
      await calling
      await trial.untilLeft()
      await guard.expectFlushed()
      expect(trial.told).toEqual([])
      expect((await trial.operator.decision(trial.decision.id)).status).toBe('authorized')
    },
  },
  {
    title: 'leaves open what never ends after its caller has left',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const begun = gate()
      const act: Act = () => {
        begun.open()
        return new Promise(() => undefined)
      }
      const guard = await trial.open({ act })
      const caller = trial.caller()
      const calling = guard.call({ action, ...caller.members })
      await begun.opened
      await caller.leave()
      expect(await calling).toEqual({ kind: 'aborted' })
      await trial.untilLeft()
      await guard.expectFlushed()
      expect(trial.told).toEqual([])
      expect((await trial.operator.decision(trial.decision.id)).status).toBe('authorized')
    },
  },
]
