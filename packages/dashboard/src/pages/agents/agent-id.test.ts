import { AgentIdSchema } from '@countersign/contract'
import { expect, it } from 'vitest'
import { isAgentId } from './agent-id'

it('takes what the API takes', () => {
  const texts = [
    '',
    'a',
    'agent:support-7',
    'a/b+c@d',
    '-a',
    'a b',
    'a\n',
    'ä',
    'a'.repeat(256),
    'a'.repeat(257),
    '<b>',
  ]
  for (const text of texts) expect(isAgentId(text), text).toBe(AgentIdSchema.safeParse(text).success)
})
