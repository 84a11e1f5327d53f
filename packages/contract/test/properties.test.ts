import { DecisionRequestSchema, PolicyDocumentSchema, toPointer, validate } from '@countersign/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { schemas } from './schemas.js'

/** The quick tier draws a fifth. */
const RUNS = process.env.TIER === 'quick' ? 200 : 1_000

const name = fc.string({ unit: fc.constantFrom('a', 'b', '-', '_', '7'), minLength: 1, maxLength: 8 })
const action = fc.array(name, { minLength: 1, maxLength: 3 }).map((words) => words.join('.'))
const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '-'), minLength: 1, maxLength: 8 })
const path = fc.oneof(
  fc.constantFrom('agent_id', 'action', 'resource', 'resource.type', 'resource.id', 'now.hour', 'now.weekday'),
  fc.tuple(fc.constantFrom('context', 'agent'), action).map(([root, fields]) => `${root}.${fields}`),
)
const ref = path.map(($ref) => ({ $ref }))
const agentRef = action.map((fields) => ({ $ref: `agent.${fields}` }))
const scalar = fc.oneof(fc.string(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean())
const ordered = fc.oneof(fc.string(), fc.integer(), ref)
const list = fc.oneof(fc.array(scalar, { minLength: 1, maxLength: 5 }), agentRef)
const network = fc.oneof(
  fc.tuple(fc.ipV4(), fc.nat(32)).map(([address, bits]) => `${address}/${bits}`),
  fc.nat(128).map((bits) => `2001:db8::1/${bits}`),
)
const someOf = <Members extends Record<string, fc.Arbitrary<unknown>>>(members: Members) =>
  fc.record(members, { requiredKeys: [] }).filter((made) => Object.keys(made).length > 0)
const operators = someOf({
  $eq: fc.oneof(scalar, ref),
  $ne: fc.oneof(scalar, ref),
  $lt: ordered,
  $lte: ordered,
  $gt: ordered,
  $gte: ordered,
  $in: list,
  $nin: list,
  $contains: fc.oneof(scalar, agentRef),
  $exists: fc.boolean(),
  $like: fc.string({ minLength: 1, maxLength: 20 }),
  $cidr: fc.oneof(network, fc.array(network, { minLength: 1, maxLength: 3 })),
})
const { conditions } = fc.letrec<{ conditions: object; groups: object }>((tie) => ({
  conditions: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'groups' },
    fc.dictionary(path, operators, { minKeys: 1, maxKeys: 3 }),
    tie('groups'),
  ),
  groups: someOf({
    $or: fc.array(tie('conditions'), { minLength: 1, maxLength: 2, depthIdentifier: 'groups' }),
    $and: fc.array(tie('conditions'), { minLength: 1, maxLength: 2, depthIdentifier: 'groups' }),
    $not: tie('conditions'),
  }),
}))
const rule = fc.oneof(
  fc.record(
    { action: pattern, resource: pattern, effect: fc.constantFrom('allow', 'log'), conditions, reason: fc.string() },
    { requiredKeys: ['action', 'effect'] },
  ),
  fc.record(
    {
      action: pattern,
      resource: pattern,
      effect: fc.constantFrom('deny', 'review'),
      conditions,
      reason: fc.string(),
      on_unknown: fc.constantFrom('deny', 'skip'),
    },
    { requiredKeys: ['action', 'effect'] },
  ),
)
const budget = fc.record(
  {
    limit: fc.nat().map((micros) => micros / 1e6),
    unit: fc.constantFrom('EUR', 'calls'),
    period: fc.constantFrom('hourly', 'daily', 'weekly', 'monthly', 'yearly', 'total'),
    actions: fc.array(pattern, { minLength: 1, maxLength: 2 }),
    amount: fc.oneof(
      action.map((fields) => `context.${fields}`),
      fc.integer({ min: 1, max: 9 }),
    ),
    currency: action.map((fields) => `context.${fields}`),
    scope: fc.constantFrom('policy', 'agent'),
    on_exceed: fc.constantFrom('deny', 'review'),
  },
  { requiredKeys: ['limit', 'unit', 'period'] },
)
const policy = fc.record(
  {
    name,
    description: fc.string(),
    priority: fc.integer({ min: -1_000_000, max: 1_000_000 }),
    enabled: fc.boolean(),
    mode: fc.constantFrom('enforce', 'shadow'),
    agents: fc.array(
      pattern.filter((text) => text !== ''),
      { minLength: 1, maxLength: 2 },
    ),
    rules: fc.array(rule, { minLength: 1, maxLength: 3 }),
    budget,
  },
  { requiredKeys: ['name', 'rules'] },
)
const facts = fc.dictionary(name, fc.jsonValue({ maxDepth: 0 }), { maxKeys: 4 })
const request = fc.record(
  {
    agent_id: name.filter((text) => /^[a-z0-9]/.test(text)),
    action,
    resource: name.map((text) => `order:${text}`),
    context: facts,
    holder: name,
  },
  { requiredKeys: ['agent_id', 'action'] },
)
const unknownName = fc.string({ minLength: 1 }).map((text) => `?${text}`)

