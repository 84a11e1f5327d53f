/** `countersignGuard` on real agents, by the numbers of the acceptance cases. */
import { countersignGuard } from '@countersign/langchain'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { createAgent, tool } from 'langchain'
import { beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { modelOf, Rig, toolMessages } from './rig.js'

const point = useDecisionPoint()
let rig: Rig
beforeAll(async () => {
  rig = await Rig.open(point())
  await rig.operator.makePolicy('pay.allow', 'allow')
  await rig.operator.makePolicy('pay.deny', 'deny')
})

it('1, 2: what is allowed runs once; what is denied does not, and the model goes on with an error message', async () => {
  const runs: unknown[] = []
  const pay = tool((args) => `paid ${runs.push(args)}`, { name: 'pay', schema: z.object({ how: z.string() }) })
  const model = modelOf({ name: 'pay', args: { how: 'allow' } }, { name: 'pay', args: { how: 'deny' } })
  const guard = countersignGuard({ client: rig.client, map: { pay: { action: (a) => `pay.${a.how}` } } })
  const answer = await createAgent({ model, tools: [pay], middleware: [guard] }).invoke({ messages: 'go' })
  expect(runs).toEqual([{ how: 'allow' }])
  const [paid, denied] = toolMessages(answer)
  expect(paid).toMatchObject({ content: 'paid 1', status: 'success', tool_call_id: 'call_0', name: 'pay' })
  expect(denied).toMatchObject({ status: 'error', tool_call_id: 'call_1', name: 'pay' })
  expect(denied?.artifact.denied).toMatchObject({ reason: 'denied' })
  expect(answer.messages.at(-1)?.content).toBe('done')
})
