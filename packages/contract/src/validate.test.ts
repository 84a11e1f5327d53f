import {
  AgentCreateSchema,
  AgentUpdateSchema,
  DecisionRequestSchema,
  KeyCreateSchema,
  KeyRotateSchema,
  PolicyDocumentSchema,
  RedeemSchema,
  SimulateRequestSchema,
  SuspendSchema,
  validate,
} from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'

const request = { agent_id: 'agent:support-7', action: 'payment.refund' }
const policy = { name: 'refunds', rules: [{ action: 'payment.refund', effect: 'deny' }] }

function errorsOf(schema: z.ZodType, value: unknown) {
  const result = validate(schema, value)
  return result.ok ? [] : result.errors
}
const pointersOf = (schema: z.ZodType, value: unknown) => errorsOf(schema, value).map(({ pointer }) => pointer)

describe('names every faulty place', () => {
  it('as the reference shows it', () => {
    expect(errorsOf(DecisionRequestSchema, { agent_id: 'a', contxt: {} })).toEqual([
      { pointer: '/action', detail: 'is missing' },
      { pointer: '/contxt', detail: 'is not a member of a decision request; did you mean context?' },
    ])
  })

  it.each([[null], [[]], [[request]], ['{}'], [7], [true], [undefined]])(
    'with "" for a body that is no object: %j',
    (body) => {
      expect(errorsOf(DecisionRequestSchema, body)).toEqual([{ pointer: '', detail: 'must be an object' }])
    },
  )

  it('by JSON pointers that escape ~ and /', () => {
    expect(pointersOf(DecisionRequestSchema, { ...request, '~a/b~1': 1, context: { '/': { '~.': 1 } } })).toEqual([
      '/context/~1/~0.',
      '/~0a~1b~01',
    ])
  })

  it('in the order of UTF-16 code units', () => {
    expect(
      pointersOf(DecisionRequestSchema, { ...request, '\uffee': 1, '😀': 1, Z: 1, a: 1, '10': 1, '9': 1 }),
    ).toEqual(['/10', '/9', '/Z', '/a', '/😀', '/\uffee'])
  })

  it('of a body with very many the first thousand, and looks for no more', () => {
    let looks = 0
    const looked = <Value>(value: Value): Value => {
      looks += 1
      return value
    }
    const rule = {
      get effect() {
        return looked(0)
      },
    }
    const rules = Array.from({ length: 130_000 }, () => rule)
    expect(errorsOf(PolicyDocumentSchema, { name: 'p', rules })).toHaveLength(1_000)
    expect(pointersOf(SimulateRequestSchema, { request, policies: [{ name: 'p', rules }] })).toHaveLength(1_000)
    const agents = Array.from({ length: 80_000 }, () => '')
    expect(errorsOf(PolicyDocumentSchema, { ...policy, agents })).toHaveLength(1_000)
    const alternatives = Array.from({ length: 20_000 }, () => ({
      get 'context.a'() {
        return looked({ $lx: 1 })
      },
    }))
    const faulty = { ...policy, rules: [{ ...policy.rules[0], conditions: { $or: alternatives } }] }
    expect(errorsOf(PolicyDocumentSchema, faulty)).toHaveLength(1_000)
    // A thousand faults are found in no more items than that, whichever of them are looked at twice.
    expect(looks).toBeLessThan(10_000)
    expect(
      pointersOf(PolicyDocumentSchema, { ...policy, rules: [...Array(998).fill(0), policy.rules[0], 0] }),
    ).toHaveLength(999)
  })

  it('once, and nothing below a faulty one', () => {
    const rules = [
      { action: '', effect: 'deny', conditions: { 'context.': { $bad: null }, $or: [] }, when: { $bad: [] } },
    ]
    expect(pointersOf(PolicyDocumentSchema, { name: '', rules })).toEqual([
      '/name',
      '/rules/0/action',
      '/rules/0/conditions/$or',
      '/rules/0/conditions/context.',
      '/rules/0/when',
    ])
  })

  it('for every kind of fault in its own words', () => {
    const faulty = {
      name: 5,
      priority: 1.5,
      enabled: 'yes',
      mode: 'shaddow',
      agents: [],
      rules: [{ action: 'pay ment', effect: 'Deny', on_unkown: 'skip' }, 7],
      budget: { limit: 1e13, unit: '€', period: 'monthly', amount: 0 },
    }
    expect(errorsOf(PolicyDocumentSchema, faulty)).toEqual([
      { pointer: '/agents', detail: 'must have at least 1 item' },
      {
        pointer: '/budget/amount',
        detail: 'must be a path that starts with context. or a number above 0 to 1000000000000 with at most 6 decimals',
      },
      { pointer: '/budget/limit', detail: 'must be 0 to 1000000000000 with at most 6 decimals' },
      { pointer: '/budget/unit', detail: 'must be a currency code or a word such as calls' },
      { pointer: '/enabled', detail: 'must be true or false' },
      { pointer: '/mode', detail: 'must be one of enforce, shadow; did you mean shadow?' },
      { pointer: '/name', detail: 'must be a string' },
      { pointer: '/priority', detail: 'must be a whole number' },
      { pointer: '/rules/0/action', detail: 'must be 1 to 128 of the characters of an action and *' },
      { pointer: '/rules/0/effect', detail: 'must be one of allow, deny, review, log; did you mean deny?' },
      { pointer: '/rules/0/on_unkown', detail: 'is not a member of a rule; did you mean on_unknown?' },
      { pointer: '/rules/1', detail: 'must be an object' },
    ])
  })

  it.each([
    [KeyCreateSchema, {}, ['/name', '/scopes']],
    [KeyCreateSchema, { name: 'x', scopes: ['decisions:write', 'root', 7] }, ['/scopes/1', '/scopes/2']],
    [KeyCreateSchema, { name: 'x', scopes: [] }, ['/scopes']],
    [
      KeyCreateSchema,
      { name: ' ', scopes: ['*'], agents: [], expires_at: 'tomorrow' },
      ['/agents', '/expires_at', '/name'],
    ],
    [KeyRotateSchema, { grace_seconds: 604_801 }, ['/grace_seconds']],
    [KeyRotateSchema, { grace_seconds: -1 }, ['/grace_seconds']],
    [KeyRotateSchema, { grace_seconds: 0.5 }, ['/grace_seconds']],
    [
      AgentCreateSchema,
      { id: '-a', metadata: { 'a.b': 1, ok: [{ $c: 1 }] }, tags: [] },
      ['/id', '/metadata/a.b', '/metadata/ok/0/$c', '/tags'],
    ],
    [AgentCreateSchema, { name: 'x' }, ['/id']],
    [AgentUpdateSchema, { id: 'a', name: '', description: 'd'.repeat(1025) }, ['/description', '/id', '/name']],
    [SuspendSchema, { reason: 'r'.repeat(513), by: 'me' }, ['/by', '/reason']],
    [RedeemSchema, { permit_token: null }, ['/permit_token']],
    [SimulateRequestSchema, {}, ['/request']],
    [
      SimulateRequestSchema,
      { request: { agent_id: 'a' }, policies: [{ ...policy, rules: [] }, 1] },
      ['/policies/0/rules', '/policies/1', '/request/action'],
    ],
    [
      SimulateRequestSchema,
      { request, policies: [{ ...policy, id: 'pol_a' }, policy, { ...policy, id: 'pol_a' }] },
      ['/policies/2/id'],
    ],
    [SimulateRequestSchema, { request, policies: [{ ...policy, id: null }] }, ['/policies/0/id']],
  ] as const)('in every body: %#', (schema, body, pointers) => {
    expect(pointersOf(schema, body)).toEqual(pointers)
  })
})

