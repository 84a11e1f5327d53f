import { KeyCreateSchema, SCOPES, UNBINDABLE_SCOPES, validate } from '@countersign/contract'
import { describe, expect, it } from 'vitest'

const pointersOf = (body: unknown) => {
  const result = validate(KeyCreateSchema, body)
  return result.ok ? [] : result.errors.map(({ pointer }) => pointer)
}

describe('a key bound to agents', () => {
  it('holds no scope that acts beyond one agent, each named by its place', () => {
    const wanted = SCOPES.flatMap((scope, index) => (UNBINDABLE_SCOPES.includes(scope) ? [`/scopes/${index}`] : []))
    expect(wanted).toHaveLength(8)
    expect(pointersOf({ name: 'x', scopes: SCOPES, agents: ['agent:*'] })).toEqual(wanted.sort())
  })

  it('holds any other', () => {
    const scopes = SCOPES.filter((scope) => !UNBINDABLE_SCOPES.includes(scope))
    expect(pointersOf({ name: 'x', scopes, agents: ['agent:*'] })).toEqual([])
  })

  it('is told so beside its other faults', () => {
    expect(pointersOf({ name: '', scopes: ['nope', '*'], agents: ['a b'], extra: 1 })).toEqual([
      '/agents/0',
      '/extra',
      '/name',
      '/scopes/0',
      '/scopes/1',
    ])
  })
})

it('a key bound to nobody holds any scope', () => {
  expect(pointersOf({ name: 'x', scopes: SCOPES })).toEqual([])
  expect(pointersOf({ name: 'x', scopes: SCOPES, agents: null })).toEqual([])
})
