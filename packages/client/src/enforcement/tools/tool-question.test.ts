import { expect, it } from 'vitest'
import { type CalledTool, prepareToolCall } from './tool-question.js'

interface Call extends CalledTool {
  user: string
}

it('maps a call as it is when it is made, although the caller uses its object again', async () => {
  const guard = {
    agentId: ({ user }: Call) => `agent:${user}`,
    mappingOf: () => ({ resource: (_args: unknown, { user }: Call) => `account:${user}` }),
    actionOf: (tool: string) => `tool.${tool}`,
  }
  const call: Call = { name: 'pay', user: 'ann' }
  const first = prepareToolCall(guard, call, { n: 1 })
  call.user = 'bob'
  const { question } = await first
  expect(question?.request).toMatchObject({ agent_id: 'agent:ann', resource: 'account:ann' })
})
