import { DecisionRequestSchema, validate } from '@countersign/contract'
import { expect, it } from 'vitest'

/** What the detail of an unknown member suggests. */
function suggestionFor(member: string): string | undefined {
  const result = validate(DecisionRequestSchema, { agent_id: 'a', action: 'b', [member]: 1 })
  return result.ok ? undefined : /; did you mean (.+)\?$/.exec(result.errors[0]!.detail)?.[1]
}

it.each([
  ['contxt', 'context'],
  ['conetxt', 'context'],
  ['contexts', 'context'],
  ['CONTEXT', 'context'],
  ['Resource', 'resource'],
  ['agentId', 'agent_id'],
  ['agent-id', 'agent_id'],
  ['actoin', 'action'],
  ['holdr', 'holder'],
])('%s is near %s', (member, name) => {
  expect(suggestionFor(member)).toBe(name)
})

it.each(['', 'x', 'id', 'foo', 'permit', 'policies', 'reason', 'con', 'contextcontext', 'c'.repeat(10_000)])(
  '%s is near nothing',
  (member) => {
    expect(suggestionFor(member)).toBeUndefined()
  },
)