/** Every object inside a value, with its pointer. */
function objectsIn(value: unknown, pointer = ''): { object: Record<string, unknown>; pointer: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const below = Object.entries(value).flatMap(([key, item]) => objectsIn(item, pointer + toPointer([key])))
  return Array.isArray(value) ? below : [{ object: value as Record<string, unknown>, pointer }, ...below]
}

describe('validate', () => {
  it('throws on no JSON value, and its errors are sorted, distinct and no place below another', () => {
    const anything = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(
        fc.constantFrom(
          'name',
          'rules',
          'agent_id',
          'action',
          'context',
          'scopes',
          'agents',
          'request',
          'policies',
          'budget',
        ),
        fc.jsonValue(),
      ),
    )
    fc.assert(
      fc.property(fc.constantFrom(...schemas), anything, ([, schema], value) => {
        const result = validate(schema, value)
        if (result.ok) return
        const pointers = result.errors.map(({ pointer }) => pointer)
        expect(pointers.length).toBeGreaterThan(0)
        expect(pointers).toEqual([...new Set(pointers)].sort())
        for (const pointer of pointers) expect(pointers.filter((other) => other.startsWith(`${pointer}/`))).toEqual([])
      }),
      { numRuns: 3 * RUNS },
    )
  })

  it('takes every policy that the contract allows and gives it back unchanged', () => {
    fc.assert(
      fc.property(policy, (any) => {
        expect(validate(PolicyDocumentSchema, any)).toEqual({ ok: true, value: any })
      }),
      { numRuns: RUNS },
    )
  })

  it('takes every request that the contract allows and gives it back unchanged', () => {
    fc.assert(
      fc.property(request, (any) => {
        expect(validate(DecisionRequestSchema, any)).toEqual({ ok: true, value: any })
      }),
      { numRuns: RUNS },
    )
  })

  it('refuses an unknown member wherever it stands in a policy, and names it alone', () => {
    fc.assert(
      fc.property(policy, unknownName, fc.nat(), fc.jsonValue(), (any, key, pick, value) => {
        const document = structuredClone(any)
        // A $ref with a second member is named at its operator, by a test of its own.
        const places = objectsIn(document).filter(({ object }) => !Object.hasOwn(object, '$ref'))
        const { object, pointer } = places[pick % places.length]!
        object[key] = value
        const result = validate(PolicyDocumentSchema, document)
        expect(result.ok || result.errors.map((error) => error.pointer)).toEqual([pointer + toPointer([key])])
      }),
      { numRuns: RUNS },
    )
  })

  it('refuses an unknown member of a request, and names it alone', () => {
    fc.assert(
      fc.property(request, unknownName, fc.jsonValue(), (any, key, value) => {
        const result = validate(DecisionRequestSchema, { ...any, [key]: value })
        expect(result.ok || result.errors.map((error) => error.pointer)).toEqual([toPointer([key])])
      }),
    )
  })

  it('refuses a policy without any one of the members that it needs, and names the missing place', () => {
    fc.assert(
      fc.property(policy, fc.nat(), (any, pick) => {
        const document = structuredClone(any) as Record<string, unknown>
        const needed = objectsIn(document).flatMap(({ object, pointer }) => {
          const keys =
            pointer === ''
              ? ['name', 'rules']
              : pointer === '/budget'
                ? ['limit', 'unit', 'period']
                : /^\/rules\/\d+$/.test(pointer)
                  ? ['action', 'effect']
                  : []
          return keys.map((key) => ({ object, key, pointer: `${pointer}/${key}` }))
        })
        const { object, key, pointer } = needed[pick % needed.length]!
        delete object[key]
        const result = validate(PolicyDocumentSchema, document)
        expect(result.ok || result.errors).toEqual([{ pointer, detail: 'is missing' }])
      }),
    )
  })
})