describe('takes null for an absent member', () => {
  it.each([
    [DecisionRequestSchema, { ...request, resource: null, context: null, holder: null }],
    [AgentCreateSchema, { id: 'a', name: null, description: null, metadata: null }],
    [AgentUpdateSchema, { name: null, description: null, metadata: null }],
    [SuspendSchema, { reason: null }],
    [KeyCreateSchema, { name: 'x', scopes: ['*'], agents: null, expires_at: null }],
    [KeyRotateSchema, { grace_seconds: null }],
    [SimulateRequestSchema, { request, policies: null }],
  ] as const)('in every body but a policy: %#', (schema, body) => {
    expect(validate(schema, body)).toEqual({ ok: true, value: body })
  })

  it.each(['description', 'priority', 'enabled', 'mode', 'agents', 'budget'])('not for %s of a policy', (member) => {
    expect(pointersOf(PolicyDocumentSchema, { ...policy, [member]: null })).toEqual([`/${member}`])
  })

  it.each(['resource', 'conditions', 'reason', 'on_unknown'])('not for %s of a rule', (member) => {
    expect(pointersOf(PolicyDocumentSchema, { name: 'x', rules: [{ ...policy.rules[0], [member]: null }] })).toEqual([
      `/rules/0/${member}`,
    ])
  })
})

