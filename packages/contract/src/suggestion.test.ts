import { DecisionRequestSchema, PolicyDocumentSchema, validate } from '@countersign/contract'
import { describe, expect, it } from 'vitest'

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

describe('a request with thousands of unknown names', () => {
  const NAMES = Array.from({ length: 5_000 }, (_, at) => `nam${at % 10}${'e'.repeat(at % 3)}_${at}`)
  const faulty = (make: (name: string) => readonly [string, unknown]) => Object.fromEntries(NAMES.map(make))

  it('is told every place, and of the first twenty what may have been meant', () => {
    const typos = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`action${at}`, 1]))
    const result = validate(DecisionRequestSchema, { agent_id: 'a', action: 'b', ...typos })
    const details = result.ok ? [] : result.errors.map(({ detail }) => detail)
    expect(details).toHaveLength(30)
    expect(details.filter((detail) => detail.endsWith('; did you mean action?'))).toHaveLength(20)
  })

  it('is told a thousand places, of conditions too', () => {
    const conditions = faulty((name) => [name, { $eq: 1 }])
    const operators = { 'context.a': faulty((name) => [`$${name}`, 1]) }
    const rules = [conditions, operators].map((made) => ({ action: '*', effect: 'deny', conditions: made }))
    const result = validate(PolicyDocumentSchema, { name: 'p', rules })
    expect(result.ok ? 0 : result.errors.length).toBe(1_000)
  })
})
