import { expect } from 'vitest'
import { type EnforcementCase, gist, RECEIPT } from './trial.js'

/** What may run. */
export const PERMITTED_CASES: readonly EnforcementCase[] = [
  {
    title: 'runs what is allowed once, gives its caller the result, and confirms it once',
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open()
      expect(gist(await guard.call({ action }))).toEqual({ kind: 'value', value: RECEIPT })
      expect(trial.runs).toHaveLength(1)
      await trial.expectStatus(trial.decision.id, 'confirmed')
      expect(await trial.operator.told(trial.decision.id)).toEqual(['confirmed'])
      expect(trial.told).toEqual(['confirm'])
    },
  },
  {
    title: 'runs what is only to be recorded once, and confirms it',
    async run(trial) {
      const action = await trial.actionWith('log')
      const guard = await trial.open()
      expect(gist(await guard.call({ action }))).toEqual({ kind: 'value', value: RECEIPT })
      expect(trial.runs).toHaveLength(1)
      expect(trial.decision.effect).toBe('log')
      await trial.expectStatus(trial.decision.id, 'confirmed')
    },
  },
  {
    title: 'asks about the very agent, action, resource and context that run',
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open()
      const context = { to: 'account:7', amount: 12.5, lines: [{ sku: 'a/b c', count: 2 }], note: null }
      await guard.call({ action, resource: 'order:ä 1/2', context })
      expect(trial.runs).toEqual([{ resource: 'order:ä 1/2', context }])
      expect(await trial.operator.decision(trial.decision.id)).toMatchObject({
        agent_id: trial.agent_id,
        action,
        resource: 'order:ä 1/2',
        context,
      })
    },
  },
  {
    title: 'keeps apart what runs at once: each call has its own decision, arguments and result',
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open({ act: async ({ context }) => ({ value: { of: context.to ?? null } }) })
      const calls = [1, 2, 3, 4, 5, 6].map((i) => ({ agent_id: `${trial.agent_id}-${i % 2}`, to: `account:${i}` }))
      const outcomes = await Promise.all(
        calls.map(({ agent_id, to }) => guard.call({ action, agent_id, resource: to, context: { to } })),
      )
      expect(outcomes.map(gist)).toEqual(calls.map(({ to }) => ({ kind: 'value', value: { of: to } })))
      expect(trial.runs).toHaveLength(calls.length)
      for (const { resource, context } of trial.runs) expect(context).toEqual({ to: resource })
      expect(new Set(trial.relay.decisions.map(({ id }) => id)).size).toBe(calls.length)
      for (const { id } of trial.relay.decisions) {
        await trial.expectStatus(id, 'confirmed')
        const { agent_id, resource } = await trial.operator.decision(id)
        expect(calls).toContainEqual({ agent_id, to: resource })
      }
    },
  },
  {
    title: 'lets run as many of eight parallel calls as the budget pays for: three',
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget({ limit: 3, unit: 'calls', amount: 1 })
      const guard = await trial.open()
      const outcomes = await Promise.all(Array.from({ length: 8 }, () => guard.call({ action })))
      expect(outcomes.filter(({ kind }) => kind === 'value')).toHaveLength(3)
      expect(outcomes.filter((outcome) => outcome.kind === 'denied' && outcome.reason === 'denied')).toHaveLength(5)
      expect(trial.runs).toHaveLength(3)
      await trial.until(async () => {
        expect(await trial.operator.account(policyId)).toEqual({ spent: 3, reserved: 0 })
      })
    },
  },
]