describe('is safe with what is sent', () => {
  const parsed = (text: string): unknown => JSON.parse(text)

  it('sees __proto__ as the member that it is', () => {
    expect(
      pointersOf(DecisionRequestSchema, parsed('{"agent_id":"a","action":"b","__proto__":{"resource":"x:y"}}')),
    ).toEqual(['/__proto__'])
    expect(
      pointersOf(DecisionRequestSchema, parsed('{"agent_id":"a","action":"b","context":{"__proto__":{"a":1}}}')),
    ).toEqual(['/context/__proto__'])
    expect(
      pointersOf(
        PolicyDocumentSchema,
        parsed('{"name":"x","rules":[{"action":"*","effect":"deny","conditions":{"__proto__":{"$eq":1}}}]}'),
      ),
    ).toEqual(['/rules/0/conditions/__proto__'])
    expect(
      pointersOf(
        PolicyDocumentSchema,
        parsed('{"name":"x","rules":[{"action":"*","effect":"deny","conditions":{"context.a":{"__proto__":1}}}]}'),
      ),
    ).toEqual(['/rules/0/conditions/context.a/__proto__'])
  })

  it('reads names that every object inherits as unknown members and operators', () => {
    expect(pointersOf(DecisionRequestSchema, { ...request, toString: 1, hasOwnProperty: 2 })).toEqual([
      '/hasOwnProperty',
      '/toString',
    ])
    const rules = [{ action: '*', effect: 'deny', conditions: { 'context.toString': { valueOf: 1 } } }]
    expect(pointersOf(PolicyDocumentSchema, { name: 'x', rules })).toEqual([
      '/rules/0/conditions/context.toString/valueOf',
    ])
  })

  it('never shows a value, nor a key, in a detail', () => {
    const secret = `cs_sk_${'s3cret'.repeat(8)}`
    const bodies: [z.ZodType, unknown][] = [
      [
        DecisionRequestSchema,
        {
          [secret]: secret,
          agent_id: ` ${secret}`,
          action: `${secret}.`,
          resource: secret,
          holder: secret.repeat(9),
          context: secret,
        },
      ],
      [DecisionRequestSchema, { ...request, context: { [`$${secret}`]: secret } }],
      [
        PolicyDocumentSchema,
        {
          name: [secret],
          rules: [
            {
              action: `${secret} `,
              effect: secret,
              reason: secret.repeat(99),
              conditions: { [secret]: 1, 'context.a': { [secret]: 1, $cidr: secret } },
            },
          ],
        },
      ],
      [KeyCreateSchema, { name: '', scopes: [secret], agents: [`${secret}!`], expires_at: secret }],
    ]
    for (const [schema, body] of bodies) {
      const errors = errorsOf(schema, body)
      expect(errors).not.toHaveLength(0)
      for (const { detail } of errors) {
        expect(detail).not.toContain('s3cret')
        expect(detail).toMatch(/^[ -~]{1,300}$/)
      }
    }
  })

  it('at any depth and any number of faults', () => {
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = level % 2 ? [deep] : { a: deep }
    expect(validate(DecisionRequestSchema, { ...request, context: { deep } }).ok).toBe(true)
    let group: unknown = { 'context.a': { $eq: 1 } }
    for (let level = 0; level < 100_000; level++) group = { $not: group }
    expect(
      pointersOf(PolicyDocumentSchema, { name: 'x', rules: [{ action: '*', effect: 'deny', conditions: group }] }),
    ).toEqual([`/rules/0/conditions${'/$not'.repeat(9)}`])
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`contxt${index}`, index]))
    expect(
      pointersOf(DecisionRequestSchema, { ...request, ...many, context: { ok: many, no: { $: many } } }),
    ).toHaveLength(1_000)
  })

  it('gives the context back as it is, uncopied', () => {
    const context = { amount: 1, nested: { list: [null, { x: -0 }] } }
    const result = validate(DecisionRequestSchema, { ...request, context })
    expect(result.ok && result.value.context).toBe(context)
  })
})
