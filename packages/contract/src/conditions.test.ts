import { PolicyDocumentSchema, validate } from '@countersign/contract'
import { describe, expect, it } from 'vitest'

/** Pointers below the conditions of a rule that holds them. */
function faultsOf(conditions: unknown): string[] {
  const result = validate(PolicyDocumentSchema, { name: 'x', rules: [{ action: '*', effect: 'deny', conditions }] })
  return result.ok ? [] : result.errors.map(({ pointer }) => pointer.slice('/rules/0/conditions'.length))
}
const nested = (depth: number, wrap: (inner: unknown) => unknown): unknown =>
  depth === 0 ? { 'context.a': { $eq: 1 } } : wrap(nested(depth - 1, wrap))

describe('paths', () => {
  it.each([
    'agent_id',
    'action',
    'resource',
    'resource.type',
    'resource.id',
    'now.hour',
    'now.weekday',
    'context.amount',
    'context.a.b.c',
    'context.0',
    'context. ',
    'context.a$',
    'context.ü-x/~',
    'context.toString',
    `context.${'k'.repeat(128)}`,
    'agent.level',
    'agent.team.name',
  ])('%s', (path) => {
    expect(faultsOf({ [path]: { $exists: true } })).toEqual([])
  })

  it.each([
    '',
    'context',
    'agent',
    'now',
    'context.',
    'context..a',
    'context.a.',
    '.context.a',
    'Context.a',
    'context.$a',
    'context.a.$b',
    'context.a\u0000',
    'context.a\u0085',
    'context.__proto__',
    'context.a.constructor',
    'agent.prototype.a',
    `context.${'k'.repeat(129)}`,
    'agent_id.x',
    'action.x',
    'resource.name',
    'now.minute',
    'now.hour ',
    'metadata.a',
    '$nor',
    '$eq',
    '$ref',
  ])('%j is none', (path) => {
    expect(faultsOf({ [path]: { $exists: true } })).toEqual([`/${path.replaceAll('~', '~0').replaceAll('/', '~1')}`])
  })
})

describe('right-hand sides', () => {
  const ref = { $ref: 'context.b' }
  const agentRef = { $ref: 'agent.b' }
  const list = (length: number, item: unknown = 1) => Array(length).fill(item)

  /** Every operator with every side. */
  const each = (operators: string[], sides: unknown[]): [operator: string, side: unknown][] =>
    operators.flatMap((operator) => sides.map((side): [string, unknown] => [operator, side]))

  it.each([
    ...each(['$eq', '$ne'], ['x', '', 0, -1.5, true, false, ref, agentRef, { $ref: 'now.hour' }]),
    ...each(['$lt', '$lte', '$gt', '$gte'], ['x', 0, ref, { $ref: 'resource' }]),
    ...each(['$in', '$nin'], [[1], ['x', 1, true], list(1000), agentRef]),
    ...each(['$contains'], ['x', 1, false, agentRef]),
    ...each(['$exists'], [true, false]),
    ...each(['$like'], ['*', 'l'.repeat(512)]),
    ...each(['$cidr'], ['10.0.0.0/8', ['10.0.0.1/8', '::/0', '2001:db8::1/64'], list(100, '10.0.0.0/8')]),
  ])('%s %j', (operator, side) => {
    expect(faultsOf({ 'context.a': { [operator]: side } })).toEqual([])
  })

  const notRefs = [
    {},
    { $ref: 1 },
    { $ref: 'b' },
    { $ref: 'context' },
    { $ref: 'context.a.' },
    { $ref: 'context.b', x: 1 },
    { ref: 'context.b' },
  ]
  it.each([
    ...each(['$eq', '$ne'], [null, [], ['x'], ...notRefs]),
    ...each(['$lt', '$lte', '$gt', '$gte'], [null, true, [1], ...notRefs]),
    ...each(['$in', '$nin'], [null, 'x', 1, [], [null], [[1]], [{}], [ref], list(1001), ref, ...notRefs]),
    ...each(['$contains'], [null, [], [1], ref, ...notRefs]),
    ...each(['$exists'], [null, 0, 'true', [true], ref]),
    ...each(['$like'], [null, 1, '', 'l'.repeat(513), ['*'], ref]),
    ...each(['$cidr'], [null, 1, '', '10.0.0.0', [], ['10.0.0.0'], [['10.0.0.0/8']], list(101, '10.0.0.0/8'), ref]),
  ])('%s %j is named at the operator', (operator, side) => {
    expect(faultsOf({ 'context.a': { [operator]: side } })).toEqual([`/context.a/${operator}`])
  })

  it.each([[null], [5], ['x'], [[]], [{}]])('%j is no operator object', (value) => {
    expect(faultsOf({ 'context.a': value })).toEqual(['/context.a'])
  })

  it.each(['eq', '$EQ', '$regex', '$where', '$or', '$ref', ''])('%j is no operator', (operator) => {
    expect(faultsOf({ 'context.a': { [operator]: 'x' } })).toEqual([`/context.a/${operator}`])
  })
})

describe('groups', () => {
  it.each([
    ['$or', (inner: unknown) => ({ $or: [inner] }), '/$or/0', '/$or'],
    ['$and', (inner: unknown) => ({ $and: [inner] }), '/$and/0', '/$and'],
    ['$not', (inner: unknown) => ({ $not: inner }), '/$not', '/$not'],
  ] as const)('%s stands at most 8 times inside one another', (_, wrap, step, last) => {
    expect(faultsOf(nested(8, wrap))).toEqual([])
    expect(faultsOf(nested(9, wrap))).toEqual([step.repeat(8) + last])
  })

  it('count for depth and not for number', () => {
    const leaf = { 'context.a': { $eq: 1 } }
    expect(faultsOf({ $and: Array(50).fill({ $or: [leaf, leaf], $not: leaf }), $or: [leaf], $not: leaf })).toEqual([])
  })

  it.each([[null], [{}], [[]], ['x'], [[null]], [[{}]], [[[]]]])('$or: %j is refused', (value) => {
    expect(faultsOf({ $or: value })).toEqual([Array.isArray(value) && value.length > 0 ? '/$or/0' : '/$or'])
  })

  it.each([[null], [{}], [[]], [[{ 'context.a': { $eq: 1 } }]], [true]])('$not: %j is refused', (value) => {
    expect(faultsOf({ $not: value })).toEqual(['/$not'])
  })

  it('name every fault inside them', () => {
    const conditions = {
      $and: [{ 'context.a': { $eq: null } }, { $not: { 'context.b': {} } }, { $or: [{ b: 1 }, {}] }],
    }
    expect(faultsOf(conditions)).toEqual([
      '/$and/0/context.a/$eq',
      '/$and/1/$not/context.b',
      '/$and/2/$or/0/b',
      '/$and/2/$or/1',
    ])
  })
})
