import { expect } from 'vitest'
import { type EnforcementCase, RECEIPT } from './trial.js'

/** What was asked about is what runs. */
export const HELD_ARGUMENT_CASES: readonly EnforcementCase[] = [
  {
    title: 'runs what was asked about, whatever becomes of the arguments while the answer is on its way',
    isOptional: true,
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open()
      const answer = trial.relay.hold('ask')
      let args: Record<string, unknown> | undefined
      const asked = { to: 'account:1', amount: 40, lines: [{ sku: 'a', count: 1 }] }
      const onArguments = (given: Record<string, unknown>): void => {
        args = given
      }
      const calling = guard.call({ action, context: structuredClone(asked), onArguments })
      await answer.arrived
      expect(args).toEqual(asked)
      change(args)
      answer.release()
      expect(await calling).toMatchObject({ kind: 'value', value: RECEIPT })
      expect(trial.runs).toEqual([{ resource: 'order:8812', context: asked }])
      expect((await trial.operator.decision(trial.decision.id)).context).toEqual(asked)
    },
  },
]

/** Every member at every depth becomes another one, as far as it can be changed. */
function change(at: unknown): void {
  if (typeof at !== 'object' || at === null) return
  for (const [key, value] of Object.entries(at)) {
    change(value)
    if (typeof value !== 'object') Reflect.set(at, key, typeof value === 'number' ? value + 1_000_000 : 'account:thief')
  }
  if (Array.isArray(at)) Reflect.set(at, at.length, { sku: 'b', count: 1_000 })
  else Reflect.set(at, 'added', true)
}
