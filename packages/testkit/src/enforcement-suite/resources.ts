import { expect } from 'vitest'
import { type EnforcementCase, gist, RECEIPT } from './trial.js'

/** What a framework lets an agent read beside its actions. */
export const RESOURCE_CASES: readonly EnforcementCase[] = [
  {
    title: 'gives an agent a gated resource only if the policies allow its reading, once, and settles that',
    isOptional: true,
    async run(trial) {
      const [denied, unknown, action] = [
        await trial.actionWith('deny'),
        await trial.actionWith(),
        await trial.actionWith('allow'),
      ]
      const guard = await trial.open()
      const resource = 'hr://salary'
      for (const refused of [denied, unknown])
        expect(gist(await guard.read({ action: refused, resource }))).toMatchObject({
          kind: 'denied',
          reason: 'denied',
        })
      expect(trial.runs).toEqual([])
      expect(gist(await guard.read({ action, resource }))).toEqual({ kind: 'value', value: RECEIPT })
      expect(trial.runs).toMatchObject([{ resource }])
      const [, , { id } = { id: '' }] = trial.relay.decisions
      await trial.expectStatus(id, 'confirmed')
      expect(await trial.operator.decision(id)).toMatchObject({ agent_id: trial.agent_id, action, resource })
    },
  },
]
